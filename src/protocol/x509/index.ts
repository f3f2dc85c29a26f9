/**
 * X.509 certificates (RFC 5280) and requests for them (RFC 2986), written by hand because Node reads certificates but makes
 * neither: self-signed ones for host names, the one that answers the challenge of RFC 8737, and requests; P-256 with SHA-256.
 */
export {
  certificateRequest,
  type RequestWishes,
  readMarks,
  type CertificateMarks,
  selfSignedCertificate,
  type CertificateWishes,
} from './certificate.ts';
