import { expect, test } from 'vitest';
import { isRateHigh, RATE_LIMITS } from '../../src/contract/index.ts';
import { loadConfig } from '../../src/platform/config/index.ts';

test('the limits of rates that the console uses are those of the default settings', () => {
  const { broadcasts } = loadConfig({ env: {} }).config;
  expect(RATE_LIMITS).toEqual({
    bounced: { percent: broadcasts.hold_bounce_percent, floor: broadcasts.hold_after },
    complained: { percent: broadcasts.hold_complaint_percent, floor: broadcasts.hold_complaint_after },
  });
});

test('a rate is too high only above the limit, and of enough emails', () => {
  const isHigh = (bad: number, of: number): boolean => isRateHigh({ bad, of }, RATE_LIMITS.bounced);
  expect([isHigh(10, 200), isHigh(11, 200), isHigh(50, 100), isHigh(2, 200)]).toEqual([false, true, false, false]);
});
