import { expect, it } from 'vitest';
import { parseTimePhrase } from './index.ts';

// A Wednesday.
const NOW = Date.parse('2026-11-25T14:30:15.000Z');
const read = (text: string): string | undefined => {
  const ms = parseTimePhrase(text, NOW);
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

it.each([
  ['in 2 hours', '2026-11-25T16:30:15.000Z'],
  ['In an hour', '2026-11-25T15:30:15.000Z'],
  ['in a day', '2026-11-26T14:30:15.000Z'],
  [' in  90   minutes ', '2026-11-25T16:00:15.000Z'],
  ['in 5m', '2026-11-25T14:35:15.000Z'],
  ['in 90 seconds', '2026-11-25T14:31:45.000Z'],
  ['in 1 min', '2026-11-25T14:31:15.000Z'],
  ['in 3 days', '2026-11-28T14:30:15.000Z'],
  ['in 2 weeks', '2026-12-09T14:30:15.000Z'],
  ['tomorrow at 9:30', '2026-11-26T09:30:00.000Z'],
  ['tomorrow at 9am', '2026-11-26T09:00:00.000Z'],
  ['tomorrow 12am', '2026-11-26T00:00:00.000Z'],
  ['tomorrow at 12 PM', '2026-11-26T12:00:00.000Z'],
  ['today at 23:59', '2026-11-25T23:59:00.000Z'],
  ['today at 9am', '2026-11-25T09:00:00.000Z'],
  ['monday at 8', '2026-11-30T08:00:00.000Z'],
  ['next Thursday at 8pm', '2026-11-26T20:00:00.000Z'],
  ['wednesday at 0:00', '2026-12-02T00:00:00.000Z'],
])('%j is %s', (text, expected) => expect(read(text)).toBe(expected));

it.each([
  '',
  'in',
  'in hours',
  'in 2',
  'in 2 months',
  'in -1 hours',
  'in 1.5 hours',
  '2 hours',
  'tomorrow',
  'at 9',
  '9:30',
  'tomorrow at 24:00',
  'tomorrow at 9:60',
  'tomorrow at 13pm',
  'tomorrow at 0am',
  'someday at 9',
  '2026-11-26T09:30:00Z',
  'in 2 hours and 5 minutes',
  'in 1234567 hours',
  `in ${'1'.repeat(100_000)} hours`,
])('%j is none', (text) => expect(read(text)).toBe(undefined));
