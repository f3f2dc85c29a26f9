import { nextTurn } from '../../platform/clock.ts';
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
  hasCounts,
  sumAttempts,
  sumOutcomesOfGroups,
  type CountOfGroup,
  type GroupedCounts,
  type GroupKey,
  type Hours,
} from './reputation-groups.store.ts';

/** Days, counted from 1970: the first one, and the first one after the range. */
export interface Days {
  fromDay: number;
  untilDay: number;
}

export interface GroupQuery extends GroupedCounts, Days {
  /** Groups that are returned, those with most attempts. */
  limit: number;
}

/** One number for each day of the range. */
export interface Series {
  accepted: number[];
  deferred: number[];
  bounced: number[];
  complained: number[];
}

/** Outcomes of the mail of one group within a range of days. */
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

/** The last days of a range may have a row for each hour; their statements read fewer hours, so that none takes long. */
const DAYS_BY_HOUR = 4;
const HOURS_AT_ONCE = 6;
/**
 * The groups that are ranked at the same time. If there are more, those with least attempts so far are dropped, so that one
 * read does not use up the memory; the groups that are returned are summed up anew.
 */
const RANKED_MAX = 20_000;

/** Sums up and judges the groups with most attempts, those with most first. No statement reads more than a day. */
export async function summarizeReputation(
  db: Executor,
  query: GroupQuery,
): Promise<{ groups: GroupReputation[]; hasMore: boolean }> {
  const { keys, hasMore } = await rankGroups(db, query);
  const collected = new Map(keys.map((key) => [formatKey(key), createCollected(key, query)]));
  if (collected.size > 0) {
    const fromDay = 2 * query.fromDay - query.untilDay;
    for (const { day, hours } of listSlices({ fromDay, untilDay: query.untilDay })) {
      for (const row of await sumOutcomesOfGroups(db, query, hours, keys))
        collected.get(formatKey(row.key))?.add(row, day);
      await nextTurn();
    }
  }
  const groups = [...collected.values()].map((group) => group.build());
  const ranked = groups
    .map((group) => ({ group, attempts: countAttempts(group.outcomes), text: formatKey(group.key) }))
    .sort((a, b) => b.attempts - a.attempts || (a.text < b.text ? -1 : 1));
  return { groups: ranked.map(({ group }) => group), hasMore };
}

/** Reports whether mail of a source was counted within a range of days. */
export async function hasSourceSent(db: Executor, source: string, days: Days): Promise<boolean> {
  for (const { hours } of listSlices(days)) {
    if (await hasCounts(db, source, hours)) return true;
    await nextTurn();
  }
  return false;
}

/** Divides days into ranges of hours that one statement reads. A day that was added up is read as a whole. */
function listSlices({ fromDay, untilDay }: Days): { day: number; hours: Hours }[] {
  const slices: { day: number; hours: Hours }[] = [];
  for (let day = fromDay; day < untilDay; day++) {
    const step = day >= untilDay - DAYS_BY_HOUR ? HOURS_AT_ONCE : 24;
    for (let hour = 0; hour < 24; hour += step)
      slices.push({ day, hours: { from: day * 24 + hour, until: day * 24 + hour + step } });
  }
  return slices;
}

/** Finds the groups with most attempts. */
async function rankGroups(db: Executor, query: GroupQuery): Promise<{ keys: GroupKey[]; hasMore: boolean }> {
  let sums = new Map<string, { key: GroupKey; attempts: number; text: string }>();
  const rank = () => [...sums.values()].sort((a, b) => b.attempts - a.attempts || (a.text < b.text ? -1 : 1));
  let isCut = false;
  for (const { hours } of listSlices(query)) {
    for (const { key, attempts } of await sumAttempts(db, query, hours)) {
      const text = formatKey(key);
      sums.set(text, { key, text, attempts: attempts + (sums.get(text)?.attempts ?? 0) });
    }
    if (sums.size > RANKED_MAX) {
      sums = new Map(
        rank()
          .slice(0, RANKED_MAX / 2)
          .map((group) => [group.text, group]),
      );
      isCut = true;
    }
    await nextTurn();
  }
  const ranked = rank();
  return { keys: ranked.slice(0, query.limit).map(({ key }) => key), hasMore: isCut || ranked.length > query.limit };
}

const formatKey = (key: GroupKey): string => JSON.stringify(Object.values(key));

/** Counts of one outcome, by cause. */
type Causes = Map<CauseCount['cause'], number>;

/** Collects the counts of one group, of the range and of as many days before. */
function createCollected(key: GroupKey, { fromDay, untilDay }: Days) {
  const zeros = (): number[] => Array.from({ length: untilDay - fromDay }, () => 0);
  const daily: Series = { accepted: zeros(), deferred: zeros(), bounced: zeros(), complained: zeros() };
  const create = (): Record<CountOfGroup['outcome'], Causes> => ({
    accepted: new Map(),
    deferred: new Map(),
    bounced: new Map(),
    complained: new Map(),
  });
  const now = create();
  const before = create();
  return {
    add({ outcome, cause, count }: CountOfGroup, day: number): void {
      const causes = (day < fromDay ? before : now)[outcome];
      causes.set(cause, count + (causes.get(cause) ?? 0));
      const series = daily[outcome];
      if (day >= fromDay) series[day - fromDay] = count + (series[day - fromDay] ?? 0);
    },
    build(): GroupReputation {
      const outcomes = toOutcomes(now);
      const earlier = toOutcomes(before);
      const direction = compare(outcomes, earlier);
      return {
        key,
        outcomes,
        rates: computeRates(outcomes),
        trend: direction === undefined ? undefined : { direction, rates: computeRates(earlier) },
        ...judge(outcomes),
        daily,
      };
    },
  };
}

function toOutcomes(counts: Record<CountOfGroup['outcome'], Causes>): Outcomes {
  const sum = (causes: Causes): number => [...causes.values()].reduce((total, count) => total + count, 0);
  const list = (causes: Causes): CauseCount[] =>
    [...causes]
      .map(([cause, recipients]) => ({ cause, recipients }))
      .sort((a, b) => b.recipients - a.recipients || (a.cause < b.cause ? -1 : 1));
  return {
    accepted: sum(counts.accepted),
    deferred: list(counts.deferred),
    bounced: list(counts.bounced),
    complained: sum(counts.complained),
  };
}
