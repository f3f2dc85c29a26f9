/**
 * The certificate that our ports show: the operator's files, read again when they change, what an authority issued, or a
 * self-signed one that is made once and kept in the data folder. A certificate that cannot be read stops the start in one line; while running,
 * the one before stays in use and the log says why.
 */
export {
  certificateFilesOf,
  examineCertificate,
  unreadable,
  makeContext,
  type ShownContext,
  type TlsKeys,
  openServerTls,
  CertificateFault,
  type CertificateStanding,
  type IssuedKeys,
  type ServerTls,
} from './server-tls.ts';
