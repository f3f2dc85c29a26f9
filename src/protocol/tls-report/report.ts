import { parseIsoTime } from '../iso-time.ts';
import { cleanReportText } from '../report-text.ts';

/** The result types of RFC 8460 §4.3. */
export const TLS_RESULT_TYPES = [
  'starttls-not-supported',
  'certificate-host-mismatch',
  'certificate-expired',
  'certificate-not-trusted',
  'validation-failure',
  'tlsa-invalid',
  'dnssec-invalid',
  'dane-required',
  'sts-policy-fetch-error',
  'sts-policy-invalid',
  'sts-webpki-invalid',
] as const;

export type TlsResultType = (typeof TLS_RESULT_TYPES)[number];
export type TlsPolicyType = 'tlsa' | 'sts' | 'no-policy-found';

/** A report about the TLS of SMTP sessions with one domain (RFC 8460 §4.4). */
export type TlsReport = {
  organizationName: string;
  start: Date;
  end: Date;
  contactInfo?: string | undefined;
  reportId: string;
  policies: TlsPolicyReport[];
};

export type TlsPolicyReport = {
  /** A type of §4.4, or in a received report any other word. */
  policyType: TlsPolicyType | OtherWord;
  /** The lines of an MTA-STS policy, or TLSA records. */
  policyStrings: string[];
  /** Some senders leave it out if there is no policy. */
  policyDomain?: string | undefined;
  /** The patterns of an MTA-STS policy, or the host that the TLSA records are for. */
  mxHosts: string[];
  totalSuccessfulSessionCount: number;
  totalFailureSessionCount: number;
  failureDetails: TlsFailureDetail[];
};

export type TlsFailureDetail = {
  /** A type of §4.3, or in a received report any other word. */
  resultType: TlsResultType | OtherWord;
  sendingMtaIp?: string | undefined;
  receivingMxHostname?: string | undefined;
  receivingMxHelo?: string | undefined;
  receivingIp?: string | undefined;
  failedSessionCount: number;
  additionalInformation?: string | undefined;
  failureReasonCode?: string | undefined;
};

/** Any string, without hiding the known words from editors. */
type OtherWord = string & Record<never, never>;

/** Writes the JSON of RFC 8460 §4.4, with `mx-host` as an array (erratum 6241). */
export function writeTlsReport(report: TlsReport): string {
  return JSON.stringify({
    'organization-name': report.organizationName,
    'date-range': {
      'start-datetime': formatTime(report.start),
      'end-datetime': formatTime(report.end),
    },
    'contact-info': report.contactInfo,
    'report-id': report.reportId,
    policies: report.policies.map((policy) => ({
      policy: {
        'policy-type': policy.policyType,
        'policy-string': orUndefined(policy.policyStrings),
        'policy-domain': policy.policyDomain,
        'mx-host': orUndefined(policy.mxHosts),
      },
      summary: {
        'total-successful-session-count': policy.totalSuccessfulSessionCount,
        'total-failure-session-count': policy.totalFailureSessionCount,
      },
      'failure-details': orUndefined(policy.failureDetails.map(writeDetail)),
    })),
  });
}

const writeDetail = (detail: TlsFailureDetail): Record<string, string | number | undefined> => ({
  'result-type': detail.resultType,
  'sending-mta-ip': detail.sendingMtaIp,
  'receiving-mx-hostname': detail.receivingMxHostname,
  'receiving-mx-helo': detail.receivingMxHelo,
  'receiving-ip': detail.receivingIp,
  'failed-session-count': detail.failedSessionCount,
  'additional-information': detail.additionalInformation,
  'failure-reason-code': detail.failureReasonCode,
});

/** Leaves an empty list out of the JSON. */
const orUndefined = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

const formatTime = (time: Date): string => time.toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Composes the name of the file (RFC 8460 §5.1). `unique` has letters and digits only. */
export function tlsReportFileName(name: {
  submitter: string;
  policyDomain: string;
  start: Date;
  end: Date;
  unique?: string | undefined;
}): string {
  const seconds = (time: Date): string => String(Math.floor(time.getTime() / 1000));
  const parts = [name.submitter, name.policyDomain, seconds(name.start), seconds(name.end)];
  if (name.unique !== undefined) parts.push(name.unique);
  return `${parts.join('!')}.json.gz`;
}

/** JSON is parsed as a whole, and deeply nested JSON of this size takes most of a second. */
const REPORT_CHARS_MAX = 2 * 1024 * 1024;
const POLICIES_MAX = 200;
/** Of all policies together. */
const DETAILS_MAX = 5000;
const STRINGS_MAX = 100;
const NAME_CHARS_MAX = 255;
const WORD_CHARS_MAX = 64;
const TEXT_CHARS_MAX = 500;
/** Leaves room for adding the counts of many reports. */
const SESSIONS_MAX = 1_000_000_000_000;

/**
 * Reads a report that was received, or says what is wrong with it. It accepts what senders do: times without a zone,
 * `mx-host` as one string, TLSA records as JSON in one string, and missing fields that are only details. Texts are
 * shortened, and failure details beyond 5,000 are left out; the totals count them.
 */
export function readTlsReport(text: string): TlsReport | { fault: string } {
  if (text.length > REPORT_CHARS_MAX) {
    return { fault: `The report has ${text.length} characters; at most ${REPORT_CHARS_MAX} are allowed.` };
  }
  const report = parseJson(text);
  if (!report) return { fault: 'The report is not a JSON object.' };
  const range = readObject(report['date-range']);
  const start = readTime(range['start-datetime']);
  const end = readTime(range['end-datetime']);
  if (!start) return { fault: 'The report has no readable start-datetime.' };
  if (!end) return { fault: 'The report has no readable end-datetime.' };
  if (end < start) return { fault: 'The report ends before it starts.' };
  const reportId = readText(report['report-id'], NAME_CHARS_MAX);
  if (reportId === undefined) return { fault: 'The report has no report-id.' };
  const written = report['policies'];
  if (!Array.isArray(written)) return { fault: 'The report has no list of policies.' };
  if (written.length > POLICIES_MAX) {
    return { fault: `The report has ${written.length} policies; at most ${POLICIES_MAX} are allowed.` };
  }
  const policies: TlsPolicyReport[] = [];
  let detailsLeft = DETAILS_MAX;
  for (const [index, item] of written.entries()) {
    const policy = readPolicy(readObject(item), detailsLeft);
    if ('fault' in policy) return { fault: `Policy ${index + 1} of the report ${policy.fault}` };
    detailsLeft -= policy.failureDetails.length;
    policies.push(policy);
  }
  return {
    organizationName: readText(report['organization-name'], NAME_CHARS_MAX) ?? '',
    start,
    end,
    contactInfo: readText(report['contact-info'], NAME_CHARS_MAX),
    reportId,
    policies,
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

function readPolicy(item: JsonObject, detailsMax: number): TlsPolicyReport | { fault: string } {
  const policy = readObject(item['policy']);
  const policyType = readText(policy['policy-type'], WORD_CHARS_MAX)?.toLowerCase();
  if (policyType === undefined) return { fault: 'has no policy-type.' };
  const summary = readObject(item['summary']);
  const successful = readCount(summary['total-successful-session-count']);
  const failed = readCount(summary['total-failure-session-count']);
  if (successful === undefined || failed === undefined)
    return { fault: 'has a total that is not a number of sessions.' };
  const written = Array.isArray(item['failure-details']) ? item['failure-details'].slice(0, detailsMax) : [];
  const failureDetails = written
    .map((detail) => readDetail(readObject(detail)))
    .filter((detail) => detail !== undefined);
  return {
    policyType,
    policyStrings: readStrings(policy['policy-string']),
    policyDomain: readText(policy['policy-domain'], NAME_CHARS_MAX)?.toLowerCase(),
    mxHosts: readStrings(policy['mx-host']),
    totalSuccessfulSessionCount: successful,
    totalFailureSessionCount: failed,
    failureDetails,
  };
}

/** Returns undefined if the detail says nothing: it has no result type or no valid count. */
function readDetail(detail: JsonObject): TlsFailureDetail | undefined {
  const resultType = readText(detail['result-type'], WORD_CHARS_MAX)?.toLowerCase();
  const failedSessionCount = readCount(detail['failed-session-count']);
  if (resultType === undefined || failedSessionCount === undefined) return undefined;
  return {
    resultType,
    sendingMtaIp: readText(detail['sending-mta-ip'], WORD_CHARS_MAX),
    receivingMxHostname: readText(detail['receiving-mx-hostname'], NAME_CHARS_MAX),
    receivingMxHelo: readText(detail['receiving-mx-helo'], NAME_CHARS_MAX),
    receivingIp: readText(detail['receiving-ip'], WORD_CHARS_MAX),
    failedSessionCount,
    additionalInformation: readText(detail['additional-information'], TEXT_CHARS_MAX),
    failureReasonCode: readText(detail['failure-reason-code'], TEXT_CHARS_MAX),
  };
}

function parseJson(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readObject = (value: unknown): JsonObject => (isObject(value) ? value : {});

function readText(value: unknown, charsMax: number): string | undefined {
  return typeof value === 'string' ? cleanReportText(value, charsMax) || undefined : undefined;
}

/** Microsoft writes all TLSA records as one string: `["[\"3 1 1 ab…\",\"3 1 1 cd…\"]"]`. */
function readStrings(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value.slice(0, STRINGS_MAX) : [value];
  return list
    .flatMap((item) => (typeof item === 'string' && item.startsWith('["') ? parseList(item) : [item]))
    .slice(0, STRINGS_MAX)
    .map((item) => readText(item, TEXT_CHARS_MAX))
    .filter((item) => item !== undefined);
}

function parseList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [text];
  } catch {
    return [text];
  }
}

/** A count that is missing is zero. */
function readCount(value: unknown): number | undefined {
  if (value === undefined || value === null) return 0;
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= SESSIONS_MAX;
  return isCount ? value : undefined;
}

/** A time without a zone, as Microsoft writes it, is UTC. */
function readTime(value: unknown): Date | undefined {
  const time = typeof value === 'string' && value.length <= WORD_CHARS_MAX ? parseIsoTime(value.trim()) : undefined;
  return time && new Date(time.ms);
}
