import { describe, expect, it } from 'vitest';
import {
  beginDay,
  computeAllowance,
  newDay,
  sumIndependent,
  type DayResults,
  type Schedule,
  type WarmUpDay,
} from './schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-30T00:00:00Z');
const SCHEDULE: Schedule = { daily: [50, 100, 200], percent: 100, hours: 8, idleDays: 30 };
const QUIET: DayResults = { accepted: 50, bounced: 0, complained: 0, mistrusted: 0 };

const next = (
  before: Partial<WarmUpDay>,
  more: { results?: Partial<DayResults>; days?: number; isPaused?: boolean } = {},
) => {
  const { results = {}, days = 1, isPaused = false } = more;
  return beginDay(
    { ...newDay(NOW), ...before },
    { now: NOW + days * DAY, results: { ...QUIET, ...results }, schedule: SCHEDULE, isPaused },
  );
};

describe('a new day of a warm-up', () => {
  it('a day on which half of the limit was used counts as a step', () => {
    expect(next({ used: 25 })).toMatchObject({ level: 1, used: 0, judged: 'good' });
    expect(next({ used: 24 })).toMatchObject({ level: 0, judged: 'little' });
  });

  it('a day of a warm-up does not begin twice', () => {
    const before = { ...newDay(NOW), used: 50 };
    const results = { now: NOW + DAY - 1, results: QUIET, schedule: SCHEDULE, isPaused: false };
    expect(beginDay(before, results)).toBe(before);
  });

  it.each([
    ['replies about reputation', { mistrusted: 3 }],
    ['bounces', { bounced: 10 }],
    ['complaints', { complained: 2 }],
  ])('a day with many %s takes a step back', (_, results) => {
    expect(next({ level: 2, used: 200 }, { results })).toMatchObject({ level: 1, judged: 'bad' });
    expect(next({ level: 0, used: 50 }, { results })).toMatchObject({ level: 0, judged: 'bad' });
  });

  it('the steps after bad days take two, four and at most eight good days, and fewer again with each step', () => {
    const good = { used: 200, day: newDay(NOW).day } as const;
    let now = next({ level: 2, used: 200 }, { results: { bounced: 20 } });
    expect(now).toMatchObject({ level: 1, days_left: 2, bad_days: 1 });
    now = next({ ...now, ...good });
    expect(now).toMatchObject({ level: 1, days_left: 1 });
    now = next({ ...now, ...good });
    expect(now).toMatchObject({ level: 2, days_left: 1, bad_days: 0 });
    for (let count = 0; count < 5; count++) now = next({ ...now, ...good }, { results: { bounced: 20 } });
    expect(now).toMatchObject({ level: 0, days_left: 8, bad_days: 3 });
    for (let count = 0; count < 8; count++) now = next({ ...now, ...good });
    expect(now).toMatchObject({ level: 1, days_left: 4, bad_days: 2 });
  });

  it('a few bounces, complaints and refusals are accidents', () => {
    const results = { accepted: 1000, mistrusted: 2, bounced: 9, complained: 1 };
    expect(next({ used: 50 }, { results })).toMatchObject({ judged: 'good' });
  });

  it('a day on which half of a few messages were refused is bad', () => {
    expect(next({ level: 2, used: 200 }, { results: { accepted: 1, mistrusted: 1 } })).toMatchObject({ judged: 'bad' });
    expect(next({ level: 2, used: 200 }, { results: { accepted: 2, mistrusted: 1 } })).toMatchObject({
      judged: 'good',
    });
  });

  it.each([
    [[100], 0],
    [[100, 100], 0],
    [[100, 100, 1], 3],
    [[1, 50, 4, 4], 13],
  ])('of refusals by receivers of %j, %i count', (counts, sum) => {
    expect(sumIndependent(counts)).toBe(sum);
  });

  it('a day in the future is replaced by today, on which what was sent counts', () => {
    const wrong = { level: 1, day: newDay(NOW).day + 21, used: 30, hour: newDay(NOW).hour + 480, hour_used: 5 };
    const today = newDay(NOW + DAY);
    expect(next(wrong)).toMatchObject({ ...wrong, day: today.day, hour: today.hour });
    expect(next(wrong, { results: { mistrusted: 3 } })).toMatchObject({ level: 0, day: today.day, judged: 'bad' });
  });

  it('a day that has begun by a clock that is a little ahead goes on', () => {
    const before = { ...newDay(NOW), used: 5 };
    const behind = { now: NOW - 1000, results: QUIET, schedule: SCHEDULE, isPaused: false };
    expect(beginDay(before, behind)).toBe(before);
  });

  it('a warm-up begins again after thirty days without mail', () => {
    expect(next({ level: 2, used: 200 }, { days: 30 })).toMatchObject({ level: 3 });
    expect(next({ level: 2, used: 200 }, { days: 31 })).toMatchObject({ level: 0, judged: 'idle' });
  });

  it('a paused warm-up keeps its level, but takes a step back after a bad day', () => {
    expect(next({ level: 1, used: 100 }, { isPaused: true })).toMatchObject({ level: 1, judged: 'paused' });
    expect(next({ level: 1, used: 100 }, { isPaused: true, results: { bounced: 20 } })).toMatchObject({ level: 0 });
  });
});

describe('the allowance of a source', () => {
  const allow = (day: Partial<WarmUpDay>, { at = NOW, isMarketing = false, schedule = SCHEDULE } = {}) =>
    computeAllowance(schedule, { ...newDay(NOW), ...day }, { now: at, isMarketing });

  it('the allowance of an hour is an eighth of that of the day', () => {
    expect(allow({})).toEqual({ kind: 'limited', free: 7, until: NOW + HOUR, daily: 50, hourly: 7 });
    expect(allow({ used: 7, hour_used: 7 })).toMatchObject({ free: 0, until: NOW + HOUR });
    expect(allow({ used: 7, hour_used: 7 }, { at: NOW + HOUR })).toMatchObject({ free: 7 });
    expect(allow({ used: 50 }, { at: NOW + 12 * HOUR })).toMatchObject({ free: 0, until: NOW + DAY });
  });

  it('a tenth of each hour and each day is kept for transactional mail', () => {
    const busy = { level: 2, used: 160, hour_used: 23 };
    expect(allow(busy, { isMarketing: true })).toMatchObject({ free: 0 });
    expect(allow(busy)).toMatchObject({ free: 2 });
    expect(allow({ level: 2, used: 180 }, { at: NOW + 20 * HOUR, isMarketing: true })).toMatchObject({ free: 0 });
    expect(allow({ level: 2, used: 180 }, { at: NOW + 20 * HOUR })).toMatchObject({ free: 20 });
  });

  it('a source has no limit after the last day of the schedule', () => {
    expect(allow({ level: 3 })).toEqual({ kind: 'unlimited' });
  });

  it('a provider that trusts more slowly gets a smaller allowance, but at least one message', () => {
    expect(allow({}, { schedule: { ...SCHEDULE, percent: 40 } })).toMatchObject({ daily: 20 });
    expect(allow({}, { schedule: { ...SCHEDULE, percent: 1 } })).toMatchObject({ daily: 1, hourly: 1, free: 1 });
  });
});
