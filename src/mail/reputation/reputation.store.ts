import { createHash } from 'node:crypto';
import { chooseShard } from '../events/index.ts';
import { uuidsIn, type Db, type Executor, type Value } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';

/** How a provider took mail of one sending domain from one source. */
export interface ReputationKey {
  source: string;
  /** Empty: all receivers without a provider. */
  provider: string;
  domainId: string;
  teamId: string;
  isMarketing: boolean;
  outcome: 'accepted' | 'deferred' | 'bounced' | 'complained';
  /** Empty if the reply names none. */
  cause: ReplyCause | '';
}

export interface ReputationCount extends ReputationKey {
  count: number;
  /** The time at which the mail was accepted that a complaint or a failure report is about; now if it is left out. */
  acceptedAt?: number;
}

const HOUR_MS = 3_600_000;
const KEY = [
  'hour',
  'source',
  'provider',
  'domain_id',
  'is_marketing',
  'outcome',
  'cause',
  'shard',
  'late_hours',
] as const;

export const hourAt = (at: number): number => Math.floor(at / HOUR_MS);

/**
 * Adds counts to the hour of `at`, with the age of the mail that was reported later. What was accepted then is added to the hour
 * of `acceptedAt`: mail that was returned is subtracted from it. Rows are written in one order, so that no two writers deadlock.
 */
export async function addReputationCounts(
  tx: Executor,
  ids: Ids,
  at: number,
  counts: readonly ReputationCount[],
): Promise<void> {
  if (counts.length === 0) return;
  const shard = tx.dialect === 'pg' ? chooseShard(ids) : 0;
  const sums = new Map<string, ReputationCount & { hour: number; lateHours: number }>();
  for (const one of counts) {
    // A clock that was ahead may have dated the mail.
    const acceptedHour = hourAt(Math.min(one.acceptedAt ?? at, at));
    const hour = one.outcome === 'accepted' ? acceptedHour : hourAt(at);
    const lateHours = hour - acceptedHour;
    const key = `${one.source}\n${one.provider}\n${one.domainId}\n${one.isMarketing} ${one.outcome} ${one.cause} ${hour} ${lateHours}`;
    sums.set(key, { ...one, hour, lateHours, count: one.count + (sums.get(key)?.count ?? 0) });
  }
  const ordered = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  await tx.insertMany(
    'reputation_counts',
    [...KEY, 'team_id', 'count'],
    ordered.map((one) => [
      one.hour,
      one.source,
      one.provider,
      one.domainId,
      one.isMarketing ? 1 : 0,
      one.outcome,
      one.cause,
      shard,
      one.lateHours,
      one.teamId,
      one.count,
    ]),
    `on conflict (${KEY.join(', ')}) do update set count = reputation_counts.count + excluded.count`,
  );
}

/** Causes that a receiver names because it does not trust the source of mail. */
const OF_SOURCE: readonly ReplyCause[] = ['ip_reputation', 'ptr_helo', 'rate'];

/** Sums up one day of a source at a provider. */
export async function sumSourceDay(
  db: Executor,
  { source, provider, day }: { source: string; provider: string; day: number },
): Promise<{ accepted: number; bounced: number; complained: number; mistrusted: number }> {
  const rows = await db.all<{ outcome: ReputationKey['outcome']; cause: string; count: number }>(
    `select outcome, cause, sum(count) as count from reputation_counts
      where source = ? and provider = ? and hour >= ? and hour < ? group by outcome, cause`,
    [source, provider, day * 24, (day + 1) * 24],
  );
  const sum = (fits: (row: (typeof rows)[number]) => boolean): number =>
    rows.filter(fits).reduce((total, { count }) => total + Number(count), 0);
  const isOfSource = (cause: string): boolean => (OF_SOURCE as readonly string[]).includes(cause);
  return {
    accepted: sum(({ outcome }) => outcome === 'accepted'),
    bounced: sum(({ outcome, cause }) => outcome === 'bounced' && !isOfSource(cause)),
    complained: sum(({ outcome }) => outcome === 'complained'),
    mistrusted: sum(({ outcome, cause }) => (outcome === 'deferred' || outcome === 'bounced') && isOfSource(cause)),
  };
}

/** Sums up the outcomes of every source since the beginning of a day, and since the beginning of an hour. */
export async function sumBySource(
  db: Executor,
  { todayHour, recentHour }: { todayHour: number; recentHour: number },
): Promise<{ source: string; outcome: ReputationKey['outcome']; today: number; recent: number }[]> {
  const rows = await db.all<{ source: string; outcome: ReputationKey['outcome']; today: number; recent: number }>(
    `select source, outcome, sum(case when hour >= ? then count else 0 end) as today,
        sum(case when hour >= ? then count else 0 end) as recent
      from reputation_counts where hour >= ? group by source, outcome`,
    [todayHour, recentHour, Math.min(todayHour, recentHour)],
  );
  return rows.map((row) => ({ ...row, today: Number(row.today), recent: Number(row.recent) }));
}

/** Sums up the outcomes of a source by provider and cause since the beginning of an hour. */
export async function sumOutcomes(
  db: Executor,
  { source, sinceHour }: { source: string; sinceHour: number },
): Promise<(Pick<ReputationKey, 'provider' | 'outcome' | 'cause'> & { count: number })[]> {
  const rows = await db.all<Pick<ReputationKey, 'provider' | 'outcome' | 'cause'> & { count: number }>(
    `select provider, outcome, cause, sum(count) as count from reputation_counts
      where source = ? and hour >= ? group by provider, outcome, cause order by provider, outcome, cause`,
    [source, sinceHour],
  );
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** The number of recipients by outcome. Bounces because a receiver does not trust the source of mail do not count. */
export interface OutcomeSums {
  accepted: number;
  bounced: number;
  complained: number;
}

/**
 * Mail that was accepted or refused since the beginning of an hour, with the complaints and bounces that are about it and came
 * since the beginning of another. Nothing counts that is dated after the end of `lastHour`.
 */
export interface MailSpan {
  sinceHour: number;
  reportedSince: number;
  lastHour: number;
}

const IS_BOUNCE = `outcome = 'bounced' and cause not in (${OF_SOURCE.map((cause) => `'${cause}'`).join(', ')})`;
/** Sums up a span. `reportedSince` and `sinceHour` are its values, in this order, twice. */
const SUMS = `coalesce(sum(case when outcome = 'accepted' then count else 0 end), 0) as accepted,
  coalesce(sum(case when ${IS_BOUNCE} and hour >= ? and hour - late_hours >= ? then count else 0 end), 0) as bounced,
  coalesce(sum(case when outcome = 'complained' and hour >= ? and hour - late_hours >= ? then count else 0 end), 0) as complained`;

const listSpanValues = ({ sinceHour, reportedSince }: MailSpan): Value[] => [
  reportedSince,
  sinceHour,
  reportedSince,
  sinceHour,
];

const readSums = (row: OutcomeSums): OutcomeSums => ({
  accepted: Number(row.accepted),
  bounced: Number(row.bounced),
  complained: Number(row.complained),
});

/** The mail of a domain at a provider, which is empty for receivers without one. */
export interface DomainSums extends OutcomeSums {
  domainId: string;
  teamId: string;
  provider: string;
  isMarketing: boolean;
}

/** Lists the domains with a bounce or a complaint from the beginning of one hour to the end of another. */
export async function domainsInTrouble(
  db: Executor,
  { sinceHour, lastHour, withTransactional }: { sinceHour: number; lastHour: number; withTransactional: boolean },
): Promise<{ domainId: string; teamId: string }[]> {
  const rows = await db.all<{ domain_id: string; team_id: string }>(
    `select distinct domain_id, team_id from reputation_counts
      where hour >= ? and hour <= ? and outcome in ('bounced', 'complained') and is_marketing >= ?`,
    [sinceHour, lastHour, withTransactional ? 0 : 1],
  );
  return rows.map((row) => ({ domainId: row.domain_id, teamId: row.team_id }));
}

/** Sums up the outcomes of domains by provider and stream. */
export async function sumDomains(
  db: Executor,
  { domainIds, span }: { domainIds: readonly string[]; span: MailSpan },
): Promise<DomainSums[]> {
  const among = uuidsIn(db.dialect, 'domain_id', domainIds);
  const rows = await db.all<
    OutcomeSums & { domain_id: string; team_id: string; provider: string; is_marketing: number }
  >(
    `select domain_id, team_id, provider, is_marketing, ${SUMS} from reputation_counts
      where ${among.sql} and hour >= ? and hour <= ? group by domain_id, team_id, provider, is_marketing`,
    [...listSpanValues(span), among.value, span.sinceHour, span.lastHour],
  );
  return rows.map((row) => ({
    ...readSums(row),
    domainId: row.domain_id,
    teamId: row.team_id,
    provider: row.provider,
    isMarketing: Number(row.is_marketing) === 1,
  }));
}

/** Returns those of some domains that have complaints or bounces, since an hour, about mail from before it. */
export async function listReportedLate(
  db: Executor,
  { domainIds, sinceHour, lastHour }: { domainIds: readonly string[]; sinceHour: number; lastHour: number },
): Promise<{ domainId: string; teamId: string }[]> {
  const among = uuidsIn(db.dialect, 'domain_id', domainIds);
  const rows = await db.all<{ domain_id: string; team_id: string }>(
    `select distinct domain_id, team_id from reputation_counts
      where ${among.sql} and hour >= ? and hour <= ? and hour - late_hours < ?`,
    [among.value, sinceHour, lastHour, sinceHour],
  );
  return rows.map((row) => ({ domainId: row.domain_id, teamId: row.team_id }));
}

/** Recipients to whom mail of a domain was accepted or bounced at a provider. */
export interface ProviderMail {
  domainId: string;
  teamId: string;
  provider: string;
  isMarketing: boolean;
  recipients: number;
}

/** Sums up the mail of some domains, or of all, to each provider since the beginning of an hour. */
export async function sumMailOfProviders(
  db: Executor,
  { sinceHour, domainIds }: { sinceHour: number; domainIds?: readonly string[] },
): Promise<ProviderMail[]> {
  const among = domainIds === undefined ? undefined : uuidsIn(db.dialect, 'domain_id', domainIds);
  const rows = await db.all<{
    domain_id: string;
    team_id: string;
    provider: string;
    is_marketing: number;
    recipients: number;
  }>(
    `select domain_id, team_id, provider, is_marketing, sum(count) as recipients from reputation_counts
      where hour >= ? and provider <> '' and outcome in ('accepted', 'bounced')
        ${among === undefined ? '' : `and ${among.sql}`}
      group by domain_id, team_id, provider, is_marketing`,
    among === undefined ? [sinceHour] : [sinceHour, among.value],
  );
  return rows.map((row) => ({
    domainId: row.domain_id,
    teamId: row.team_id,
    provider: row.provider,
    isMarketing: Number(row.is_marketing) === 1,
    recipients: Number(row.recipients),
  }));
}

/** Sums up the outcomes of teams by stream, with the number of domains that have sent. */
export async function sumTeams(
  db: Executor,
  { teamIds, span }: { teamIds: readonly string[]; span: MailSpan },
): Promise<(OutcomeSums & { teamId: string; isMarketing: boolean; domains: number })[]> {
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  const rows = await db.all<OutcomeSums & { team_id: string; is_marketing: number; domains: number }>(
    `select team_id, is_marketing, count(distinct domain_id) as domains, ${SUMS} from reputation_counts
      where ${among.sql} and hour >= ? and hour <= ? group by team_id, is_marketing`,
    [...listSpanValues(span), among.value, span.sinceHour, span.lastHour],
  );
  return rows.map((row) => ({
    ...readSums(row),
    teamId: row.team_id,
    isMarketing: Number(row.is_marketing) === 1,
    domains: Number(row.domains),
  }));
}

/** The mail of a domain or of all domains of a team, at one provider or at all receivers. */
export interface MailSubject {
  scope: 'domain' | 'team';
  subjectId: string;
  /** Empty: all receivers. */
  provider: string;
  isMarketing: boolean;
}

/** Sums up the outcomes of some mail. */
export async function sumSubject(
  db: Executor,
  { scope, subjectId, provider, isMarketing }: MailSubject,
  span: MailSpan,
): Promise<OutcomeSums> {
  const values: Value[] = [...listSpanValues(span), subjectId, isMarketing ? 1 : 0, span.sinceHour, span.lastHour];
  const row = await db.get<OutcomeSums>(
    `select ${SUMS} from reputation_counts where ${scope === 'domain' ? 'domain_id' : 'team_id'} = ? and is_marketing = ?
      and hour >= ? and hour <= ? ${provider === '' ? '' : 'and provider = ?'}`,
    provider === '' ? values : [...values, provider],
  );
  return readSums(row ?? { accepted: 0, bounced: 0, complained: 0 });
}

/** Hours are added up to days after this time, and days are kept for this time. */
const HOURS_KEPT = 3 * 24;
const DAYS_KEPT = 400;

const ROLLED = ['source', 'provider', 'domain_id', 'is_marketing', 'outcome', 'cause'] as const;

/**
 * Adds up the hours of days that are over, each day in a transaction of its own, and removes what is old. The sum of a day is
 * stored in its first hour, so that a day is found by the same conditions on the hour as before.
 */
export async function rollReputationCounts(db: Db, now: number): Promise<void> {
  const before = Math.floor((hourAt(now) - HOURS_KEPT) / 24) * 24;
  await db.tx((tx) => tx.run('delete from reputation_counts where hour < ?', [hourAt(now) - DAYS_KEPT * 24]));
  // No window of breakers is longer, and later times are those of a clock that was ahead.
  const reports = 'delete from counted_reports where counted_at <= ? or counted_at > ?';
  await db.tx((tx) => tx.run(reports, [now - HOURS_KEPT * HOUR_MS, now + HOUR_MS]));
  const days = await db.all<{ day: number }>(
    `select distinct hour / 24 as day from reputation_counts where hour < ? and hour % 24 <> 0 order by day`,
    [before],
  );
  for (const { day } of days) await db.tx((tx) => rollDay(tx, Number(day) * 24));
}

async function rollDay(tx: Executor, first: number): Promise<void> {
  const range = [first, first + 24];
  // A domain that was transferred on that day counts for one of its teams.
  const rows = await tx.all<Record<string, string | number>>(
    `select ${ROLLED.join(', ')}, min(cast(team_id as text)) as team_id, sum(count) as count
      from reputation_counts where hour >= ? and hour < ? group by ${ROLLED.join(', ')}`,
    range,
  );
  await tx.run('delete from reputation_counts where hour >= ? and hour < ?', range);
  const columns = [...ROLLED, 'team_id', 'count'];
  await tx.insertMany(
    'reputation_counts',
    ['hour', 'shard', ...columns],
    rows.map((row) => [first, 0, ...columns.map((column) => row[column] ?? null)]),
  );
}

/** Recipients named by a report about mail of a domain. */
interface ReportedRecipients {
  domainId: string;
  teamId: string;
  outcome: 'complained' | 'bounced';
  addresses: readonly string[];
}

/**
 * Returns the recipients for which no such report was counted for the domain since `since`, and notes that it is counted
 * now.
 */
export async function claimReports(
  tx: Executor,
  { domainId, teamId, outcome, addresses }: ReportedRecipients,
  { since, now }: { since: number; now: number },
): Promise<string[]> {
  const claimed: string[] = [];
  const byHash = new Map(addresses.map((address) => [hashRecipient(teamId, address), address]));
  // In one order, so that no two reports deadlock.
  for (const [recipient, address] of [...byHash].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    // A time ahead is that of a wrong clock.
    const changed = await tx.run(
      `insert into counted_reports (domain_id, recipient, outcome, team_id, counted_at) values (?, ?, ?, ?, ?)
        on conflict (domain_id, recipient, outcome) do update set counted_at = excluded.counted_at
        where counted_reports.counted_at <= ? or counted_reports.counted_at > ?`,
      [domainId, recipient, outcome, teamId, now, since, now + HOUR_MS],
    );
    if (changed === 1) claimed.push(address);
  }
  return claimed;
}

const hashRecipient = (teamId: string, address: string): string =>
  createHash('sha256')
    .update(`${teamId} ${normalizeAddress(address)}`)
    .digest('base64url');

/** Hours of counts that are later than this one are those of a clock that was ahead; a node may be ahead by one. */
const HOURS_AHEAD_MAX = 1;
const DATED = [...ROLLED, 'team_id', 'late_hours'] as const;

/** Moves counts that a clock which was ahead dated in the future to the present hour; returns the number of rows. */
export async function bringBackReputationCounts(db: Db, now: number): Promise<number> {
  const latest = hourAt(now) + HOURS_AHEAD_MAX;
  if ((await db.get('select 1 as one from reputation_counts where hour > ? limit 1', [latest])) === undefined) return 0;
  return db.tx(async (tx) => {
    const rows = await tx.all<Record<string, string | number>>(
      `delete from reputation_counts where hour > ? returning ${DATED.join(', ')}, count`,
      [latest],
    );
    const sums = new Map<string, Record<string, string | number>>();
    for (const row of rows) {
      const key = DATED.filter((column) => column !== 'team_id')
        .map((column) => String(row[column]))
        .join('\n');
      sums.set(key, { ...row, count: Number(row['count']) + Number(sums.get(key)?.['count'] ?? 0) });
    }
    const ordered = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    await tx.insertMany(
      'reputation_counts',
      ['hour', 'shard', ...DATED, 'count'],
      ordered.map((row) => [hourAt(now), 0, ...DATED.map((column) => row[column] ?? null), row['count'] ?? 0]),
      `on conflict (${KEY.join(', ')}) do update set count = reputation_counts.count + excluded.count`,
    );
    return rows.length;
  });
}
/** Causes that count against a source. */
export const CAUSES_AGAINST_SOURCE: readonly ReplyCause[] = OF_SOURCE;
