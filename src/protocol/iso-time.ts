const ISO_8601 = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

export interface IsoTime {
  ms: number;
  isDateAlone: boolean;
  hasOffset: boolean;
  /** The local time, as if it were UTC. */
  local: number;
}

/**
 * Parses an ISO 8601 date or time. A time without an offset is UTC, as every time of the API. Returns undefined if the
 * text is neither.
 */
export function parseIsoTime(text: string): IsoTime | undefined {
  const match = ISO_8601.exec(text);
  if (!match) return undefined;
  const [, year, month, day, offset] = match;
  // Date.parse silently moves 30 February into March.
  const date = new Date(`${year}-${month}-01T00:00:00Z`);
  date.setUTCDate(Number(day));
  if (date.getUTCMonth() !== Number(month) - 1) return undefined;
  const isDateAlone = !text.includes('T');
  const ms = Date.parse(isDateAlone || offset !== undefined ? text : `${text}Z`);
  if (Number.isNaN(ms)) return undefined;
  return { ms, isDateAlone, hasOffset: offset !== undefined, local: ms + offsetMs(offset) };
}

function offsetMs(offset: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(offset ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

const UNITS: readonly [pattern: RegExp, ms: number][] = [
  [/^(?:s|secs?|seconds?)$/, SECOND],
  [/^(?:m|mins?|minutes?)$/, MINUTE],
  [/^(?:h|hrs?|hours?)$/, 60 * MINUTE],
  [/^(?:d|days?)$/, DAY],
  [/^(?:w|weeks?)$/, 7 * DAY],
];

const DISTANCE = /^in (an?|\d{1,6}) ?([a-z]{1,10})$/;
const CLOCK = '(\\d{1,2})(?::(\\d{2}))? ?(am|pm)?';
const DAY_AND_CLOCK = new RegExp(
  `^(?:(today|tomorrow|(?:next )?(?:sun|mon|tues|wednes|thurs|fri|satur)day) )?(?:at )?${CLOCK}$`,
);
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/**
 * Parses a time phrase, in UTC: `in 2 hours`, `tomorrow at 9:30`, `monday at 9am`. A weekday is the next one, never
 * today. Returns undefined if the text is no such phrase.
 */
export function parseTimePhrase(text: string, now: number): number | undefined {
  const phrase = text.trim().toLowerCase().replaceAll(/\s+/g, ' ');
  const distance = DISTANCE.exec(phrase);
  if (distance) {
    const [, count = '', unit = ''] = distance;
    const ms = UNITS.find(([pattern]) => pattern.test(unit))?.[1];
    return ms === undefined ? undefined : now + (/^an?$/.test(count) ? 1 : Number(count)) * ms;
  }
  const found = DAY_AND_CLOCK.exec(phrase);
  const day = found?.[1];
  const minutes = found && day !== undefined ? toMinutes(found[2] ?? '', found[3], found[4]) : undefined;
  if (day === undefined || minutes === undefined) return undefined;
  return midnight(now) + daysAhead(day, now) * DAY + minutes * MINUTE;
}

const midnight = (now: number): number => Math.floor(now / DAY) * DAY;

function daysAhead(day: string, now: number): number {
  if (day === 'today') return 0;
  if (day === 'tomorrow') return 1;
  const wanted = WEEKDAYS.indexOf(day.replace('next ', ''));
  return ((wanted - new Date(now).getUTCDay() + 6) % 7) + 1;
}

/** Returns undefined for an invalid time of day. */
function toMinutes(hours: string, minutes = '0', half?: string): number | undefined {
  const hour = Number(hours);
  const minute = Number(minutes);
  if (minute > 59 || hour > (half === undefined ? 23 : 12) || (half !== undefined && hour === 0)) return undefined;
  const ofDay = half === undefined ? hour : (hour % 12) + (half === 'pm' ? 12 : 0);
  return ofDay * 60 + minute;
}
