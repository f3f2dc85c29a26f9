/**
 * ACME (RFC 8555) without its network: what is sent, signed; what comes back, read and distrusted; how names are proven
 * (HTTP-01, and TLS-ALPN-01 of RFC 8737); whether a certificate is the one that was asked for; when it is renewed (RFC 9773).
 * Written here because the client there is brings 51 packages, an HTTP client and a second implementation of all the
 * cryptography among them, into the path of private keys; Node has what it needs of both.
 */
export { readChain, type Chain } from './chain.ts';
export { readClientHello, type ClientHello } from './client-hello.ts';
export { caaIdentities, readDirectory, type Directory } from './directory.ts';
export { AcmeFault } from './fault.ts';
export { base64url, bindExternalAccount, isNonce, signRequest } from './jws.ts';
export {
  isToken,
  readAuthorization,
  readOrder,
  type Authorization,
  type ChallengeType,
  type OrderStep,
} from './order.ts';
export { ACME_TLS, alpnCertificate, keyAuthorization } from './proofs.ts';
export { mediaType, readFields, readRefusal, readUrl, type RawAnswer } from './read-answer.ts';
export { readRenewalWindow, renewalId, renewalTime } from './renewal.ts';
export { readRetryAfter } from './retry-after.ts';
