import { expect, it } from 'vitest';
import { isoTime, nextTurn, repeat, systemClock } from './clock.ts';

it('a timer fires after its delay, and a canceled timer never fires', async () => {
  const fired: string[] = [];
  const cancel = systemClock.timer(1, () => fired.push('cancelled'));
  cancel();
  // Our timers do not keep the process up; here the test runner does.
  await new Promise<void>((done) => void systemClock.timer(5, done));
  expect(fired).toEqual([]);
});

it.each([2 ** 31, 2 ** 53, Infinity])('a delay of %d ms is treated as very long, not as zero', (delayMs) => {
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

it('repeated work never overlaps, and missed ticks are made up for once', async () => {
  const fires: (() => void)[] = [];
  const clock = {
    now: () => 0,
    steady: () => 0,
    timer: (_ms: number, fire: () => void) => (fires.push(fire), () => undefined),
  };
  const ends: (() => void)[] = [];
  let begun = 0;
  let ended = 0;
  const stop = repeat(clock, 10, async () => {
    begun++;
    await new Promise<void>((resolve) => ends.push(resolve));
    ended++;
  });
  const seen: number[][] = [];
  const look = async (act: () => void): Promise<void> => {
    act();
    await nextTurn();
    seen.push([begun, ended]);
  };
  const tick = (): void => fires.at(-1)?.();
  for (let n = 0; n < 3; n++) await look(tick);
  await look(() => ends[0]?.());
  await look(() => ends[1]?.());
  await look(tick);
  await look(tick);
  stop();
  await look(() => ends[2]?.());
  expect(seen).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
    [2, 1],
    [2, 2],
    [3, 2],
    [3, 2],
    [3, 3],
  ]);
});
