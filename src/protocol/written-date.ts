/** A date as contacts have it; the year is null for one that is written as MM-DD. */
export interface WrittenDate {
  year: number | null;
  month: number;
  day: number;
}

const WRITTEN = /^(?:(\d{4})-)?(\d{2})-(\d{2})$/;
/** A leap year, in which every day exists that a date without a year can name. */
const LEAP_YEAR = 2000;

/** Reads YYYY-MM-DD or MM-DD; undefined for anything else, and for a day that does not exist. */
export function readDate(text: string): WrittenDate | undefined {
  const [, year, month, day] = WRITTEN.exec(text) ?? [];
  if (month === undefined || day === undefined) return undefined;
  const date = { year: year === undefined ? null : Number(year), month: Number(month), day: Number(day) };
  return doesExist(date) ? date : undefined;
}

export function doesExist({ year, month, day }: WrittenDate): boolean {
  const at = new Date(toDay({ year: year ?? LEAP_YEAR, month, day }));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
}

/** Returns the first millisecond of a day, as if its clocks showed UTC. */
export function toDay({ year, month, day }: { year: number; month: number; day: number }): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  return at.getTime();
}
