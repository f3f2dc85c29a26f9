import { parseIsoTime } from '../protocol/iso-time.ts';
import { refuse } from './refusal.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Reads the filters `start_date` and `end_date` of a list, both inclusive, in milliseconds. A date without a time means
 * the whole day.
 */
export function readCreatedRange(filter: { start_date?: string | undefined; end_date?: string | undefined }): {
  createdFrom: number | undefined;
  createdTo: number | undefined;
} {
  const createdFrom = readInstant('start_date', filter.start_date, 0);
  const createdTo = readInstant('end_date', filter.end_date, DAY_MS - 1);
  if (createdFrom !== undefined && createdTo !== undefined && createdTo < createdFrom) {
    throw refuse('invalid_parameter', { say: 'end_date must not be before start_date.' });
  }
  return { createdFrom, createdTo };
}

function readInstant(name: string, text: string | undefined, dateOffsetMs: number): number | undefined {
  if (text === undefined) return undefined;
  const time = parseIsoTime(text);
  if (time) return time.ms + (time.isDateAlone ? dateOffsetMs : 0);
  throw refuse('invalid_parameter', {
    say: `${name} must be an ISO 8601 date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z; got ${JSON.stringify(text.slice(0, 40))}.`,
  });
}
