import { DAY_MINUTES, QUARTER_MINUTES } from '../../mail/events/index.ts';
import type { Period } from './periods.ts';

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
    const [first, end] = [Math.ceil(from / QUARTER_MS), Math.ceil(until / QUARTER_MS)];
    const [firstDay, endDay] = [Math.ceil(first / QUARTERS_PER_DAY), Math.floor(end / QUARTERS_PER_DAY)];
    if (firstDay >= endDay) return [{ period, span: QUARTER_MINUTES, first, past: end }];
    return [
      { period, span: QUARTER_MINUTES, first, past: firstDay * QUARTERS_PER_DAY },
      { period, span: DAY_MINUTES, first: firstDay, past: endDay },
      { period, span: QUARTER_MINUTES, first: endDay * QUARTERS_PER_DAY, past: end },
    ].filter((range) => range.first < range.past);
  });
}
