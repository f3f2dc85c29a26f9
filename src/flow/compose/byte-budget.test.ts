import { describe, expect, it } from 'vitest';
import { createByteBudget } from './byte-budget.ts';

/** Who got through so far, in order. */
function takers(bytesMax: number): {
  take(name: string, bytes: number): void;
  give(bytes: number): void;
  through: string[];
} {
  const budget = createByteBudget(bytesMax);
  const through: string[] = [];
  return {
    take: (name, bytes) => void budget.take(bytes).then(() => through.push(name)),
    give: (bytes) => budget.give(bytes),
    through,
  };
}

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

describe('the byte budget', () => {
  it('lets through what fits together and nothing more', async () => {
    const { take, give, through } = takers(100);
    take('a', 60);
    take('b', 40);
    take('c', 1);
    await turn();
    expect(through).toEqual(['a', 'b']);
    give(40);
    await turn();
    expect(through).toEqual(['a', 'b', 'c']);
  });

  it('lets one through that is larger than the budget, alone', async () => {
    const { take, give, through } = takers(100);
    take('a', 10);
    take('huge', 500);
    await turn();
    expect(through).toEqual(['a']);
    give(10);
    await turn();
    expect(through).toEqual(['a', 'huge']);
  });

  it('serves in the order of asking, so that a large one is not overtaken for ever', async () => {
    const { take, give, through } = takers(100);
    take('a', 60);
    take('large', 80);
    take('small', 10);
    await turn();
    expect(through).toEqual(['a']);
    give(60);
    await turn();
    expect(through).toEqual(['a', 'large', 'small']);
  });
});
