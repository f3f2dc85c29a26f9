import { isoTime } from '../../platform/clock.ts';
import type { TimeZone } from '../../protocol/time-zone.ts';
import { DAY_MINUTES, QUARTER_MINUTES } from '../../mail/events/index.ts';

export type Granularity = 'hourly' | 'daily' | 'weekly' | 'monthly';

export interface Period {
  name: string;
  from: number;
  /** First moment after it. */
  until: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Minimum length of a period, except for an hour that a clock change splits. */
const SHORTEST_MS = { hourly: HOUR_MS, daily: DAY_MS - HOUR_MS, weekly: 7 * DAY_MS - HOUR_MS, monthly: 27 * DAY_MS };

/**
 * Returns the periods of a range in local time of `zone`, the first and the last cut off at its ends; undefined if
 * there are more than `most`. A day on which the clocks are changed has 23 or 25 hours.
 */
export function splitIntoPeriods(
  range: { from: number; until: number },
  granularity: Granularity,
  zone: TimeZone,
  most: number,
): Period[] | undefined {
  // Checked before listing them: a range may contain millions of hours.
  if ((range.until - range.from) / SHORTEST_MS[granularity] > most + 1) return undefined;
  const periods: Period[] = [];
  const step = granularity === 'hourly' ? hourAt : dateStep(granularity);
  for (let from = range.from; from < range.until;) {
    const { name, end } = step(from, zone);
    const until = Math.min(end, range.until);
    // Only the first period can be cut off at its beginning; clocks that jump by half an hour make a short hour.
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

/** Returns the local hour that contains `at`. */
function hourAt(at: number, zone: TimeZone): Step {
  const sinceFull = modulo(at + zone.offsetMs(at), HOUR_MS);
  return { name: isoTime(at - sinceFull), end: at - sinceFull + HOUR_MS };
}

function dateStep(granularity: Exclude<Granularity, 'hourly'>): (at: number, zone: TimeZone) => Step {
  return (at, zone) => {
    const local = at + zone.offsetMs(at);
    const first = firstDay(local, granularity);
    let next = dayAfter(first, granularity);
    let end = zone.toMoment(next);
    // If the clocks are set back over midnight, the day that has begun begins again.
    while (end <= at) end = zone.toMoment((next = dayAfter(next, granularity)));
    return { name: isoTime(first).slice(0, 10), end };
  };
}

/** Returns the local midnight at which the period of this local time begins. */
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

/** Counts of one span from slot `first` up to and excluding `past`, which add to the period of that index. */
export interface SlotRange {
  period: number;
  span: number;
  first: number;
  past: number;
}

/**
 * Returns the fewest rows that make up each period: whole UTC days if it contains any, and quarters of an hour around
 * them.
 */
export function toSlotRanges(periods: readonly Pick<Period, 'from' | 'until'>[]): SlotRange[] {
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
