import { expect, test } from 'vitest';
import { nextTurn } from './clock.ts';
import { measureLoopDelay } from './loop-delay.ts';

/** Blocks the event loop. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Lets the event loop turn as fast as it can. */
async function runFreely(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until) await nextTurn();
}

test('long turns count by the time that they take, however many short ones are between them', async () => {
  const delay = measureLoopDelay();
  await runFreely(30);
  for (let n = 0; n < 5; n++) {
    block(120);
    await runFreely(60);
  }
  delay.stop();
  // One of six timers, or fewer, was late.
  expect(delay.recentMs()).toBeGreaterThan(60);
  expect(delay.lastMinute()?.p50).toBeGreaterThan(60);
});

test('a single long turn is not what most of the time is like', async () => {
  const delay = measureLoopDelay();
  block(60);
  await runFreely(600);
  delay.stop();
  expect(delay.lastMinute()?.p50).toBeLessThan(60);
  expect(delay.lastMinute()?.p99).toBeGreaterThan(40);
});

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
