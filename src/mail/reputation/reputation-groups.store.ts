import { textsIn, uuidsIn, type Executor, type Value } from '../../platform/db/index.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';
import type { ReputationKey } from './reputation.store.ts';

/** The properties that mail can be grouped by, with their columns. */
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

/** Values of the columns of a group, by what it is grouped by. */
export type GroupKey = Partial<Record<GroupBy, string>>;

/** A range of hours, counted from 1970; the last one is not included. */
export interface Hours {
  from: number;
  until: number;
}

export interface GroupedCounts extends ReputationFilter {
  groupBy: readonly GroupBy[];
}

interface Sql {
  sql: string;
  values: readonly Value[];
}

/** Renders the conditions on the hours, and those of a filter. */
function renderConditions(
  db: Executor,
  { source, provider, domainIds, teamId }: ReputationFilter,
  { from, until }: Hours,
  more: readonly { sql: string; value: Value }[] = [],
): Sql {
  const given: { sql: string; value: Value | undefined }[] = [
    { sql: 'hour >= ?', value: from },
    { sql: 'hour < ?', value: until },
    { sql: 'source = ?', value: source },
    { sql: 'provider = ?', value: provider },
    ...(domainIds === undefined ? [] : [uuidsIn(db.dialect, 'domain_id', domainIds)]),
    { sql: 'team_id = ?', value: teamId },
    ...more,
  ];
  const conditions = given.flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  return { sql: conditions.map(({ sql }) => sql).join(' and '), values: conditions.map(({ value }) => value) };
}

const listColumns = (groupBy: readonly GroupBy[]): string => groupBy.map((one) => COLUMNS[one]).join(', ');

const readKey = (groupBy: readonly GroupBy[], row: Record<string, unknown>): GroupKey =>
  Object.fromEntries(groupBy.map((one) => [one, String(row[COLUMNS[one]])]));

/** Sums up the attempts of each group within a range of hours. A group with complaints only has none. */
export async function sumAttempts(
  db: Executor,
  query: GroupedCounts,
  hours: Hours,
): Promise<{ key: GroupKey; attempts: number }[]> {
  const columns = listColumns(query.groupBy);
  const conditions = renderConditions(db, query, hours);
  const rows = await db.all<Record<string, string | number>>(
    `select ${columns}, sum(case when outcome = 'complained' then 0 else count end) as attempts
      from reputation_counts where ${conditions.sql} group by ${columns}`,
    conditions.values,
  );
  return rows.map((row) => ({ key: readKey(query.groupBy, row), attempts: Number(row['attempts']) }));
}

export interface CountOfGroup {
  key: GroupKey;
  outcome: ReputationKey['outcome'];
  cause: ReplyCause | '';
  count: number;
}

/**
 * Sums up groups by outcome and cause within a range of hours. It returns at least the groups with these keys: each of its values
 * is that of one of the keys.
 */
export async function sumOutcomesOfGroups(
  db: Executor,
  query: GroupedCounts,
  hours: Hours,
  keys: readonly GroupKey[],
): Promise<CountOfGroup[]> {
  const columns = listColumns(query.groupBy);
  const among = query.groupBy.map((one) => {
    const values = [...new Set(keys.flatMap((key) => key[one] ?? []))];
    return one === 'domain' ? uuidsIn(db.dialect, COLUMNS[one], values) : textsIn(db.dialect, COLUMNS[one], values);
  });
  const conditions = renderConditions(db, query, hours, among);
  const rows = await db.all<Record<string, string | number>>(
    `select ${columns}, outcome, cause, sum(count) as count from reputation_counts
      where ${conditions.sql} group by ${columns}, outcome, cause`,
    conditions.values,
  );
  return rows.map((row) => ({
    key: readKey(query.groupBy, row),
    outcome: row['outcome'] as ReputationKey['outcome'],
    cause: row['cause'] as ReplyCause | '',
    count: Number(row['count']),
  }));
}

/** Reports whether mail of a source was counted within a range of hours. */
export const hasCounts = async (db: Executor, source: string, { from, until }: Hours): Promise<boolean> =>
  (await db.get('select 1 as found from reputation_counts where hour >= ? and hour < ? and source = ? limit 1', [
    from,
    until,
    source,
  ])) !== undefined;
