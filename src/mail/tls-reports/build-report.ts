import type { TlsFailureDetail, TlsPolicyReport, TlsReport } from '../../protocol/tls-report/index.ts';
import { DAY_MS, type StoredFailure, type StoredPolicy } from './session-counts.ts';
import type { SessionCountRow } from './tls-reports.store.ts';

export interface ReportInput {
  /** 00:00 UTC. */
  day: number;
  domain: string;
  /** The domain that sends the report. */
  submitter: string;
  organization: string;
  contact: string;
  /** The counts of that domain on that day, those of one policy one after the other. */
  counts: readonly SessionCountRow[];
}

/** Builds the report of a day about a domain. The same counts give the same report, with the same id. */
export function buildReport({ day, domain, submitter, organization, contact, counts }: ReportInput): TlsReport {
  const byPolicy = Map.groupBy(counts, (row) => row.policy_digest);
  const date = new Date(day).toISOString().slice(0, 10).replaceAll('-', '');
  return {
    organizationName: organization,
    start: new Date(day),
    end: new Date(day + DAY_MS - 1000),
    contactInfo: contact,
    reportId: `${date}.${domain}@${submitter}`,
    policies: [...byPolicy.values()].map((rows) => buildPolicy(domain, rows)),
  };
}

function buildPolicy(domain: string, rows: readonly SessionCountRow[]): TlsPolicyReport {
  const { type, strings, mxHosts } = JSON.parse(rows[0]?.policy ?? '{}') as StoredPolicy;
  const sum = (some: readonly SessionCountRow[]): number => some.reduce((all, { sessions }) => all + sessions, 0);
  const failed = rows.filter(({ failure }) => failure !== null);
  return {
    policyType: type,
    policyStrings: strings,
    // RFC 8460 §1.1: the policy domain of TLSA records is the mail server that they are for.
    policyDomain: (type === 'tlsa' ? mxHosts[0] : undefined) ?? domain,
    mxHosts,
    totalSuccessfulSessionCount: sum(rows) - sum(failed),
    totalFailureSessionCount: sum(failed),
    failureDetails: failed.map(buildDetail),
  };
}

function buildDetail({ failure, sessions }: SessionCountRow): TlsFailureDetail {
  const { kind, localAddress, host, address, reason } = JSON.parse(failure ?? '{}') as StoredFailure;
  return {
    resultType: kind,
    sendingMtaIp: localAddress,
    receivingMxHostname: host,
    receivingIp: address,
    failedSessionCount: sessions,
    failureReasonCode: reason,
  };
}
