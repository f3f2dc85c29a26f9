import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextTryAt, TRIES_MAX, WAITS_MS, createSendWindow } from './endpoint-sender.ts';

test('there are nine waits between ten attempts, and none after the tenth', () => {
  const seconds = WAITS_MS.map((_, i) => (nextTryAt(i + 1, 0, () => 0.5) ?? 0) / 1000);
  expect(seconds).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800]);
  expect(TRIES_MAX).toBe(10);
  expect(nextTryAt(10, 0, () => 0.5)).toBeUndefined();
  expect(nextTryAt(11, 0, () => 0.5)).toBeUndefined();
});

test('every wait deviates by at most a tenth', () => {
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

const grown = (answers: number, tookMs = 5) => {
  const window = createSendWindow(32);
  for (let i = 0; i < answers; i++) window.succeeded(tookMs, true);
  return window;
};

test('the send window starts at one, doubles with each round, and never exceeds its limit', () => {
  expect(createSendWindow(32).size).toBe(1);
  expect(grown(1).size).toBe(2);
  expect(grown(3).size).toBe(4);
  expect(grown(7).size).toBe(8);
  expect(grown(1000).size).toBe(32);
});

test('the send window does not grow while nothing waits, or when responses are or become slow', () => {
  const window = createSendWindow(32);
  window.succeeded(5, false);
  expect(window.size).toBe(1);
  window.succeeded(5, true);
  window.succeeded(21, true);
  expect(window.size).toBe(2);
  expect(grown(100, 1001).size).toBe(1);
});

test('a failure halves the send window, which then grows by one each round', () => {
  const window = grown(15);
  expect(window.size).toBe(16);
  window.failed();
  expect(window.size).toBe(8);
  for (let i = 0; i < 9; i++) window.succeeded(5, true);
  expect(window.size).toBe(9);
  for (let i = 0; i < 20; i++) window.failed();
  expect(window.size).toBe(1);
});

test('each response that takes more than a second halves the send window, although it is a success', () => {
  const window = grown(31);
  expect(window.size).toBe(32);
  window.succeeded(1000, true);
  expect(window.size).toBe(32);
  window.succeeded(1001, false);
  expect(window.size).toBe(16);
  for (let i = 0; i < 16; i++) window.succeeded(9500, true);
  expect(window.size).toBe(1);
  for (let i = 0; i < 2; i++) window.succeeded(5, true);
  expect(window.size).toBe(2);
});

test('the send window is always a whole number from one to its limit', () => {
  const steps = fc.array(fc.oneof(fc.constant('failed'), fc.nat({ max: 2000 })));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), steps, (max, all) => {
      const window = createSendWindow(max);
      for (const step of all) {
        if (step === 'failed') window.failed();
        else window.succeeded(step as number, true);
        expect(Number.isInteger(window.size)).toBe(true);
        expect(window.size).toBeGreaterThanOrEqual(1);
        expect(window.size).toBeLessThanOrEqual(max);
      }
    }),
  );
});
