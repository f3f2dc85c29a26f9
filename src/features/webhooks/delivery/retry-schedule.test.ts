import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextTryAt, TRIES_MAX, WAITS_MS } from './endpoint-sender.ts';

test('nine waits stand between ten tries, and none after the tenth', () => {
  const seconds = WAITS_MS.map((_, i) => (nextTryAt(i + 1, 0, () => 0.5) ?? 0) / 1000);
  expect(seconds).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800]);
  expect(TRIES_MAX).toBe(10);
  expect(nextTryAt(10, 0, () => 0.5)).toBeUndefined();
  expect(nextTryAt(11, 0, () => 0.5)).toBeUndefined();
});

test('every wait is a tenth shorter or longer at the most', () => {
  const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(), dice, (tries, now, roll) => {
      const waitMs = (nextTryAt(tries, now, () => roll) ?? 0) - now;
      const planned = WAITS_MS[tries - 1] ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(Math.floor(planned * 0.9));
      expect(waitMs).toBeLessThanOrEqual(Math.ceil(planned * 1.1));
    }),
  );
});
