import type { QueryOf } from '../../contract/index.ts';
import { isoTime, nextTurn } from '../../platform/clock.ts';
import { readCreatedRange } from '../../platform/created-range.ts';
import type { Executor, Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, reportAddress, type DomainRow } from '../domains/index.ts';
import {
  countReports,
  failuresOfDay,
  messagesOfDay,
  pageReports,
  reportersOfDay,
  sessionsOfDay,
  sourcesOfDay,
  type MessageCounts,
  type ReportRow,
  type SessionCounts,
} from './domain-reports.store.ts';
import { createLargest } from './largest.ts';

const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 7;
const DAYS_MAX = 92;
const LISTED_MAX = 100;
const FAILURES_MAX = 50;
const FROM_DOMAINS_MAX = 5;
/**
 * What a summary adds up one by one, the largest of each day: anybody can send reports, and one summary must not use up
 * the memory. Everything counts in the totals.
 */
const SOURCES_MAX = 5000;
const REPORTERS_MAX = 1000;
/** Failures of all reporters together. */
const FAILURES_KEPT_MAX = 5000;

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
    await dmarc.addDay(db, domainId, day);
    await tls.addDay(db, domainId, day);
    await nextTurn();
  }
  const counts = await countReports(db, domainId, { fromDay, toDay });
  const addReports = (wanted: (one: (typeof counts)[number]) => boolean): number =>
    counts.filter(wanted).reduce((sum, { reports }) => sum + reports, 0);
  return {
    object: 'domain_report_summary' as const,
    start_date: isoTime(fromDay).slice(0, 10),
    end_date: isoTime(toDay).slice(0, 10),
    address: reportAddress(domain),
    reports: {
      dmarc: addReports(({ type, authenticated }) => type === 'dmarc' && authenticated),
      tls: addReports(({ type, authenticated }) => type === 'tls' && authenticated),
      unauthenticated: addReports(({ authenticated }) => !authenticated),
    },
    is_complete: dmarc.isComplete() && tls.isComplete(),
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

const noMessages = (): MessageCounts => ({
  messages: 0,
  passed: 0,
  dkim_passed: 0,
  spf_passed: 0,
  quarantined: 0,
  rejected: 0,
});

function addMessages(counts: MessageCounts, more: MessageCounts, sign: 1 | -1 = 1): void {
  counts.messages += sign * more.messages;
  counts.passed += sign * more.passed;
  counts.dkim_passed += sign * more.dkim_passed;
  counts.spf_passed += sign * more.spf_passed;
  counts.quarantined += sign * more.quarantined;
  counts.rejected += sign * more.rejected;
}

interface DmarcSource {
  /** Undefined for all addresses that are counted together. */
  address: string | undefined;
  isOwn: boolean;
  fromDomains: Set<string>;
  counts: MessageCounts;
}

function createDmarcSummary() {
  const totals = noMessages();
  const sources = createLargest<DmarcSource>(SOURCES_MAX, (a, b) => b.counts.messages - a.counts.messages);
  let isCut = false;

  function countOthers(known: readonly DmarcSource[]): DmarcSource[] {
    const counts = { ...totals };
    for (const source of known) addMessages(counts, source.counts, -1);
    return counts.messages > 0 ? [{ address: undefined, isOwn: false, fromDomains: new Set(), counts }] : [];
  }

  return {
    async addDay(db: Executor, domainId: string, day: number): Promise<void> {
      addMessages(totals, await messagesOfDay(db, domainId, day));
      await nextTurn();
      const rows = await sourcesOfDay(db, domainId, day, SOURCES_MAX);
      isCut ||= rows.length === SOURCES_MAX;
      for (const row of rows) {
        const address = row.source_ip;
        const source = sources.findOrAdd(address, () => ({
          address,
          isOwn: false,
          fromDomains: new Set(),
          counts: noMessages(),
        }));
        addMessages(source.counts, row);
        source.isOwn ||= row.is_own === 1;
        const { fromDomains } = source;
        if (row.header_from !== '' && fromDomains.size < FROM_DOMAINS_MAX) fromDomains.add(row.header_from);
      }
    },
    isComplete: () => !isCut && !sources.hasDropped(),
    present() {
      const known = sources.list();
      const sorted = [...known, ...countOthers(known)].sort((a, b) => b.counts.messages - a.counts.messages);
      return {
        ...totals,
        sources: sorted.slice(0, LISTED_MAX).map(({ address, counts, isOwn, fromDomains }) => ({
          source_ip: address ?? null,
          is_own: isOwn,
          from_domains: [...fromDomains].sort(),
          ...counts,
        })),
        unlisted_sources: Math.max(0, sorted.length - LISTED_MAX),
      };
    },
  };
}

interface TlsReporter extends SessionCounts {
  organization: string;
  submitter: string;
}

interface TlsFailure {
  submitter: string;
  result_type: string;
  policy_type: string;
  mx_host: string | null;
  sessions: number;
}

function createTlsSummary() {
  const totals: SessionCounts = { successful: 0, failed: 0 };
  const reporters = createLargest<TlsReporter>(
    REPORTERS_MAX,
    (a, b) => b.failed - a.failed || b.successful - a.successful,
  );
  const failures = createLargest<TlsFailure>(FAILURES_KEPT_MAX, (a, b) => b.sessions - a.sessions);
  let isCut = false;

  async function addReporters(db: Executor, domainId: string, day: number): Promise<void> {
    const rows = await reportersOfDay(db, domainId, day, REPORTERS_MAX);
    isCut ||= rows.length === REPORTERS_MAX;
    for (const { submitter, organization, successful, failed } of rows) {
      const reporter = reporters.findOrAdd(submitter, () => ({ submitter, organization, successful: 0, failed: 0 }));
      // A reporter may change its name; the latest one is shown.
      reporter.organization = organization;
      reporter.successful += successful;
      reporter.failed += failed;
    }
  }

  async function addFailures(db: Executor, domainId: string, day: number): Promise<void> {
    const rows = await failuresOfDay(db, domainId, day, FAILURES_KEPT_MAX);
    isCut ||= rows.length === FAILURES_KEPT_MAX;
    for (const { submitter, result, policy_type, mx_host, sessions } of rows) {
      const failure = failures.findOrAdd(JSON.stringify([submitter, result, policy_type, mx_host]), () => ({
        submitter,
        result_type: result,
        policy_type,
        mx_host: mx_host === '' ? null : mx_host,
        sessions: 0,
      }));
      failure.sessions += sessions;
    }
  }

  return {
    async addDay(db: Executor, domainId: string, day: number): Promise<void> {
      const { successful, failed } = await sessionsOfDay(db, domainId, day);
      totals.successful += successful;
      totals.failed += failed;
      await nextTurn();
      await addReporters(db, domainId, day);
      await nextTurn();
      await addFailures(db, domainId, day);
    },
    isComplete: () => !isCut && !reporters.hasDropped() && !failures.hasDropped(),
    present() {
      const bySubmitter = Map.groupBy(failures.list(), ({ submitter }) => submitter);
      return {
        sessions: totals.successful + totals.failed,
        ...totals,
        reporters: reporters
          .list()
          .slice(0, LISTED_MAX)
          .map(({ organization, submitter, successful, failed }) => ({
            organization,
            submitter,
            successful,
            failed,
            failures: (bySubmitter.get(submitter) ?? [])
              .slice(0, FAILURES_MAX)
              .map(({ result_type, policy_type, mx_host, sessions }) => ({
                result_type,
                policy_type,
                mx_host,
                sessions,
              })),
          })),
      };
    },
  };
}
