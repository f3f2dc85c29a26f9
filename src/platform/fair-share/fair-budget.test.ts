import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairBudget, type GiveBack } from './fair-share.ts';

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** Who got through so far, in order, and how to take it back from them. */
function parties(capacity: number) {
  const budget = createFairBudget(capacity);
  const through: string[] = [];
  const given = new Map<string, GiveBack>();
  return {
    budget,
    through,
    take(name: string, amount: number): void {
      const party = name.slice(0, 1);
      void budget.take(party, amount).then((giveBack) => {
        through.push(name);
        given.set(name, giveBack);
      });
    },
    give: (name: string): void => given.get(name)?.(),
  };
}

describe('a fair budget', () => {
  it('lets one party hold a half, another half of the rest, and leaves something for everybody else', async () => {
    const { take, through, budget } = parties(64);
    for (let n = 0; n < 20; n++) take(`a${n}`, 4);
    for (let n = 0; n < 20; n++) take(`b${n}`, 4);
    take('c0', 4);
    await turn();
    const count = (party: string): number => through.filter((name) => name.startsWith(party)).length;
    expect([count('a'), count('b'), count('c')]).toEqual([8, 4, 1]);
    expect(budget.used).toBe(52);
  });

  it('has a party wait for its own only, in the order of asking', async () => {
    const { take, give, through } = parties(16);
    for (let n = 0; n < 4; n++) take(`a${n}`, 4);
    take('b0', 4);
    await turn();
    expect(through).toEqual(['a0', 'a1', 'b0']);
    give('b0');
    give('b0');
    await turn();
    expect(through).toEqual(['a0', 'a1', 'b0']);
    give('a0');
    await turn();
    expect(through).toEqual(['a0', 'a1', 'b0', 'a2']);
  });

  it('has nothing left of fractions when all is given back', async () => {
    const { budget } = parties(16);
    const taken = [budget.tryTake('a', 0.1), budget.tryTake('a', 0.2), await budget.take('a', 0.3)];
    for (const giveBack of taken) giveBack?.();
    expect(budget.used).toBe(0);
  });

  it('counts what is larger than a quarter as a quarter, so that it gets through', async () => {
    const { take, through, budget } = parties(16);
    take('a0', 1000);
    await turn();
    expect([through, budget.used]).toEqual([['a0'], 4]);
  });

  it('does not let a large wish be overtaken for ever', async () => {
    const { take, give, through } = parties(64);
    const holders = [...'abcdefghijklmnopqrstuvw'];
    for (const party of holders) take(`${party}0`, 2);
    take('x0', 2);
    take('y0', 2);
    await turn();
    take('z0', 16);
    // Each gives back what it holds and at once wants as much again: there is always room for 2 and never for 16.
    for (let round = 1; round < 40 && !through.includes('z0'); round++) {
      for (const party of holders) {
        give(`${party}${round - 1}`);
        take(`${party}${round}`, 2);
        await turn();
      }
    }
    expect(through).toContain('z0');
  });

  it('gives nothing at once while others wait, or where there is no room', async () => {
    const { budget, take } = parties(16);
    const first = budget.tryTake('a', 4);
    expect(first).toBeDefined();
    expect(budget.tryTake('a', 4)).toBeDefined();
    expect(budget.tryTake('a', 4)).toBeUndefined();
    expect(budget.tryTake('b', 5)).toBeUndefined();
    take('a1', 4);
    await turn();
    expect(budget.tryTake('b', 4)).toBeUndefined();
    first?.();
    await turn();
    expect(budget.tryTake('b', 4)).toBeDefined();
  });

  it('never gives more than there is, and serves everybody in the end', async () => {
    const wish = fc.record({ party: fc.constantFrom('a', 'b', 'c', 'd'), amount: fc.integer({ min: 1, max: 40 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(wish, { minLength: 1, maxLength: 60 }),
        fc.infiniteStream(fc.nat()),
        async (all, dice) => {
          const budget = createFairBudget(100);
          const holding: GiveBack[] = [];
          let served = 0;
          for (const { party, amount } of all) {
            void budget.take(party, amount).then((giveBack) => {
              served++;
              holding.push(giveBack);
            });
          }
          while (served < all.length) {
            await turn();
            expect(budget.used).toBeLessThanOrEqual(100);
            const [one] = holding.splice((dice.next().value ?? 0) % Math.max(1, holding.length), 1);
            expect(one).toBeDefined();
            one?.();
          }
          for (const giveBack of holding) giveBack();
          expect(budget.used).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });
});
