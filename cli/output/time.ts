import type { Terminal } from './terminal.ts';

/**
 * An ISO 8601 time of the API: exact and in UTC for a program, in the zone of the reader and with its offset at a terminal.
 * To the minute in a table, to the second where there is space.
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
  return `${local.slice(0, precision === 'minute' ? 16 : 19).replace('T', ' ')}${zoneOf(offset)}`;
}

function zoneOf(minutes: number): string {
  if (minutes === 0) return 'Z';
  const two = (count: number): string => String(Math.trunc(count)).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
}
