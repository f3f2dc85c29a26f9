/** Reports about the TLS of SMTP sessions (RFC 8460): who wants them, writing them and reading them. */
export { readTlsReportRecord, type TlsReportTarget } from './record.ts';
export { composeTlsReportMail, type TlsReportMail } from './message.ts';
export {
  readTlsReport,
  TLS_RESULT_TYPES,
  tlsReportFileName,
  writeTlsReport,
  type TlsFailureDetail,
  type TlsPolicyReport,
  type TlsPolicyType,
  type TlsReport,
  type TlsResultType,
} from './report.ts';
