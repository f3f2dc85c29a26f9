/**
 * ACME (RFC 8555) without its network: signs requests; reads responses without trusting them; proves names (HTTP-01,
 * and TLS-ALPN-01 of RFC 8737); checks that a certificate is the one that was requested; decides when it is renewed
 * (RFC 9773). Written here because the existing client brings 51 packages, including an HTTP client and a second
 * implementation of all the cryptography, into the path of private keys; Node has what is needed of both.
 */
export {
  readChain,
  type Chain,
  caaIdentities,
  readDirectory,
  type Directory,
  AcmeFault,
  isToken,
  readAuthorization,
  readOrder,
  type Authorization,
  type ChallengeType,
  type OrderStep,
  mediaType,
  readFields,
  readRefusal,
  readUrl,
  type RawAnswer,
  readRenewalWindow,
  renewalId,
  renewalTime,
  readRetryAfter,
} from './authority-answers.ts';
export { readClientHello, type ClientHello, ACME_TLS, alpnCertificate, keyAuthorization } from './proofs.ts';
export { base64url, bindExternalAccount, isNonce, signRequest } from './jws.ts';
