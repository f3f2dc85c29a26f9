import { expect, test } from 'vitest';
import { nextTurn } from './clock.ts';
import { measureLoopDelay } from './loop-delay.ts';

/** Blocks the event loop. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('turns that block the event loop are measured as its delay', async () => {
  const delay = measureLoopDelay();
  expect(delay.recentMs()).toBe(0);
  expect(delay.lastMinute()).toBeUndefined();
  for (let n = 0; n < 12; n++) {
    block(40);
    await nextTurn();
    await nextTurn();
  }
  delay.stop();
  expect(delay.recentMs()).toBeGreaterThan(20);
  const { p50, p99, max } = delay.lastMinute() ?? { p50: 0, p99: 0, max: 0 };
  expect(delay.countBeyond(20)).toBeGreaterThan(5);
  expect(delay.countBeyond(max)).toBe(0);
  expect(p50).toBeGreaterThan(20);
  expect(p99).toBeLessThanOrEqual(max);
});
