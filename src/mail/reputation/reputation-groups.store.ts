import { uuidsIn, type Executor, type Value } from '../../platform/db/index.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';
import type { ReputationKey } from './reputation.store.ts';

/** What mail can be grouped by, with its column. */
const COLUMNS = { source: 'source', provider: 'provider', domain: 'domain_id' } as const;

export type GroupBy = keyof typeof COLUMNS;

/** Limits which mail is counted. */
export interface ReputationFilter {
  source?: string | undefined;
  /** Empty: all receivers without a provider. */
  provider?: string | undefined;
  domainIds?: readonly string[] | undefined;
  teamId?: string | undefined;
}

export interface GroupQuery extends ReputationFilter {
  groupBy: readonly GroupBy[];
  /** Days since 1970: the first one, and the first one after the range. */
  fromDay: number;
  untilDay: number;
  limit: number;
}

/** Values of the columns of a group, by what it is grouped by. */
export type GroupKey = Partial<Record<GroupBy, string>>;

export interface CountOfGroup {
  key: GroupKey;
  outcome: ReputationKey['outcome'];
  cause: ReplyCause | '';
  count: number;
  /** The same within as many days before the range. */
  before: number;
}

export interface DayOfGroup {
  key: GroupKey;
  day: number;
  accepted: number;
  deferred: number;
  bounced: number;
  complained: number;
}

interface Sql {
  sql: string;
  values: readonly Value[];
}

/** Renders the conditions of a filter on the table `r`. */
function renderFilter(db: Executor, { source, provider, domainIds, teamId }: ReputationFilter): Sql {
  const among = domainIds && uuidsIn(db.dialect, 'r.domain_id', domainIds);
  const conditions: { sql: string; value: Value | undefined }[] = [
    { sql: 'r.source = ?', value: source },
    { sql: 'r.provider = ?', value: provider },
    { sql: among?.sql ?? '', value: among?.value },
    { sql: 'r.team_id = ?', value: teamId },
  ];
  const given = conditions.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  return { sql: given.map(({ sql }) => ` and ${sql}`).join(''), values: given.map(({ value }) => value) };
}

const listColumns = ({ groupBy }: GroupQuery): string => groupBy.map((one) => `r.${COLUMNS[one]}`).join(', ');

/** Renders the groups with most mail as a table `chosen`, with one more than the limit. */
function renderChosen(db: Executor, query: GroupQuery): Sql {
  const columns = listColumns(query);
  const filter = renderFilter(db, query);
  return {
    sql: `with chosen as (
        select ${columns}, sum(case when r.outcome = 'complained' then 0 else r.count end) as mail
          from reputation_counts r where r.hour >= ? and r.hour < ?${filter.sql}
          group by ${columns} order by mail desc, ${columns} limit ?
      )`,
    values: [query.fromDay * 24, query.untilDay * 24, ...filter.values, query.limit + 1],
  };
}

const joinChosen = ({ groupBy }: GroupQuery): string =>
  `join chosen c on ${groupBy.map((one) => `c.${COLUMNS[one]} = r.${COLUMNS[one]}`).join(' and ')}`;

const readKey = ({ groupBy }: GroupQuery, row: Record<string, unknown>): GroupKey =>
  Object.fromEntries(groupBy.map((one) => [one, String(row[COLUMNS[one]])]));

/** Sums up the groups with most mail, at most one more than the limit, by outcome and cause. */
export async function sumGroups(db: Executor, query: GroupQuery): Promise<CountOfGroup[]> {
  const { fromDay, untilDay } = query;
  const columns = listColumns(query);
  const chosen = renderChosen(db, query);
  const filter = renderFilter(db, query);
  const rows = await db.all<Record<string, string | number>>(
    `${chosen.sql} select ${columns}, r.outcome, r.cause,
        sum(case when r.hour >= ? then r.count else 0 end) as count,
        sum(case when r.hour < ? then r.count else 0 end) as earlier
      from reputation_counts r ${joinChosen(query)}
      where r.hour >= ? and r.hour < ?${filter.sql} group by ${columns}, r.outcome, r.cause`,
    [...chosen.values, fromDay * 24, fromDay * 24, (2 * fromDay - untilDay) * 24, untilDay * 24, ...filter.values],
  );
  return rows.map((row) => ({
    key: readKey(query, row),
    outcome: row['outcome'] as ReputationKey['outcome'],
    cause: row['cause'] as ReplyCause | '',
    count: Number(row['count']),
    before: Number(row['earlier']),
  }));
}

/** Reports whether mail of a source was counted within a range of days. */
export const hasCountsOf = async (
  db: Executor,
  source: string,
  { fromDay, untilDay }: Pick<GroupQuery, 'fromDay' | 'untilDay'>,
): Promise<boolean> =>
  (await db.get('select 1 as found from reputation_counts where hour >= ? and hour < ? and source = ? limit 1', [
    fromDay * 24,
    untilDay * 24,
    source,
  ])) !== undefined;

const countOutcome = (outcome: ReputationKey['outcome']): string =>
  `sum(case when r.outcome = '${outcome}' then r.count else 0 end) as ${outcome}`;

/** Sums up each day of the groups with most mail. The sum of a rolled-up day is in its first hour. */
export async function sumGroupDays(db: Executor, query: GroupQuery): Promise<DayOfGroup[]> {
  const columns = listColumns(query);
  const chosen = renderChosen(db, query);
  const filter = renderFilter(db, query);
  const rows = await db.all<Record<string, string | number>>(
    `${chosen.sql} select ${columns}, r.hour / 24 as day, ${countOutcome('accepted')}, ${countOutcome('deferred')},
        ${countOutcome('bounced')}, ${countOutcome('complained')}
      from reputation_counts r ${joinChosen(query)}
      where r.hour >= ? and r.hour < ?${filter.sql} group by ${columns}, r.hour / 24`,
    [...chosen.values, query.fromDay * 24, query.untilDay * 24, ...filter.values],
  );
  return rows.map((row) => ({
    key: readKey(query, row),
    day: Number(row['day']),
    accepted: Number(row['accepted']),
    deferred: Number(row['deferred']),
    bounced: Number(row['bounced']),
    complained: Number(row['complained']),
  }));
}
