import { expect, it } from 'vitest';
import { isoTime, systemClock } from './index.ts';

it('a timer fires after its delay, and a cancelled one never', async () => {
  const fired: string[] = [];
  const cancel = systemClock.timer(1, () => fired.push('cancelled'));
  cancel();
  // A timer of ours does not keep the process up; here the test runner does.
  await new Promise<void>((done) => void systemClock.timer(5, done));
  expect(fired).toEqual([]);
});

it.each([2 ** 31, 2 ** 53, Infinity])('a delay of %d ms is a long time, not none', (delayMs) => {
  let fired = false;
  const cancel = systemClock.timer(delayMs, () => (fired = true));
  return new Promise<void>((done) => void systemClock.timer(20, done)).then(() => {
    cancel();
    expect(fired).toBe(false);
  });
});

it('now is a whole number of milliseconds', () => {
  expect(Number.isInteger(systemClock.now())).toBe(true);
});

it('a time is written in UTC with milliseconds', () => {
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z');
  expect(isoTime(1_700_000_000_001)).toBe('2023-11-14T22:13:20.001Z');
});
