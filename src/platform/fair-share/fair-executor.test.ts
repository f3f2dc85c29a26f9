import { expect, it } from 'vitest';
import { nextTurn } from '../clock/index.ts';
import { createFairExecutor } from './fair-queue.ts';

it('tasks run one after the other, round robin by party', async () => {
  const executor = createFairExecutor(1, nextTurn);
  const done: string[] = [];
  const run = (party: string) => executor.run(party, async () => void done.push(party));
  const all = [run('a'), run('a'), run('a'), run('a'), run('b'), run('c'), run('b')];
  expect([executor.waitingOf('a'), executor.waitingOf('b'), executor.waitingOf('d')]).toEqual([3, 2, 0]);
  await Promise.all(all);
  expect(done.join('')).toBe('aabcaba');
});

it('the caller of a task has its answer at once, and the next task begins when the pause is over', async () => {
  const pauses: ((value: void) => void)[] = [];
  const seen: boolean[] = [];
  const executor = createFairExecutor(1, ({ isWaiting }) => {
    seen.push(isWaiting);
    return new Promise((over) => pauses.push(over));
  });
  let begun = 0;
  const [first, second] = [1, 2].map((n) => executor.run('a', () => ((begun += 1), n)));
  expect(await first).toBe(1);
  expect([begun, seen]).toEqual([1, [true]]);
  pauses[0]?.();
  expect(await second).toBe(2);
  expect(seen).toEqual([true, false]);
});

it('a task that fails lets the next one run', async () => {
  const executor = createFairExecutor(2, nextTurn);
  const failing = ['a', 'b', 'c'].map((party) =>
    executor.run(party, () => {
      throw new Error(party);
    }),
  );
  const ends = await Promise.allSettled(failing);
  expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  expect(await executor.run('a', () => 'after')).toBe('after');
});
