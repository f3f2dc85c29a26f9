import { describe, expect, it } from 'vitest';
import { splitIntoPeriods, type Granularity, QUARTER_MS, toSlotRanges } from './periods.ts';
import { findTimeZone, type TimeZone } from '../../protocol/time-zone.ts';
import fc from 'fast-check';

const HOUR_MS = 3_600_000;

function loadZone(name: string): TimeZone {
  const zone = findTimeZone(name);
  if (!zone) throw new Error(`no zone ${name}`);
  return zone;
}

const cut = (zone: string, granularity: Granularity, from: string, until: string, most = 1000) =>
  splitIntoPeriods({ from: Date.parse(from), until: Date.parse(until) }, granularity, loadZone(zone), most);

const listHours = (...call: Parameters<typeof cut>) =>
  cut(...call)?.map(({ name, from, until }) => [name, (until - from) / HOUR_MS]);

describe('days follow the time zone', () => {
  it.each([
    // Name, the first day's local midnight, and the length of three days around a change of the clocks.
    ['UTC', '2026-03-28T00:00Z', [24, 24, 24]],
    ['Europe/Berlin', '2026-03-27T23:00Z', [24, 23, 24]],
    ['Europe/Berlin', '2026-10-23T22:00Z', [24, 25, 24]],
    ['America/New_York', '2026-03-07T05:00Z', [24, 23, 24]],
    ['America/New_York', '2026-10-31T04:00Z', [24, 25, 24]],
    ['Asia/Kolkata', '2026-03-27T18:30Z', [24, 24, 24]],
    ['Asia/Kathmandu', '2026-03-27T18:15Z', [24, 24, 24]],
    ['Pacific/Chatham', '2026-04-03T10:15Z', [24, 25, 24]],
    ['Australia/Lord_Howe', '2026-04-03T13:00Z', [24, 24.5, 24]],
    // The clocks jump over midnight: the day begins at one.
    ['Africa/Cairo', '2026-04-22T22:00Z', [24, 23, 24]],
    ['America/Santiago', '2026-09-05T04:00Z', [24, 23, 24]],
    // The clocks are set back from midnight to eleven, so the previous day continues.
    ['America/Santiago', '2026-04-03T03:00Z', [24, 25, 24]],
    ['America/Havana', '2026-10-31T04:00Z', [24, 25, 24]],
  ])('%s from %s: three days have %j hours', (zone, from, hours) => {
    const long = new Date(Date.parse(from) + 80 * HOUR_MS).toISOString();
    const days = listHours(zone, 'daily', from, long)?.slice(0, 3);
    expect(days?.map(([, length]) => length)).toEqual(hours);
    const first = Date.parse(`${String(days?.[0]?.[0])}T00:00Z`);
    expect(days?.map(([name]) => Date.parse(`${String(name)}T00:00Z`) - first)).toEqual([
      0,
      24 * HOUR_MS,
      48 * HOUR_MS,
    ]);
  });

  it('a day that the zone skipped is left out', () => {
    const days = listHours('Pacific/Apia', 'daily', '2011-12-29T10:00Z', '2011-12-31T10:00Z');
    expect(days).toEqual([
      ['2011-12-29', 24],
      ['2011-12-31', 24],
    ]);
  });
});

describe('periods', () => {
  it('start on Monday, on the first of the month, and at the full hour of the clock', () => {
    expect(listHours('UTC', 'weekly', '2026-11-19T12:00Z', '2026-11-24T06:00Z')).toEqual([
      ['2026-11-16', 84],
      ['2026-11-23', 30],
    ]);
    expect(listHours('UTC', 'weekly', '2026-11-22T12:00Z', '2026-11-23T06:00Z')).toEqual([
      ['2026-11-16', 12],
      ['2026-11-23', 6],
    ]);
    expect(listHours('Europe/Berlin', 'weekly', '2026-10-18T22:00Z', '2026-11-01T23:00Z')).toEqual([
      ['2026-10-19', 169],
      ['2026-10-26', 168],
    ]);
    expect(listHours('UTC', 'monthly', '2028-01-15T00:00Z', '2028-03-02T00:00Z')).toEqual([
      ['2028-01-01', 17 * 24],
      ['2028-02-01', 29 * 24],
      ['2028-03-01', 24],
    ]);
    expect(listHours('Asia/Kolkata', 'hourly', '2026-11-19T12:15Z', '2026-11-19T14:00Z')).toEqual([
      ['2026-11-19T11:30:00.000Z', 0.25],
      ['2026-11-19T12:30:00.000Z', 1],
      ['2026-11-19T13:30:00.000Z', 0.5],
    ]);
  });

  it('an hour that occurs twice is two periods, and a repeated half hour is a period of its own', () => {
    const twice = cut('Europe/Berlin', 'hourly', '2026-10-25T00:00Z', '2026-10-25T03:00Z');
    expect(twice?.map(({ name }) => name.slice(11, 16))).toEqual(['00:00', '01:00', '02:00']);
    const half = listHours('Australia/Lord_Howe', 'hourly', '2026-04-04T14:00Z', '2026-04-04T16:30Z');
    expect(half?.map(([, length]) => length)).toEqual([1, 0.5, 1]);
    expect(new Set(half?.map(([name]) => name)).size).toBe(3);
  });

  it.each(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Australia/Lord_Howe', 'America/Santiago', 'Pacific/Chatham'])(
    'in %s follow one another without gaps or overlaps, and are named in order',
    (zone) => {
      for (const granularity of ['hourly', 'daily', 'weekly', 'monthly'] as const) {
        const from = '2026-01-05T07:45Z';
        const until = granularity === 'hourly' ? '2026-02-12T01:15Z' : '2028-06-01T22:30Z';
        const periods = cut(zone, granularity, from, until) ?? [];
        expect(periods.at(0)?.from).toBe(Date.parse(from));
        expect(periods.at(-1)?.until).toBe(Date.parse(until));
        for (const [i, period] of periods.entries()) {
          expect(period.until).toBeGreaterThan(period.from);
          if (i > 0) expect(period.from).toBe(periods[i - 1]?.until);
          if (i > 0) expect(period.name > String(periods[i - 1]?.name)).toBe(true);
        }
      }
    },
  );

  it('are created up to the maximum, and one more is refused however long the range is', () => {
    const from = '2026-01-01T00:00Z';
    const until = '2026-01-11T00:00Z';
    expect(cut('UTC', 'daily', from, until, 10)).toHaveLength(10);
    expect(cut('UTC', 'daily', from, until, 9)).toBeUndefined();
    for (const granularity of ['hourly', 'daily', 'weekly', 'monthly'] as const) {
      expect(cut('UTC', granularity, '0001-01-01T00:00Z', '9999-12-31T00:00Z')).toBeUndefined();
    }
  });
});

describe('findTimeZone', () => {
  it.each(['Europe/Berlin', 'UTC', 'Etc/GMT+5', 'europe/berlin'])('accepts %s', (name) =>
    expect(findTimeZone(name)?.offsetMs(0)).toBeTypeOf('number'),
  );
  it.each(['', 'Mars/Olympus', '+02:00', '-05', 'UTC;drop', 'Europe/Berlin ', 'x'.repeat(5000)])(
    'does not accept %j',
    (name) => expect(findTimeZone(name)).toBeUndefined(),
  );
});

const DAY = 96;

it('every quarter hour of a range is read exactly once, either by its day or by itself', () => {
  const somewhere = fc.integer({ min: -3 * DAY, max: 60 * DAY });
  fc.assert(
    fc.property(somewhere, fc.integer({ min: 1, max: 20 * DAY }), (first, length) => {
      const period = { from: first * QUARTER_MS, until: (first + length) * QUARTER_MS };
      const read = toSlotRanges([period]).flatMap(({ span, first: from, past }) => {
        const each = span === 15 ? 1 : DAY;
        return Array.from({ length: (past - from) * each }, (_, i) => from * each + i);
      });
      expect(read.toSorted((a, b) => a - b)).toEqual(Array.from({ length }, (_, i) => first + i));
    }),
  );
});

it('a year is read as days, with quarter hours only at its ends', () => {
  const from = 10 * DAY * QUARTER_MS + 7 * QUARTER_MS;
  const ranges = toSlotRanges([{ from, until: from + 365 * DAY * QUARTER_MS }]);
  expect(ranges.map(({ span, first, past }) => [span, past - first])).toEqual([
    [15, 89],
    [1440, 364],
    [15, 7],
  ]);
});
