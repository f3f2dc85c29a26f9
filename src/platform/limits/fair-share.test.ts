import { describe, expect, it, test } from 'vitest';
import { createFairShare, createSlotPool } from './fair-share.ts';
import type { Release } from './semaphore.ts';
import fc from 'fast-check';

/** Claims as the queue does, until every destination is at its limit or nothing is free. */
function fill(countMax: number, destinations: string[], timesFree?: number): Record<string, number> {
  const share = createFairShare(countMax, timesFree);
  const held: Record<string, number> = {};
  for (let isFilling = true; isFilling;) {
    isFilling = false;
    for (const destination of destinations) {
      if (share.free === 0 || !share.fits(destination)) continue;
      share.enter(destination);
      held[destination] = (held[destination] ?? 0) + 1;
      isFilling = true;
    }
  }
  return { ...held, left: share.free };
}

describe('a fair share', () => {
  it('leaves half of the places to the others when one destination is slow', () => {
    expect(fill(100, ['slow.example'])).toEqual({ 'slow.example': 50, left: 50 });
  });

  it('leaves a part to the others when several destinations are slow', () => {
    expect(fill(100, ['a.example', 'b.example', 'c.example'])).toEqual({
      'a.example': 25,
      'b.example': 25,
      'c.example': 25,
      left: 25,
    });
  });

  it('lets each destination use a multiple of what is free', () => {
    expect(fill(90, ['a.example'], 2)).toEqual({ 'a.example': 60, left: 30 });
    expect(fill(90, ['a.example', 'b.example'], 2)).toEqual({ 'a.example': 36, 'b.example': 36, left: 18 });
  });

  it('has a place for one destination even when there is only one', () => {
    expect(fill(1, ['a.example'])).toEqual({ 'a.example': 1, left: 0 });
  });

  it('is empty again when all have left', () => {
    const share = createFairShare(2);
    share.enter('a.example');
    expect(share.atLimit()).toEqual(['a.example']);
    share.leave('a.example');
    expect([share.used, share.free, share.atLimit()]).toEqual([0, 2, []]);
  });
});

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** Records who got through, in order, and offers to give their shares back. */
function tenants(capacity: number) {
  const budget = createFairShare(capacity);
  const through: string[] = [];
  const given = new Map<string, Release>();
  return {
    budget,
    through,
    take(name: string, amount: number): void {
      const tenant = name.slice(0, 1);
      void budget.acquire(tenant, amount).then((release) => {
        through.push(name);
        given.set(name, release);
      });
    },
    give: (name: string): void => given.get(name)?.(),
  };
}

describe('a fair share with waiting callers', () => {
  it('gives one tenant up to a half, another one half of the remainder, and leaves a part to the others', async () => {
    const { take, through, budget } = tenants(64);
    for (let n = 0; n < 20; n++) take(`a${n}`, 4);
    for (let n = 0; n < 20; n++) take(`b${n}`, 4);
    take('c0', 4);
    await turn();
    const count = (tenant: string): number => through.filter((name) => name.startsWith(tenant)).length;
    expect([count('a'), count('b'), count('c')]).toEqual([8, 4, 1]);
    expect(budget.used).toBe(52);
  });

  it('makes a tenant wait only for its own earlier requests, in the order of asking', async () => {
    const { take, give, through } = tenants(16);
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

  it('has no remainder of fractions when everything is released', async () => {
    const { budget } = tenants(16);
    const taken = [budget.tryAcquire('a', 0.1), budget.tryAcquire('a', 0.2), await budget.acquire('a', 0.3)];
    for (const release of taken) release?.();
    expect(budget.used).toBe(0);
  });

  it('counts a request larger than a quarter as a quarter, so that it can be granted', async () => {
    const { take, through, budget } = tenants(16);
    take('a0', 1000);
    await turn();
    expect([through, budget.used]).toEqual([['a0'], 4]);
  });

  it('does not let smaller requests overtake a large one forever', async () => {
    const { take, give, through } = tenants(64);
    const holders = [...'abcdefghijklmnopqrstuvw'];
    for (const tenant of holders) take(`${tenant}0`, 2);
    take('x0', 2);
    take('y0', 2);
    await turn();
    take('z0', 16);
    // Each gives back what it holds and at once wants as much again: there is always room for 2 and never for 16.
    for (let round = 1; round < 40 && !through.includes('z0'); round++) {
      for (const tenant of holders) {
        give(`${tenant}${round - 1}`);
        take(`${tenant}${round}`, 2);
        await turn();
      }
    }
    expect(through).toContain('z0');
  });

  it('grants nothing immediately while others wait or when there is no room', async () => {
    const { budget, take } = tenants(16);
    const first = budget.tryAcquire('a', 4);
    expect(first).toBeDefined();
    expect(budget.tryAcquire('a', 4)).toBeDefined();
    expect(budget.tryAcquire('a', 4)).toBeUndefined();
    expect(budget.tryAcquire('b', 5)).toBeUndefined();
    take('a1', 4);
    await turn();
    expect(budget.tryAcquire('b', 4)).toBeUndefined();
    first?.();
    await turn();
    expect(budget.tryAcquire('b', 4)).toBeDefined();
  });

  it('never grants more than there is, and serves every caller in the end', async () => {
    const wish = fc.record({ tenant: fc.constantFrom('a', 'b', 'c', 'd'), amount: fc.integer({ min: 1, max: 40 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(wish, { minLength: 1, maxLength: 60 }),
        fc.infiniteStream(fc.nat()),
        async (all, dice) => {
          const budget = createFairShare(100);
          const holding: Release[] = [];
          let served = 0;
          for (const { tenant, amount } of all) {
            void budget.acquire(tenant, amount).then((release) => {
              served++;
              holding.push(release);
            });
          }
          while (served < all.length) {
            await turn();
            expect(budget.used).toBeLessThanOrEqual(100);
            const [one] = holding.splice((dice.next().value ?? 0) % Math.max(1, holding.length), 1);
            expect(one).toBeDefined();
            one?.();
          }
          for (const release of holding) release();
          expect(budget.used).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });
});

/** Endpoints named by team and number, such as `a1`: what each asked for and was given. */
function stage(shared: number) {
  const slots = createSlotPool(shared);
  const given: string[] = [];
  const underWay = new Map<string, number>();
  const waiting = new Set<string>();
  const toTeam = (endpoint: string): string => endpoint.charAt(0);
  const ask = async (endpoint: string): Promise<void> => {
    waiting.add(endpoint);
    const acquired = slots.acquire(toTeam(endpoint), endpoint).then(() => {
      waiting.delete(endpoint);
      given.push(endpoint);
      underWay.set(endpoint, (underWay.get(endpoint) ?? 0) + 1);
    });
    await Promise.race([acquired, new Promise(setImmediate)]);
  };
  /** Asks until it has to wait; answers how many it has under way then. */
  const askAll = async (endpoint: string): Promise<number> => {
    while (!waiting.has(endpoint)) await ask(endpoint);
    return underWay.get(endpoint) ?? 0;
  };
  const end = async (endpoint: string): Promise<void> => {
    underWay.set(endpoint, (underWay.get(endpoint) ?? 0) - 1);
    slots.release(endpoint);
    await new Promise(setImmediate);
  };
  return { ask, askAll, end, given, underWay, waiting };
}

test('each endpoint has one request of its own, although nothing is shared or everything is taken', async () => {
  const { askAll } = stage(0);
  for (const endpoint of ['a1', 'a2', 'b1']) expect(await askAll(endpoint)).toBe(1);
});

test('an endpoint gets its own request back when its last one ends, however many others wait', async () => {
  const { ask, askAll, end, given } = stage(0);
  for (const endpoint of ['a1', 'a2', 'b1']) await askAll(endpoint);
  given.length = 0;
  await end('b1');
  expect(given).toEqual(['b1']);
  await end('a2');
  await ask('a2');
  expect(given).toEqual(['b1', 'a2']);
});

test('a team alone can use half of the shared requests, and later teams still find some, however long those are used', async () => {
  const { askAll } = stage(256);
  let sum = 0;
  for (let n = 0; n < 10; n++) sum += await askAll(`a${n}`);
  expect(sum).toBe(128 + 10);
  expect(await askAll('b0')).toBe(64 + 1);
  expect(await askAll('c0')).toBe(32 + 1);
});

test('a shared request that becomes free goes to the team with the fewest', async () => {
  const { ask, askAll, end, given } = stage(8);
  for (let i = 0; i < 5; i++) await ask('a1');
  for (let i = 0; i < 3; i++) await ask('b1');
  for (const endpoint of ['a1', 'b1']) await askAll(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['b1']);
});

test('a shared request that becomes free goes to the endpoint with the fewest within its team', async () => {
  const { ask, askAll, end, given } = stage(8);
  for (const endpoint of ['a1', 'a1', 'a1', 'a1', 'a2', 'a2']) await ask(endpoint);
  for (const endpoint of ['a1', 'a2']) await askAll(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['a2']);
});

test('among teams with equal shares, the one that waits longest is first', async () => {
  const { ask, end, given } = stage(2);
  for (const endpoint of ['a1', 'a1', 'b1', 'b1', 'c1', 'c2']) await ask(endpoint);
  for (const endpoint of ['c2', 'c1']) await ask(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['c2']);
});

test('in any order of events the limit holds, nobody waits needlessly, and in the end all requests are free', async () => {
  const steps = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.boolean()), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 20 }), steps, async (slots, all) => {
      const { ask, askAll, end, underWay, waiting } = stage(slots);
      const endpoints = Array.from({ length: 6 }, (_, n) => `${'abc'.charAt(n % 3)}${n}`);
      const shared = (): number => endpoints.reduce((sum, at) => sum + Math.max(0, (underWay.get(at) ?? 0) - 1), 0);
      for (const [n, isAsking] of all) {
        const endpoint = endpoints[n] ?? '';
        if (isAsking && !waiting.has(endpoint)) await ask(endpoint);
        else if ((underWay.get(endpoint) ?? 0) > 0) await end(endpoint);
        expect(shared()).toBeLessThanOrEqual(slots);
        for (const at of waiting) expect(underWay.get(at)).toBeGreaterThan(0);
      }
      for (const at of endpoints) while ((underWay.get(at) ?? 0) > 0) await end(at);
      expect([...waiting]).toEqual([]);
      expect(await askAll('d9')).toBe(Math.ceil(slots / 2) + 1);
    }),
    { numRuns: 50 },
  );
});
