/**
 * X.509 certificates (RFC 5280), written by hand because Node reads them but does not issue them: one kind only,
 * self-signed for host names, P-256 with SHA-256.
 */
export { selfSignedCertificate, type CertificateWishes } from './self-signed.ts';
