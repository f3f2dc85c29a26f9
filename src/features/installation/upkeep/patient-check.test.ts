import { expect, it } from 'vitest';
import { createPatientCheck } from './patient-check.ts';

/** Makes a clock whose timers fire when the test advances it, in the order in which they are due. */
function clockByHand() {
  let now = 0;
  let timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    steady: () => now,
    timer(delayMs: number, fire: () => void) {
      const timer = { at: now + delayMs, fire };
      timers.push(timer);
      return () => void (timers = timers.filter((one) => one !== timer));
    },
    advance(ms: number) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
      timers = timers.filter(({ at }) => at > now);
      for (const { fire } of due) fire();
    },
  };
}

/** Makes a check whose every run ends when the test says so. */
function startChecks() {
  const clock = clockByHand();
  const runs: PromiseWithResolvers<void>[] = [];
  const check = createPatientCheck(clock, () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  return { clock, runs, check };
}

it('a slow check repeats its last result, and a check that hangs fails until it finishes', async () => {
  const { clock, runs, check } = startChecks();
  const first = check();
  clock.advance(2000);
  await expect(first).resolves.toBeUndefined();
  const second = check();
  clock.advance(2000);
  await expect(second).resolves.toBeUndefined();
  clock.advance(26_000);
  const hanging = check();
  clock.advance(2000);
  await expect(hanging).rejects.toThrow('no answer within 30000 ms');
  expect(runs).toHaveLength(1);

  const answered = check();
  runs[0]?.reject(new Error('no disk'));
  await expect(answered).rejects.toThrow('no disk');
  expect(runs).toHaveLength(1);
});

it('a failed check repeats its failure while the next run is slow, and recovers with a run that passes', async () => {
  const { clock, runs, check } = startChecks();
  const first = check();
  runs[0]?.reject(new Error('no disk'));
  await expect(first).rejects.toThrow('no disk');
  const second = check();
  clock.advance(2000);
  await expect(second).rejects.toThrow('no disk');
  const third = check();
  runs[1]?.resolve();
  await expect(third).resolves.toBeUndefined();
  expect(runs).toHaveLength(2);
});
