import { describe, expect, it } from 'vitest';
import { parseTimePhrase, parseIsoTime } from './iso-time.ts';

describe('parseIsoTime', () => {
  it.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2027-01-31T12:30', '2027-01-31T12:30:00.000Z'],
    ['2027-01-31T12:30:15', '2027-01-31T12:30:15.000Z'],
    ['2027-01-31T12:30:15.25Z', '2027-01-31T12:30:15.250Z'],
    ['2027-01-31T12:30:15.123456789Z', '2027-01-31T12:30:15.123Z'],
    ['2027-01-31T12:30:15+02:00', '2027-01-31T10:30:15.000Z'],
    ['2027-01-31T12:30:15-0530', '2027-01-31T18:00:15.000Z'],
  ])('reads %s as %s', (text, iso) => {
    expect(new Date(parseIsoTime(text)?.ms ?? Number.NaN).toISOString()).toBe(iso);
  });

  it.each([
    '',
    'tomorrow',
    '2027',
    '2027-01',
    '20270131',
    '2027-1-31',
    ' 2027-01-31',
    '2027-01-31 12:30:00Z',
    '2027-00-10',
    '2027-13-10',
    '2027-01-00',
    '2027-01-32',
    '2027-02-29',
    '2027-02-30',
    '2027-04-31',
    '2027-01-31T25:00:00Z',
    '2027-01-31T12:60:00Z',
    '2027-01-31T12:30:61Z',
    '2027-01-31T12',
    '2027-01-31Z',
    '2027-01-31T12:30:00+25:00',
    '2027-01-31T12:30:00+1:00',
    '+002027-01-31',
    '2027-01-31T12:30:00.Z',
  ])('does not accept %j', (text) => expect(parseIsoTime(text)).toBeUndefined());
});

it.each([
  ['2027-01-31T12:30:15Z', '2027-01-31T12:30:15.000Z'],
  ['2027-01-31T12:30', '2027-01-31T12:30:00.000Z'],
  ['2027-01-31T23:30:00+02:00', '2027-01-31T23:30:00.000Z'],
  ['2027-01-31T12:30:15-0530', '2027-01-31T12:30:15.000Z'],
])('the wall clock of %s is %s', (text, local) => {
  expect(new Date(parseIsoTime(text)?.local ?? Number.NaN).toISOString()).toBe(local);
});

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
])('the natural time %j is read as %s', (text, expected) => expect(read(text)).toBe(expected));

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
])('the natural time %j is refused', (text) => expect(read(text)).toBe(undefined));
