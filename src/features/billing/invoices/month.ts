import type { TimeZone } from '../../../protocol/time-zone/index.ts';

const DAY_MS = 86_400_000;
/** Mail that was accepted in the last moments of a month may be committed, and counted, a little later. */
const SETTLING_MS = 3_600_000;

const firstDay = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** The month after one, as `2026-12`. */
export function monthAfter(month: string): string {
  const first = new Date(firstDay(month));
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1)).toISOString().slice(0, 7);
}

/** The month that the clocks of a zone show. */
export const monthAt = (zone: TimeZone, at: number): string =>
  new Date(at + zone.offsetMs(at)).toISOString().slice(0, 7);

/** A day of a month, as `2026-11-30`, and the moments between which the clocks of the zone show it. */
export interface Day {
  date: string;
  from: number;
  to: number;
}

/** All days of the calendar, the one too that a zone leaves out. */
export function daysOf(month: string, zone: TimeZone): Day[] {
  const [first, end] = [firstDay(month), firstDay(monthAfter(month))];
  return Array.from({ length: (end - first) / DAY_MS }, (_, index) => {
    const local = first + index * DAY_MS;
    return {
      date: new Date(local).toISOString().slice(0, 10),
      from: zone.momentOf(local),
      to: zone.momentOf(local + DAY_MS),
    };
  });
}

/** When a month may be closed: over by the clocks of the zone, and by those of UTC, by which emails are counted. */
export const closableAt = (month: string, zone: TimeZone): number =>
  Math.max(zone.momentOf(firstDay(monthAfter(month))), firstDay(monthAfter(month))) + SETTLING_MS;
