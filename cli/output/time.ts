import type { Terminal } from './terminal.ts';

/**
 * Formats an ISO 8601 time of the API: exact and in UTC for a program, in the zone of the reader and with its offset at
 * a terminal. To the minute in a table, to the second if there is space.
 */
export function formatTime(
  terminal: Terminal,
  time: string | null | undefined,
  precision: 'minute' | 'second' = 'minute',
): string {
  if (time === null || time === undefined) return '';
  const at = new Date(time);
  if (!terminal.isTty || Number.isNaN(at.getTime())) return time;
  const offset = -at.getTimezoneOffset();
  const local = new Date(at.getTime() + offset * 60_000).toISOString();
  return `${local.slice(0, precision === 'minute' ? 16 : 19).replace('T', ' ')}${formatOffset(offset)}`;
}

const DAY_MS = 86_400_000;
/** Within half a year a date needs no year. */
const NEAR_MS = 183 * DAY_MS;

/**
 * Formats a time in the reader's zone, as short as possible: only the time if it is today, otherwise with its day, and
 * only the date if it is far away.
 */
export function shortTime(time: string, now: number, precision: 'minute' | 'second' = 'minute'): string {
  const at = new Date(time).getTime();
  if (Number.isNaN(at)) return time;
  const local = toLocalTime(at);
  const today = toLocalTime(now);
  if (Math.abs(at - now) > NEAR_MS) return local.slice(0, 10);
  const clock = local.slice(11, precision === 'minute' ? 16 : 19);
  return local.slice(0, 10) === today.slice(0, 10) ? clock : `${local.slice(5, 10)} ${clock}`;
}

/** Formats a time for a list: short for a person, exact for a program. */
export const listTime = (terminal: Terminal, time: string | null | undefined): string =>
  terminal.isTty && typeof time === 'string' ? shortTime(time, Date.now()) : formatTime(terminal, time);

const toLocalTime = (at: number): string => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString();

function formatOffset(minutes: number): string {
  if (minutes === 0) return 'Z';
  const two = (count: number): string => String(Math.trunc(count)).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
}
