import type { Executor } from '../../platform/db/index.ts';
import {
  compare,
  computeRates,
  countAttempts,
  judge,
  type CauseCount,
  type Direction,
  type Level,
  type Outcomes,
  type Rates,
} from './judge.ts';
import {
  sumGroupDays,
  sumGroups,
  type CountOfGroup,
  type DayOfGroup,
  type GroupKey,
  type GroupQuery,
} from './reputation-groups.store.ts';

/** One number for each day of the range. */
export interface Series {
  accepted: number[];
  deferred: number[];
  bounced: number[];
  complained: number[];
}

/** How the mail of one group was taken within a range of days. */
export interface GroupReputation {
  key: GroupKey;
  outcomes: Outcomes;
  rates: Rates;
  /** The comparison with as many days before; undefined if there was too little mail then or now. */
  trend: { direction: Direction; rates: Rates } | undefined;
  level: Level;
  reason: string;
  daily: Series;
}

/** Sums up and judges the groups with most mail, those with most first. */
export async function summarizeReputation(
  db: Executor,
  query: GroupQuery,
): Promise<{ groups: GroupReputation[]; hasMore: boolean }> {
  const counts = Map.groupBy(await sumGroups(db, query), ({ key }) => formatKey(key));
  const days = Map.groupBy(await sumGroupDays(db, query), ({ key }) => formatKey(key));
  const groups = [...counts].map(([text, of]) => buildGroup(query, of, days.get(text) ?? []));
  const ranked = groups
    .map((group) => ({ group, attempts: countAttempts(group.outcomes), text: formatKey(group.key) }))
    .sort((a, b) => b.attempts - a.attempts || (a.text < b.text ? -1 : 1))
    .map(({ group }) => group);
  return { groups: ranked.slice(0, query.limit), hasMore: ranked.length > query.limit };
}

const formatKey = (key: GroupKey): string => JSON.stringify(Object.values(key));

function buildGroup(query: GroupQuery, counts: readonly CountOfGroup[], days: readonly DayOfGroup[]): GroupReputation {
  const [first] = counts;
  if (!first) throw new Error('group of reputation counts without a row');
  const outcomes = collect(counts, ({ count }) => count);
  const before = collect(counts, (row) => row.before);
  const direction = compare(outcomes, before);
  return {
    key: first.key,
    outcomes,
    rates: computeRates(outcomes),
    trend: direction === undefined ? undefined : { direction, rates: computeRates(before) },
    ...judge(outcomes),
    daily: buildSeries(query, days),
  };
}

function collect(counts: readonly CountOfGroup[], count: (row: CountOfGroup) => number): Outcomes {
  const sum = (outcome: string): number =>
    counts.filter((row) => row.outcome === outcome).reduce((total, row) => total + count(row), 0);
  const listCauses = (outcome: string): CauseCount[] =>
    counts
      .filter((row) => row.outcome === outcome && count(row) > 0)
      .map((row) => ({ cause: row.cause, recipients: count(row) }))
      .sort((a, b) => b.recipients - a.recipients || (a.cause < b.cause ? -1 : 1));
  return {
    accepted: sum('accepted'),
    deferred: listCauses('deferred'),
    bounced: listCauses('bounced'),
    complained: sum('complained'),
  };
}

function buildSeries({ fromDay, untilDay }: GroupQuery, days: readonly DayOfGroup[]): Series {
  const empty = (): number[] => Array.from({ length: untilDay - fromDay }, () => 0);
  const series: Series = { accepted: empty(), deferred: empty(), bounced: empty(), complained: empty() };
  for (const { day, accepted, deferred, bounced, complained } of days) {
    const at = day - fromDay;
    series.accepted[at] = accepted;
    series.deferred[at] = deferred;
    series.bounced[at] = bounced;
    series.complained[at] = complained;
  }
  return series;
}
