/**
 * ACME (RFC 8555) without its network: what is sent, signed; what comes back, read and distrusted; how names are proven
 * (HTTP-01, and TLS-ALPN-01 of RFC 8737); whether a certificate is the one that was asked for; when it is renewed (RFC 9773).
 * Written here because the client there is brings 51 packages, an HTTP client and a second implementation of all the
 * cryptography among them, into the path of private keys; Node has what it needs of both.
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
