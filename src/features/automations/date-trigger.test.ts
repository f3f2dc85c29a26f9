import { describe, expect, it } from 'vitest';
import { findTimeZone, type TimeZone } from '../../protocol/time-zone.ts';
import { readDate } from '../../protocol/written-date.ts';
import { findNext, findStart, formatDay, listDays, listTextsOn, type DateTrigger } from './date-trigger.ts';

const zone = (name: string): TimeZone => {
  const found = findTimeZone(name);
  if (!found) throw new Error(`no time zone ${name}`);
  return found;
};
const yearly: DateTrigger = { repeat: 'yearly', days: 0, hour: 9 };
const day = (text: string): number => Date.parse(`${text}T00:00:00Z`);
const next = (text: string, trigger: Partial<DateTrigger>, after: string, where = 'UTC') => {
  const date = readDate(text);
  if (!date) throw new Error(`${text} is no date`);
  const found = findNext(date, { ...yearly, ...trigger }, { zone: zone(where), after: Date.parse(after) });
  return found && [formatDay(found.day), new Date(found.at).toISOString()];
};

describe('readDate', () => {
  it.each([
    ['1990-05-17', { year: 1990, month: 5, day: 17 }],
    ['05-17', { year: null, month: 5, day: 17 }],
    ['02-29', { year: null, month: 2, day: 29 }],
    ['2024-02-29', { year: 2024, month: 2, day: 29 }],
    ['0001-01-01', { year: 1, month: 1, day: 1 }],
  ])('reads %s', (text, date) => {
    expect(readDate(text)).toEqual(date);
  });

  it.each([
    '',
    '2023-02-29',
    '1990-13-01',
    '1990-00-10',
    '04-31',
    '17.05.1990',
    '1990-5-17',
    '1990-05-17T00:00:00Z',
    ' 05-17',
  ])('refuses %j', (text) => {
    expect(readDate(text)).toBeUndefined();
  });
});

describe('the texts of dates that occur on a day', () => {
  it('are that day alone for a date that occurs once', () => {
    expect(listTextsOn(day('2026-11-30'), { repeat: 'once' })).toEqual(['2026-11-30']);
  });

  it('are the dates of 150 earlier years and the date without a year for anniversaries', () => {
    const texts = listTextsOn(day('2026-11-30'), yearly);
    expect(texts).toHaveLength(151);
    expect(texts.slice(0, 3)).toEqual(['11-30', '2025-11-30', '2024-11-30']);
    expect(texts).not.toContain('2026-11-30');
  });

  it('include 29 February on 28 February of a year without a leap day, and only then', () => {
    const texts = listTextsOn(day('2026-02-28'), yearly);
    expect(texts).toContain('02-29');
    expect(texts).toContain('1996-02-29');
    expect(texts).not.toContain('1995-02-29');
    expect(listTextsOn(day('2028-02-28'), yearly)).not.toContain('02-29');
    expect(listTextsOn(day('2028-02-29'), yearly)).toContain('1996-02-29');
  });

  it('contain every date on exactly one day of each later year', () => {
    for (const year of [2026, 2028]) {
      const days = Array.from({ length: 366 }, (_, i) => day(`${year}-01-01`) + i * 86_400_000).filter(
        (one) => new Date(one).getUTCFullYear() === year,
      );
      const counts = new Map<string, number>();
      for (const one of days)
        for (const text of listTextsOn(one, yearly)) counts.set(text, (counts.get(text) ?? 0) + 1);
      expect(new Set(counts.values())).toEqual(new Set([1]));
      expect([...counts.keys()].filter((text) => text.length === 5)).toHaveLength(366);
    }
  });
});

describe('the start of a run', () => {
  it('is at the hour of the time zone, before or after the date', () => {
    const start = (trigger: Partial<DateTrigger>, where: string) =>
      new Date(findStart(day('2026-11-30'), { ...yearly, ...trigger }, zone(where))).toISOString();
    expect(start({}, 'Europe/Berlin')).toBe('2026-11-30T08:00:00.000Z');
    expect(start({ days: -3, hour: 0 }, 'Pacific/Kiritimati')).toBe('2026-11-26T10:00:00.000Z');
    expect(start({ days: 2, hour: 23 }, 'Pacific/Niue')).toBe('2026-12-03T10:00:00.000Z');
  });

  it('is the moment of the jump when the clocks skip the hour', () => {
    const at = findStart(day('2026-03-29'), { ...yearly, hour: 2 }, zone('Europe/Berlin'));
    expect(new Date(at).toISOString()).toBe('2026-03-29T01:00:00.000Z');
  });

  it('is on one of the days that are searched for its time, in every time zone', () => {
    for (const where of ['Pacific/Kiritimati', 'Pacific/Niue', 'Asia/Kathmandu', 'Europe/Berlin', 'UTC']) {
      for (const trigger of [yearly, { ...yearly, days: -365, hour: 23 }, { ...yearly, days: 30, hour: 0 }]) {
        const at = findStart(day('2026-11-30'), trigger, zone(where));
        expect(listDays(trigger, { from: at - 1, to: at })).toContain(day('2026-11-30'));
        expect(listDays(trigger, { from: at - 1, to: at }).length).toBeLessThanOrEqual(3);
      }
    }
  });
});

describe('the next occurrence', () => {
  it('is this year or the next, and never in the year of the date itself', () => {
    expect(next('1990-12-01', {}, '2026-11-30T00:00:00Z')).toEqual(['2026-12-01', '2026-12-01T09:00:00.000Z']);
    expect(next('12-01', {}, '2026-12-01T09:00:00Z')).toEqual(['2027-12-01', '2027-12-01T09:00:00.000Z']);
    expect(next('2026-12-01', {}, '2026-11-30T00:00:00Z')).toEqual(['2027-12-01', '2027-12-01T09:00:00.000Z']);
    expect(next('2030-01-01', { days: -3 }, '2026-11-30T00:00:00Z')?.[1]).toBe('2030-12-29T09:00:00.000Z');
  });

  it('is found for triggers up to a year before and after the date', () => {
    expect(next('01-02', { days: -365 }, '2026-11-30T00:00:00Z')).toEqual(['2028-01-02', '2027-01-02T09:00:00.000Z']);
    expect(next('12-31', { days: 365 }, '2026-11-30T00:00:00Z')).toEqual(['2025-12-31', '2026-12-31T09:00:00.000Z']);
  });

  it('of 29 February is 28 February in a year without a leap day', () => {
    expect(next('1996-02-29', {}, '2026-11-30T00:00:00Z')?.[0]).toBe('2027-02-28');
    expect(next('02-29', {}, '2027-03-01T00:00:00Z')?.[0]).toBe('2028-02-29');
  });

  it('of a date that occurs once is the date, until it has passed', () => {
    const once = { repeat: 'once', days: -7 } as const;
    expect(next('2026-12-24', once, '2026-11-30T00:00:00Z')).toEqual(['2026-12-24', '2026-12-17T09:00:00.000Z']);
    expect(next('2026-12-01', once, '2026-11-30T00:00:00Z')).toBeUndefined();
    expect(next('12-24', once, '2026-11-30T00:00:00Z')).toBeUndefined();
  });
});
