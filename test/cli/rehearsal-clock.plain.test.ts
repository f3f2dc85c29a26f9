import { expect, it } from 'vitest';
import { createRehearsalClock } from '../../bin/simulate/rehearsal-clock.ts';
import { createManualClock } from '../rig/clock.ts';

it('the clock of a rehearsal runs faster, and timers keep their simulated time when its speed changes', () => {
  const base = createManualClock();
  const begun = base.now();
  const clock = createRehearsalClock(10, base);
  const fired: [string, number][] = [];
  const note = (name: string) => (): void => void fired.push([name, clock.now() - begun]);
  clock.timer(1000, note('first'));
  clock.timer(60_000, note('second'));
  clock.timer(60_000, note('canceled'))();
  base.advance(99);
  expect([fired, clock.now() - begun, clock.steady()]).toEqual([[], 990, 990]);
  base.advance(1);
  clock.setSpeed(100);
  base.advance(589);
  expect(fired).toEqual([['first', 1000]]);
  base.advance(1);
  expect(fired).toEqual([
    ['first', 1000],
    ['second', 60_000],
  ]);
});
