import { isoTime } from '../../platform/clock.ts';
import type { TimeZone } from '../../protocol/time-zone.ts';
import { DAY_MINUTES, QUARTER_MINUTES } from '../../mail/events/index.ts';

export type Granularity = 'hourly' | 'daily' | 'weekly' | 'monthly';

export interface Period {
  name: string;
  from: number;
  /** The first moment after it. */
  until: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The shortest a period can be, an hour that the clocks cut in two apart. */
const SHORTEST_MS = { hourly: HOUR_MS, daily: DAY_MS - HOUR_MS, weekly: 7 * DAY_MS - HOUR_MS, monthly: 27 * DAY_MS };

/**
 * The periods of a range as the clocks of `zone` cut it, the first and the last cut off at its ends; undefined when there
 * are more than `most`. A day on which the clocks are changed has 23 or 25 hours.
 */
export function periodsOf(
  range: { from: number; until: number },
  granularity: Granularity,
  zone: TimeZone,
  most: number,
): Period[] | undefined {
  // Before anything is counted out: a range may hold millions of hours.
  if ((range.until - range.from) / SHORTEST_MS[granularity] > most + 1) return undefined;
  const periods: Period[] = [];
  const step = granularity === 'hourly' ? hourAt : dateStep(granularity);
  for (let from = range.from; from < range.until;) {
    const { name, end } = step(from, zone);
    const until = Math.min(end, range.until);
    // Only the first can be cut off at its beginning; clocks that jump by half an hour make a short hour.
    periods.push({ name: granularity === 'hourly' && periods.length > 0 ? isoTime(from) : name, from, until });
    if (periods.length > most) return undefined;
    from = until;
  }
  return periods;
}

interface Step {
  name: string;
  end: number;
}

/** The hour of the clock that holds `at`. */
function hourAt(at: number, zone: TimeZone): Step {
  const sinceFull = modulo(at + zone.offsetMs(at), HOUR_MS);
  return { name: isoTime(at - sinceFull), end: at - sinceFull + HOUR_MS };
}

function dateStep(granularity: Exclude<Granularity, 'hourly'>): (at: number, zone: TimeZone) => Step {
  return (at, zone) => {
    const local = at + zone.offsetMs(at);
    const first = firstDay(local, granularity);
    let next = dayAfter(first, granularity);
    let end = zone.momentOf(next);
    // Where the clocks are set back over midnight, the day that has begun begins again.
    while (end <= at) end = zone.momentOf((next = dayAfter(next, granularity)));
    return { name: isoTime(first).slice(0, 10), end };
  };
}

/** The local midnight with which the period of this wall clock's reading begins. */
function firstDay(local: number, granularity: Granularity): number {
  const midnight = local - modulo(local, DAY_MS);
  const date = new Date(midnight);
  if (granularity === 'weekly') return midnight - modulo(date.getUTCDay() - 1, 7) * DAY_MS;
  return granularity === 'monthly' ? midnight - (date.getUTCDate() - 1) * DAY_MS : midnight;
}

function dayAfter(first: number, granularity: Granularity): number {
  if (granularity !== 'monthly') return first + (granularity === 'weekly' ? 7 : 1) * DAY_MS;
  const date = new Date(first);
  return date.setUTCMonth(date.getUTCMonth() + 1);
}

const modulo = (value: number, by: number): number => ((value % by) + by) % by;

export const QUARTER_MS = QUARTER_MINUTES * 60_000;
const QUARTERS_PER_DAY = DAY_MINUTES / QUARTER_MINUTES;

/** The counts of one span from slot `first` up to but without `past`, which add to the period of that index. */
export interface SlotRange {
  period: number;
  span: number;
  first: number;
  past: number;
}

/** The fewest rows that make up each period: whole UTC days where it holds such days, quarters of an hour around them. */
export function slotRangesOf(periods: readonly Pick<Period, 'from' | 'until'>[]): SlotRange[] {
  return periods.flatMap(({ from, until }, period) => {
    // A quarter belongs to the period in which it begins.
    const first = Math.ceil(from / QUARTER_MS);
    const end = Math.ceil(until / QUARTER_MS);
    const firstDay = Math.ceil(first / QUARTERS_PER_DAY);
    const endDay = Math.floor(end / QUARTERS_PER_DAY);
    if (firstDay >= endDay) return [{ period, span: QUARTER_MINUTES, first, past: end }];
    return [
      { period, span: QUARTER_MINUTES, first, past: firstDay * QUARTERS_PER_DAY },
      { period, span: DAY_MINUTES, first: firstDay, past: endDay },
      { period, span: QUARTER_MINUTES, first: endDay * QUARTERS_PER_DAY, past: end },
    ].filter((range) => range.first < range.past);
  });
}
