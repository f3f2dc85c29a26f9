import type { TimeZone } from '../../protocol/time-zone.ts';
import { doesExist, readDate, toDay, type WrittenDate } from '../../protocol/written-date.ts';

const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
/** People whose date of birth is known are hardly older. */
const YEARS_BACK = 150;

/** What starts runs at a date that contacts have in a property. */
export interface DateTrigger {
  /** At each anniversary of the date, or once at the date itself. */
  repeat: 'yearly' | 'once';
  /** Days after the date or the anniversary; negative for days before it. */
  days: number;
  /** Hour of the contact's clocks. */
  hour: number;
}

export const formatDay = (day: number): string => new Date(day).toISOString().slice(0, 10);
const formatYearDay = (day: number): string => formatDay(day).slice(5);

const isLeapYear = (year: number): boolean => doesExist({ year, month: 2, day: 29 });

/**
 * Lists the texts of all dates that occur on a day. The anniversaries of a date begin in the year after it; that of 29
 * February is on 28 February in a year without a leap day.
 */
export function listTextsOn(day: number, { repeat }: Pick<DateTrigger, 'repeat'>): string[] {
  if (repeat === 'once') return [formatDay(day)];
  const year = new Date(day).getUTCFullYear();
  const own = formatYearDay(day);
  const endings = own === '02-28' && !isLeapYear(year) ? [own, '02-29'] : [own];
  return endings.flatMap((ending) => [
    ending,
    ...Array.from({ length: YEARS_BACK }, (_, i) => `${String(year - 1 - i).padStart(4, '0')}-${ending}`).filter(
      (text) => readDate(text) !== undefined,
    ),
  ]);
}

/** Returns the moment at which runs start for a date that occurs on a day. */
export const findStart = (day: number, { days, hour }: DateTrigger, zone: TimeZone): number =>
  zone.toMoment(day + days * DAY_MS + hour * HOUR_MS);

/** No time zone is further ahead of UTC or behind it. */
const AHEAD_MAX_MS = 14 * HOUR_MS;
const BEHIND_MAX_MS = 12 * HOUR_MS;

/** Lists the days on which a date may occur whose runs start after `from` and until `to`, wherever the contact is. */
export function listDays({ days, hour }: DateTrigger, { from, to }: { from: number; to: number }): number[] {
  const shift = days * DAY_MS + hour * HOUR_MS;
  const first = Math.floor((from - BEHIND_MAX_MS - shift) / DAY_MS);
  const last = Math.floor((to + AHEAD_MAX_MS - shift) / DAY_MS);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * DAY_MS);
}

export interface Occurrence {
  /** The day of the date or of its anniversary. */
  day: number;
  /** When a run starts. */
  at: number;
}

/** Returns the first occurrence of a date whose run starts after a moment; undefined if there is none. */
export function findNext(
  date: WrittenDate,
  trigger: DateTrigger,
  { zone, after }: { zone: TimeZone; after: number },
): Occurrence | undefined {
  const days = trigger.repeat === 'once' ? listOwnDay(date) : listAnniversaries(date, after);
  return days.map((day) => ({ day, at: findStart(day, trigger, zone) })).find(({ at }) => at > after);
}

const listOwnDay = ({ year, month, day }: WrittenDate): number[] =>
  year === null ? [] : [toDay({ year, month, day })];

/** A trigger is at most a year before or after the date, so that the next few years contain the next occurrence. */
function listAnniversaries({ year, month, day }: WrittenDate, after: number): number[] {
  const now = new Date(after).getUTCFullYear();
  const from = year === null ? now - 2 : Math.max(now - 2, year + 1);
  return Array.from({ length: 5 }, (_, i) => from + i).map((one) =>
    month === 2 && day === 29 && !isLeapYear(one)
      ? toDay({ year: one, month, day: 28 })
      : toDay({ year: one, month, day }),
  );
}
