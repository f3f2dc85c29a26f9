import { chooseShard } from '../events/index.ts';
import { uuidsIn, type Db, type Executor, type Value } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
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

export type ReputationCount = ReputationKey & { count: number };

const HOUR_MS = 3_600_000;
const KEY = ['hour', 'source', 'provider', 'domain_id', 'is_marketing', 'outcome', 'cause', 'shard'] as const;

export const hourAt = (at: number): number => Math.floor(at / HOUR_MS);

/** Adds counts to the hour of `at`. Rows are written in one order, so that no two writers deadlock. */
export async function addReputationCounts(
  tx: Executor,
  ids: Ids,
  at: number,
  counts: readonly ReputationCount[],
): Promise<void> {
  if (counts.length === 0) return;
  const shard = tx.dialect === 'pg' ? chooseShard(ids) : 0;
  const sums = new Map<string, ReputationCount>();
  for (const one of counts) {
    const key = `${one.source}\n${one.provider}\n${one.domainId}\n${one.isMarketing} ${one.outcome} ${one.cause}`;
    sums.set(key, { ...one, count: one.count + (sums.get(key)?.count ?? 0) });
  }
  const ordered = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  await tx.insertMany(
    'reputation_counts',
    [...KEY, 'team_id', 'count'],
    ordered.map((one) => [
      hourAt(at),
      one.source,
      one.provider,
      one.domainId,
      one.isMarketing ? 1 : 0,
      one.outcome,
      one.cause,
      shard,
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

const SUMS = `coalesce(sum(case when outcome = 'accepted' then count else 0 end), 0) as accepted,
  coalesce(sum(case when outcome = 'bounced' and cause not in (${OF_SOURCE.map((cause) => `'${cause}'`).join(', ')})
    then count else 0 end), 0) as bounced,
  coalesce(sum(case when outcome = 'complained' then count else 0 end), 0) as complained`;

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

/** Lists the domains with a bounce or a complaint since the beginning of an hour. */
export async function domainsInTrouble(
  db: Executor,
  { sinceHour, withTransactional }: { sinceHour: number; withTransactional: boolean },
): Promise<{ domainId: string; teamId: string }[]> {
  const rows = await db.all<{ domain_id: string; team_id: string }>(
    `select distinct domain_id, team_id from reputation_counts
      where hour >= ? and outcome in ('bounced', 'complained') and is_marketing >= ?`,
    [sinceHour, withTransactional ? 0 : 1],
  );
  return rows.map((row) => ({ domainId: row.domain_id, teamId: row.team_id }));
}

/** Sums up the outcomes of domains by provider and stream since the beginning of an hour. */
export async function sumDomains(
  db: Executor,
  { domainIds, sinceHour }: { domainIds: readonly string[]; sinceHour: number },
): Promise<DomainSums[]> {
  const among = uuidsIn(db.dialect, 'domain_id', domainIds);
  const rows = await db.all<
    OutcomeSums & { domain_id: string; team_id: string; provider: string; is_marketing: number }
  >(
    `select domain_id, team_id, provider, is_marketing, ${SUMS} from reputation_counts
      where ${among.sql} and hour >= ? group by domain_id, team_id, provider, is_marketing`,
    [among.value, sinceHour],
  );
  return rows.map((row) => ({
    ...readSums(row),
    domainId: row.domain_id,
    teamId: row.team_id,
    provider: row.provider,
    isMarketing: Number(row.is_marketing) === 1,
  }));
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

/** Sums up the outcomes of teams by stream since the beginning of an hour, with the number of domains that have sent. */
export async function sumTeams(
  db: Executor,
  { teamIds, sinceHour }: { teamIds: readonly string[]; sinceHour: number },
): Promise<(OutcomeSums & { teamId: string; isMarketing: boolean; domains: number })[]> {
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  const rows = await db.all<OutcomeSums & { team_id: string; is_marketing: number; domains: number }>(
    `select team_id, is_marketing, count(distinct domain_id) as domains, ${SUMS} from reputation_counts
      where ${among.sql} and hour >= ? group by team_id, is_marketing`,
    [among.value, sinceHour],
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

/** Sums up the outcomes of some mail from the beginning of one hour to the end of another. */
export async function sumSubject(
  db: Executor,
  { scope, subjectId, provider, isMarketing }: MailSubject,
  { sinceHour, lastHour }: { sinceHour: number; lastHour: number },
): Promise<OutcomeSums> {
  const values: Value[] = [subjectId, isMarketing ? 1 : 0, sinceHour, lastHour];
  const row = await db.get<OutcomeSums>(
    `select ${SUMS} from reputation_counts where ${scope === 'domain' ? 'domain_id' : 'team_id'} = ? and is_marketing = ?
      and hour >= ? and hour <= ? ${provider === '' ? '' : 'and provider = ?'}`,
    provider === '' ? values : [...values, provider],
  );
  return readSums(row ?? { accepted: 0, bounced: 0, complained: 0 });
}

/** Lists the domains of a team that have sent mail of a stream since the beginning of an hour. */
export async function listSendingDomains(
  db: Executor,
  { teamId, isMarketing, sinceHour }: { teamId: string; isMarketing: boolean; sinceHour: number },
): Promise<string[]> {
  const rows = await db.all<{ domain_id: string }>(
    'select distinct domain_id from reputation_counts where team_id = ? and is_marketing = ? and hour >= ?',
    [teamId, isMarketing ? 1 : 0, sinceHour],
  );
  return rows.map((row) => row.domain_id);
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

/** Causes that count against a source. */
export const CAUSES_AGAINST_SOURCE: readonly ReplyCause[] = OF_SOURCE;
