/**
 * Reports to recipients' domains about the TLS of our connections with their mail servers (RFC 8460): counting sessions, and
 * sending the reports of each day to the domains that ask for them.
 */
export { createSessionCounts, type SessionCounts } from './session-counts.ts';
export { createReportSending, type ReportSender, type ReportsSent } from './send-reports.ts';
export { forgetAllTlsReports } from './tls-reports.store.ts';
