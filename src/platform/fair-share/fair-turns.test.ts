import { expect, it } from 'vitest';
import { createFairTurns } from './fair-queue.ts';

it('as many go together as fit, round robin by party, and one larger than all goes alone', async () => {
  const turns = createFairTurns(10);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (name: string, amount: number): Promise<void> => {
    const end = await turns.take(name.slice(0, 1), amount);
    begun.push(name);
    ends.set(name, end);
  };
  const end = async (name: string): Promise<number> => {
    ends.get(name)?.();
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return turns.used;
  };
  const wanted: [string, number][] = [
    ['a1', 6],
    ['a2', 6],
    ['b1', 25],
    ['a3', 2],
    ['c1', 2],
    ['b2', 1],
  ];
  for (const [name, amount] of wanted) void take(name, amount);
  expect(await end('')).toBe(6);
  // a2 was the next before another party waited; c would fit, and does not overtake it.
  expect(begun).toEqual(['a1']);
  expect(await end('a1')).toBe(6);
  expect(await end('a1')).toBe(6);
  expect(begun).toEqual(['a1', 'a2']);
  expect(await end('a2')).toBe(10);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(await end('b1')).toBe(5);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'b2']);
});
