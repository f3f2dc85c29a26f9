import { expect, it } from 'vitest';
import { nextTurn } from '../clock/index.ts';
import { createTurns } from './turns.ts';

it('pieces are worked at one after the other, in turns of their parties', async () => {
  const turns = createTurns(1, nextTurn);
  const done: string[] = [];
  const take = (party: string) => turns.take(party, async () => void done.push(party));
  const all = [take('a'), take('a'), take('a'), take('a'), take('b'), take('c'), take('b')];
  expect([turns.waitingOf('a'), turns.waitingOf('b'), turns.waitingOf('d')]).toEqual([3, 2, 0]);
  await Promise.all(all);
  expect(done.join('')).toBe('aabcaba');
});

it('who brought a piece has its answer at once, and the next one begins when the pause is over', async () => {
  const pauses: ((value: void) => void)[] = [];
  const told: boolean[] = [];
  const turns = createTurns(1, ({ isWaiting }) => {
    told.push(isWaiting);
    return new Promise((over) => pauses.push(over));
  });
  let begun = 0;
  const [first, second] = [1, 2].map((n) => turns.take('a', () => ((begun += 1), n)));
  expect(await first).toBe(1);
  expect([begun, told]).toEqual([1, [true]]);
  pauses[0]?.();
  expect(await second).toBe(2);
  expect(told).toEqual([true, false]);
});

it('a piece that fails gives its turn back', async () => {
  const turns = createTurns(2, nextTurn);
  const failing = ['a', 'b', 'c'].map((party) =>
    turns.take(party, () => {
      throw new Error(party);
    }),
  );
  const ends = await Promise.allSettled(failing);
  expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  expect(await turns.take('a', () => 'after')).toBe('after');
});
