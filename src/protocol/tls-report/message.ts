import { base64Lines, encodeText, formatDate } from '../mime/index.ts';
import { tlsReportFileName, type TlsReport } from './report.ts';

export interface TlsReportMail {
  /** The domain that the report is about. */
  policyDomain: string;
  /** The domain that sends the report, and signs it. */
  submitter: string;
  /** The header fields with the sender, and with the recipient. */
  from: string;
  to: string;
  /** Identifies the message. */
  id: string;
  at: Date;
  report: TlsReport;
  /** The report as JSON, compressed with gzip. */
  gzip: Buffer;
}

/**
 * Composes the mail of RFC 8460 §5.3: a text for people, and the report. `TLS-Required: No` (RFC 8689) has it delivered although
 * TLS fails, which is often what it reports.
 */
export function composeTlsReportMail(mail: TlsReportMail) {
  const { policyDomain, submitter, report, gzip, id, at } = mail;
  const subjectParts = [`Report Domain: ${policyDomain}`, `Submitter: ${submitter}`, `Report-ID: <${report.reportId}>`];
  const messageId = `<${id}@${submitter}>`;
  const boundary = `=_${id}`;
  const head = [
    `From: ${mail.from}`,
    `To: ${mail.to}`,
    // Folded, because two names of domains and the id may be longer than a line should be.
    `Subject: ${subjectParts.join('\r\n ')}`,
    `Date: ${formatDate(at)}`,
    `Message-ID: ${messageId}`,
    `TLS-Report-Domain: ${policyDomain}`,
    `TLS-Report-Submitter: ${submitter}`,
    'TLS-Required: No',
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type="tlsrpt";\r\n boundary="${boundary}"`,
    '',
  ].join('\r\n');
  const text = formatText(mail);
  const { encoding, content } = encodeText(text);
  const fileName = tlsReportFileName({ submitter, policyDomain, start: report.start, end: report.end });
  const body = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\n`),
    Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n`),
    content,
    Buffer.from(`\r\n--${boundary}\r\nContent-Type: application/tlsrpt+gzip\r\n`),
    Buffer.from('Content-Transfer-Encoding: base64\r\n'),
    Buffer.from(`Content-Disposition: attachment;\r\n filename="${fileName}"\r\n\r\n`),
    base64Lines(gzip),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { subject: subjectParts.join(' '), messageId, text, head, body, isEightBit: false };
}

function formatText({ policyDomain, report }: TlsReportMail): string {
  const sum = (pick: (policy: TlsReport['policies'][number]) => number): number =>
    report.policies.reduce((all, policy) => all + pick(policy), 0);
  const day = report.start.toISOString().slice(0, 10);
  const lines = [
    `This is an automatic report (RFC 8460) about TLS on SMTP connections with the mail servers`,
    `of ${policyDomain} on ${day} (UTC).`,
    '',
    `Sessions that succeeded: ${sum((policy) => policy.totalSuccessfulSessionCount)}`,
    `Sessions that failed: ${sum((policy) => policy.totalFailureSessionCount)}`,
    '',
    `Organization: ${report.organizationName}`,
    ...(report.contactInfo === undefined ? [] : [`Contact: ${report.contactInfo}`]),
    `Report-ID: ${report.reportId}`,
    '',
    `The attached file has the details. ${policyDomain} gets these reports because of its DNS record`,
    `_smtp._tls.${policyDomain}.`,
    '',
  ];
  return lines.join('\r\n');
}
