import type { QueryOf } from '../../contract/index.ts';
import { isoTime, nextTurn } from '../../platform/clock.ts';
import { readCreatedRange } from '../../platform/created-range.ts';
import type { Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, reportAddress, type DomainRow } from '../domains/index.ts';
import {
  countReports,
  pageReports,
  sessionsOfDay,
  sourcesOfDay,
  type ReportRow,
  type SessionsOfDay,
  type SourceOfDay,
} from './domain-reports.store.ts';
import { SUCCESSFUL } from './read-report.ts';

const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 7;
const DAYS_MAX = 92;
const LISTED_MAX = 100;
const FAILURES_MAX = 50;
/** Kinds of failures of a reporter, of which the most frequent are listed; further ones count in the totals only. */
const FAILURES_KEPT_MAX = 1000;
const FROM_DOMAINS_MAX = 5;
/** Addresses and reporters of a range. Further addresses are counted together, further reporters in the totals only. */
const DISTINCT_MAX = 50_000;

async function mustFindDomain({ store, teamId }: Ctx, domainId: string): Promise<DomainRow> {
  const domain = await findDomain(store.db, teamId, domainId);
  if (!domain) throw notFound('Domain');
  return domain;
}

export async function listDomainReports(
  ctx: Ctx,
  domainId: string,
  query: NonNullable<QueryOf<'listDomainReports'>>,
  page: Page,
) {
  await mustFindDomain(ctx, domainId);
  const { createdFrom, createdTo } = readCreatedRange(query);
  const filter = {
    type: query.type,
    fromId: createdFrom === undefined ? undefined : firstIdAt(createdFrom),
    beforeId: createdTo === undefined ? undefined : firstIdAt(createdTo + 1),
  };
  const { rows, hasMore } = await pageReports(ctx.store.db, domainId, filter, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentReport) };
}

const presentReport = (row: ReportRow) => ({
  id: row.id,
  type: row.type,
  organization: row.organization,
  submitter: row.submitter,
  authenticated: row.authenticated === 1,
  report_id: row.report_id,
  policy_domain: row.policy_domain,
  begin_at: isoTime(row.begin_at),
  end_at: isoTime(row.end_at),
  total: row.total,
  passed: row.passed,
  failed: row.total - row.passed,
  created_at: isoTime(row.created_at),
});

/** Adds up the authenticated reports about a range of days, one day after the other, so that no statement takes long. */
export async function summarizeDomainReports(
  ctx: Ctx,
  domainId: string,
  query: NonNullable<QueryOf<'getDomainReportSummary'>>,
) {
  const domain = await mustFindDomain(ctx, domainId);
  const { db, clock } = ctx.store;
  const { fromDay, toDay } = readDays(query, clock.now());
  const dmarc = createDmarcSummary();
  const tls = createTlsSummary();
  for (let day = fromDay; day <= toDay; day += DAY_MS) {
    for (const source of await sourcesOfDay(db, domainId, day)) dmarc.add(source);
    for (const sessions of await sessionsOfDay(db, domainId, day)) tls.add(sessions);
    await nextTurn();
  }
  const counts = await countReports(db, domainId, { fromDay, toDay });
  const countOf = (wanted: (one: (typeof counts)[number]) => boolean): number =>
    counts.filter(wanted).reduce((sum, { reports }) => sum + reports, 0);
  return {
    object: 'domain_report_summary' as const,
    start_date: isoTime(fromDay).slice(0, 10),
    end_date: isoTime(toDay).slice(0, 10),
    address: reportAddress(domain),
    reports: {
      dmarc: countOf(({ type, authenticated }) => type === 'dmarc' && authenticated),
      tls: countOf(({ type, authenticated }) => type === 'tls' && authenticated),
      unauthenticated: countOf(({ authenticated }) => !authenticated),
    },
    dmarc: dmarc.present(),
    tls: tls.present(),
  };
}

function readDays(
  { start_date: start, end_date: end }: { start_date?: string | undefined; end_date?: string | undefined },
  now: number,
): { fromDay: number; toDay: number } {
  const toDay = end === undefined ? Math.floor(now / DAY_MS) * DAY_MS : readDay('end_date', end);
  const fromDay = start === undefined ? toDay - (DEFAULT_DAYS - 1) * DAY_MS : readDay('start_date', start);
  if (fromDay > toDay) throw refuse('invalid_parameter', { say: 'end_date must not be before start_date.' });
  const days = (toDay - fromDay) / DAY_MS + 1;
  if (days > DAYS_MAX) {
    throw refuse('invalid_parameter', {
      say: `The range has ${days} days; at most ${DAYS_MAX} are allowed. Move start_date or end_date.`,
    });
  }
  return { fromDay, toDay };
}

function readDay(name: string, text: string): number {
  const time = parseIsoTime(text);
  if (time?.isDateAlone) return time.ms;
  throw refuse('invalid_parameter', {
    say: `${name} must be a date, such as 2027-01-31; got ${JSON.stringify(text.slice(0, 40))}.`,
  });
}

interface DmarcCounts {
  messages: number;
  passed: number;
  dkim_passed: number;
  spf_passed: number;
  quarantined: number;
  rejected: number;
}

const noMessages = (): DmarcCounts => ({
  messages: 0,
  passed: 0,
  dkim_passed: 0,
  spf_passed: 0,
  quarantined: 0,
  rejected: 0,
});

function addMessages(counts: DmarcCounts, { messages, disposition, dkim_passed, spf_passed }: SourceOfDay): void {
  counts.messages += messages;
  if (dkim_passed === 1 || spf_passed === 1) counts.passed += messages;
  if (dkim_passed === 1) counts.dkim_passed += messages;
  if (spf_passed === 1) counts.spf_passed += messages;
  if (disposition === 'quarantine') counts.quarantined += messages;
  if (disposition === 'reject') counts.rejected += messages;
}

function createDmarcSummary() {
  const totals = noMessages();
  const sources = new Map<string, { counts: DmarcCounts; isOwn: boolean; fromDomains: Set<string> }>();
  return {
    add(row: SourceOfDay): void {
      addMessages(totals, row);
      const isKnown = sources.has(row.source_ip) || sources.size < DISTINCT_MAX;
      const key = isKnown ? row.source_ip : '';
      const source = sources.get(key) ?? { counts: noMessages(), isOwn: false, fromDomains: new Set() };
      sources.set(key, source);
      addMessages(source.counts, row);
      if (key === '') return;
      source.isOwn ||= row.is_own === 1;
      if (row.header_from !== '' && source.fromDomains.size < FROM_DOMAINS_MAX) source.fromDomains.add(row.header_from);
    },
    present() {
      const sorted = [...sources].sort(([, a], [, b]) => b.counts.messages - a.counts.messages);
      return {
        ...totals,
        sources: sorted.slice(0, LISTED_MAX).map(([address, { counts, isOwn, fromDomains }]) => ({
          source_ip: address === '' ? null : address,
          is_own: isOwn,
          from_domains: [...fromDomains].sort(),
          ...counts,
        })),
        unlisted_sources: Math.max(0, sorted.length - LISTED_MAX),
      };
    },
  };
}

interface TlsFailure {
  result_type: string;
  policy_type: string;
  mx_host: string | null;
  sessions: number;
}

interface TlsReporter {
  organization: string;
  submitter: string;
  successful: number;
  failed: number;
  failures: Map<string, TlsFailure>;
}

function createTlsSummary() {
  const reporters = new Map<string, TlsReporter>();
  let successful = 0;
  let failed = 0;

  function findReporter({ organization, submitter }: SessionsOfDay): TlsReporter | undefined {
    const key = JSON.stringify([organization, submitter]);
    const known = reporters.get(key);
    if (known || reporters.size >= DISTINCT_MAX) return known;
    const reporter = { organization, submitter, successful: 0, failed: 0, failures: new Map<string, TlsFailure>() };
    reporters.set(key, reporter);
    return reporter;
  }

  return {
    add(row: SessionsOfDay): void {
      const { result, policy_type, mx_host, sessions } = row;
      const reporter = findReporter(row);
      if (result === SUCCESSFUL) {
        successful += sessions;
        if (reporter) reporter.successful += sessions;
        return;
      }
      failed += sessions;
      if (!reporter) return;
      reporter.failed += sessions;
      const key = JSON.stringify([result, policy_type, mx_host]);
      const known = reporter.failures.get(key);
      if (known) known.sessions += sessions;
      else if (reporter.failures.size < FAILURES_KEPT_MAX) {
        const host = mx_host === '' ? null : mx_host;
        reporter.failures.set(key, { result_type: result, policy_type, mx_host: host, sessions });
      }
    },
    present() {
      const sorted = [...reporters.values()].sort((a, b) => b.failed - a.failed || b.successful - a.successful);
      return {
        sessions: successful + failed,
        successful,
        failed,
        reporters: sorted.slice(0, LISTED_MAX).map((reporter) => ({
          organization: reporter.organization,
          submitter: reporter.submitter,
          successful: reporter.successful,
          failed: reporter.failed,
          failures: [...reporter.failures.values()].sort((a, b) => b.sessions - a.sessions).slice(0, FAILURES_MAX),
        })),
      };
    },
  };
}
