import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextAttempt } from './retry-schedule.ts';

const minute = 60_000;
const usual = {
  firstAttemptAt: 0,
  scheduleMs: [minute, 5 * minute, 30 * minute],
  giveUpAfterMs: 120 * minute,
  random: () => 0.5,
};

test('the retry schedule is followed, and its last wait repeats', () => {
  expect(nextAttempt({ ...usual, attempt: 1, now: 0 })).toEqual({ at: minute });
  expect(nextAttempt({ ...usual, attempt: 2, now: minute })).toEqual({ at: 6 * minute });
  expect(nextAttempt({ ...usual, attempt: 3, now: 6 * minute })).toEqual({ at: 36 * minute });
  expect(nextAttempt({ ...usual, attempt: 9, now: 36 * minute })).toEqual({ at: 66 * minute });
});

test('the waits vary by at most 15% in both directions', () => {
  expect(nextAttempt({ ...usual, attempt: 3, now: 0, random: () => 0 })).toEqual({ at: 25.5 * minute });
  expect(nextAttempt({ ...usual, attempt: 3, now: 0, random: () => 1 })).toEqual({ at: 34.5 * minute });
});

test('one last attempt is made at the deadline, and none after it', () => {
  expect(nextAttempt({ ...usual, attempt: 6, now: 100 * minute })).toEqual({ at: 120 * minute });
  expect(nextAttempt({ ...usual, attempt: 7, now: 120 * minute })).toEqual({ giveUp: true });
  expect(nextAttempt({ ...usual, attempt: 7, now: 119.9 * minute })).toEqual({ giveUp: true });
});

test('an empty schedule means no retry', () => {
  expect(nextAttempt({ ...usual, scheduleMs: [], attempt: 1, now: 0 })).toEqual({ giveUp: true });
});

test('a clock that went backwards only delays the deadline', () => {
  expect(nextAttempt({ ...usual, firstAttemptAt: 60 * minute, attempt: 1, now: 0 })).toEqual({ at: minute });
});

test('a message whose every attempt fails is tried in order until the deadline and then given up', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1000, max: 10_000_000 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1 }),
      (scheduleMs, draws) => {
        let now = 0;
        const giveUpAfterMs = 50_000_000;
        for (let attempt = 1; attempt < 100_000; attempt += 1) {
          const random = () => draws[attempt % draws.length] ?? 0;
          const next = nextAttempt({ attempt, firstAttemptAt: 0, now, scheduleMs, giveUpAfterMs, random });
          if ('giveUp' in next) {
            expect(giveUpAfterMs - now).toBeLessThan(Math.min(...scheduleMs));
            return;
          }
          expect(next.at).toBeGreaterThan(now);
          expect(next.at).toBeLessThanOrEqual(giveUpAfterMs);
          now = next.at;
        }
        throw new Error('never gave up');
      },
    ),
    { numRuns: 30 },
  );
});
