import { areRelated } from '../../protocol/organizational-domain.ts';
import { defineTextTask, type TextTask } from '../../platform/text-thread/index.ts';
import { readDmarcReport, type DmarcRecord, type DmarcReport } from '../../protocol/dmarc-report/index.ts';
import {
  readTlsReport,
  TLS_RESULT_TYPES,
  type TlsPolicyReport,
  type TlsReport,
} from '../../protocol/tls-report/index.ts';

/** A report as it is stored: what it is about, totals, and the parts that add up to them. */
export interface DomainReport {
  organization: string;
  reportId: string;
  /** The domain whose record asked for the report. */
  policyDomain: string;
  beginAt: number;
  endAt: number;
  /** Messages or sessions. */
  total: number;
  /** Messages that passed DMARC, or sessions with working TLS. */
  passed: number;
  parts: ReportParts;
}

export type ReportParts = { type: 'dmarc'; sources: ReportedSource[] } | { type: 'tls'; sessions: ReportedSessions[] };

/** Mail of one source with the same result. */
export interface ReportedSource {
  /** Empty for sources that are counted together. */
  sourceIp: string;
  headerFrom: string;
  disposition: Disposition;
  hasPassedDkim: boolean;
  hasPassedSpf: boolean;
  /** It passed SPF for the return path, whose record names our own servers and relays. */
  isOwn: boolean;
  messages: number;
}

export type Disposition = 'none' | 'quarantine' | 'reject';

/** Sessions with the same result. */
export interface ReportedSessions {
  policyType: string;
  /** `successful`, or the result type of failures. */
  result: string;
  /** Empty if the report does not have it, or for hosts that are counted together. */
  mxHost: string;
  sendingIp: string;
  sessions: number;
}

/** What a report has to be about. */
export interface ReportSubject {
  domain: string;
  /** The name of the domain's return path. */
  returnPath: string;
  /** The mail servers of the domain here: reports about DANE name them as the policy domain. */
  hosts: readonly string[];
}

/** Parts of one report, the largest ones. A report of a large provider has some hundreds. */
const PARTS_MAX = 1000;
/** More than anybody sends in a day from one address; sums of many reports stay exact. */
const COUNT_MAX = 1_000_000_000;

/** Reads an unpacked report, or says why it does not count. */
export const readDomainReport: TextTask<
  { content: Uint8Array; subject: ReportSubject },
  DomainReport | { fault: string }
> = defineTextTask('reports.readDomainReport', ({ content, subject }) => {
  const text = new TextDecoder().decode(content);
  if (/^\s*\{/.test(text)) {
    const report = readTlsReport(text);
    return 'fault' in report ? report : composeTlsReport(report, subject);
  }
  const report = readDmarcReport(text);
  return 'fault' in report ? report : composeDmarcReport(report, subject);
});

export const textTasks: readonly TextTask<never, unknown>[] = [readDomainReport];

function composeDmarcReport(report: DmarcReport, subject: ReportSubject): DomainReport | { fault: string } {
  const { domain: policyDomain } = report.policy;
  // A DMARC record of a parent covers its subdomains, and one of an own subdomain may name the same address.
  if (!areRelated(policyDomain, subject.domain)) return isAboutAnother(policyDomain);
  const sources = report.records.map((record) => composeSource(record, subject));
  const merged = mergeParts(sources, describeSource, 'messages');
  const { kept, others } = keepLargest(merged, 'messages', PARTS_MAX);
  return {
    organization: report.orgName,
    reportId: report.reportId,
    policyDomain,
    beginAt: report.begin.getTime(),
    endAt: report.end.getTime(),
    total: addUp(merged, 'messages'),
    passed: addUp(merged.filter(hasPassed), 'messages'),
    parts: { type: 'dmarc', sources: [...kept, ...withoutAddresses(others)] },
  };
}

const hasPassed = ({ hasPassedDkim, hasPassedSpf }: ReportedSource): boolean => hasPassedDkim || hasPassedSpf;

/** Counts sources together, without their addresses and their domains in From. */
export const withoutAddresses = (sources: readonly ReportedSource[]): ReportedSource[] =>
  mergeParts(
    sources.map((source) => ({ ...source, sourceIp: '', headerFrom: '', isOwn: false })),
    describeSource,
    'messages',
  );

const describeSource = (source: ReportedSource): string =>
  JSON.stringify([
    source.sourceIp,
    source.headerFrom,
    source.disposition,
    source.hasPassedDkim,
    source.hasPassedSpf,
    source.isOwn,
  ]);

function composeSource(record: DmarcRecord, { returnPath }: ReportSubject): ReportedSource {
  const { disposition } = record;
  return {
    sourceIp: record.sourceIp,
    headerFrom: record.headerFrom ?? '',
    disposition: disposition === 'quarantine' || disposition === 'reject' ? disposition : 'none',
    hasPassedDkim: record.dkim === 'pass',
    hasPassedSpf: record.spf === 'pass',
    isOwn: record.spfResults.some(({ domain, result }) => domain === returnPath && result === 'pass'),
    messages: Math.min(record.count, COUNT_MAX),
  };
}

function composeTlsReport(report: TlsReport, subject: ReportSubject): DomainReport | { fault: string } {
  const isAboutUs = ({ policyDomain }: TlsPolicyReport): boolean =>
    policyDomain === undefined ||
    areRelated(policyDomain.replace(/\.$/, ''), subject.domain) ||
    subject.hosts.includes(policyDomain.replace(/\.$/, ''));
  const policies = report.policies.filter(isAboutUs);
  if (policies.length === 0) return isAboutAnother(report.policies[0]?.policyDomain ?? '');
  const merged = mergeParts(policies.flatMap(composeSessions), describeSessions, 'sessions');
  const { kept, others } = keepLargest(merged, 'sessions', PARTS_MAX);
  return {
    organization: report.organizationName,
    reportId: report.reportId,
    policyDomain: subject.domain,
    beginAt: report.start.getTime(),
    endAt: report.end.getTime(),
    total: addUp(merged, 'sessions'),
    passed: addUp(
      merged.filter(({ result }) => result === SUCCESSFUL),
      'sessions',
    ),
    parts: { type: 'tls', sessions: [...kept, ...withoutHosts(others)] },
  };
}

export const SUCCESSFUL = 'successful';
/** For failures that a report counts and does not detail. */
const UNSPECIFIED = 'unspecified';

/** Counts sessions together, without hosts, addresses and unknown words, so that they are a few dozen at most. */
export const withoutHosts = (sessions: readonly ReportedSessions[]): ReportedSessions[] =>
  mergeParts(
    sessions.map(({ policyType, result, sessions: count }) => ({
      policyType: POLICY_TYPES.has(policyType) ? policyType : UNSPECIFIED,
      result: RESULTS.has(result) ? result : UNSPECIFIED,
      mxHost: '',
      sendingIp: '',
      sessions: count,
    })),
    describeSessions,
    'sessions',
  );

const POLICY_TYPES: ReadonlySet<string> = new Set(['tlsa', 'sts', 'no-policy-found']);
const RESULTS: ReadonlySet<string> = new Set([SUCCESSFUL, ...TLS_RESULT_TYPES]);

const describeSessions = (one: ReportedSessions): string =>
  JSON.stringify([one.policyType, one.result, one.mxHost, one.sendingIp]);

function composeSessions(policy: TlsPolicyReport): ReportedSessions[] {
  const { policyType, totalSuccessfulSessionCount: successful, totalFailureSessionCount: failed } = policy;
  const details = policy.failureDetails.map((detail) => ({
    policyType,
    // Without this, a sender could make failures look like successes.
    result: detail.resultType === SUCCESSFUL ? UNSPECIFIED : detail.resultType,
    mxHost: detail.receivingMxHostname?.toLowerCase() ?? '',
    sendingIp: detail.sendingMtaIp?.toLowerCase() ?? '',
    sessions: Math.min(detail.failedSessionCount, COUNT_MAX),
  }));
  const without = Math.min(failed, COUNT_MAX) - addUp(details, 'sessions');
  const whole = { policyType, mxHost: '', sendingIp: '' };
  return [
    { ...whole, result: SUCCESSFUL, sessions: Math.min(successful, COUNT_MAX) },
    { ...whole, result: UNSPECIFIED, sessions: Math.max(0, without) },
    ...details,
  ].filter(({ sessions }) => sessions > 0);
}

const isAboutAnother = (policyDomain: string): { fault: string } => ({
  fault: `The report is about another domain: ${policyDomain}.`,
});

/** Adds the parts that are alike. */
function mergeParts<Count extends string, Part extends Record<Count, number>>(
  parts: readonly Part[],
  describe: (part: Part) => string,
  count: Count,
): Part[] {
  const merged = new Map<string, Part>();
  for (const part of parts) {
    const key = describe(part);
    const sum = (merged.get(key)?.[count] ?? 0) + part[count];
    merged.set(key, { ...part, [count]: sum });
  }
  return [...merged.values()];
}

function keepLargest<Count extends string, Part extends Record<Count, number>>(
  parts: readonly Part[],
  count: Count,
  max: number,
): { kept: Part[]; others: Part[] } {
  if (parts.length <= max) return { kept: [...parts], others: [] };
  const sorted = parts.toSorted((a, b) => b[count] - a[count]);
  return { kept: sorted.slice(0, max), others: sorted.slice(max) };
}

const addUp = <Count extends string>(parts: readonly Record<Count, number>[], count: Count): number =>
  parts.reduce((sum, part) => sum + part[count], 0);
