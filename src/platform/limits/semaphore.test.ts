import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextTurn } from '../clock.ts';
import { createSemaphore, SemaphoreTimeout, type Release } from './semaphore.ts';

it('a semaphore with one permit runs tasks one after the other, round robin by tenant', async () => {
  const executor = createSemaphore(1, nextTurn);
  const done: string[] = [];
  const run = (tenant: string) => executor.run(async () => void done.push(tenant), { tenant });
  const all = [run('a'), run('a'), run('a'), run('a'), run('b'), run('c'), run('b')];
  expect([executor.countWaiting('a'), executor.countWaiting('b'), executor.countWaiting('d')]).toEqual([3, 2, 0]);
  await Promise.all(all);
  expect(done.join('')).toBe('aabcaba');
});

it('the caller of a task gets its result at once, and the next task starts when the pause is over', async () => {
  const pauses: ((value: void) => void)[] = [];
  const seen: boolean[] = [];
  const executor = createSemaphore(1, ({ isWaiting }) => {
    seen.push(isWaiting);
    return new Promise((over) => pauses.push(over));
  });
  let begun = 0;
  const begin = (n: number) => (): number => {
    begun += 1;
    return n;
  };
  const first = executor.run(begin(1));
  const second = executor.run(begin(2));
  expect(await first).toBe(1);
  expect([begun, seen]).toEqual([1, [true]]);
  pauses[0]?.();
  expect(await second).toBe(2);
  expect(seen).toEqual([true, false]);
});

it('a task that fails lets the next one run', async () => {
  const executor = createSemaphore(2, nextTurn);
  const failing = ['a', 'b', 'c'].map((tenant) =>
    executor.run(
      () => {
        throw new Error(tenant);
      },
      { tenant },
    ),
  );
  const ends = await Promise.allSettled(failing);
  expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  expect(await executor.run(() => 'after')).toBe('after');
});

it('a semaphore runs as many tasks together as fit, round robin by tenant, and runs a task larger than its maximum alone', async () => {
  const turns = createSemaphore(10);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (name: string, amount: number): Promise<void> => {
    const end = await turns.acquire({ tenant: name.slice(0, 1), amount });
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
  // c would fit, and does not overtake a2.
  expect(begun).toEqual(['a1']);
  expect(await end('a1')).toBe(6);
  expect(await end('a1')).toBe(6);
  expect(begun).toEqual(['a1', 'a2']);
  expect(await end('a2')).toBe(10);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(await end('b1')).toBe(5);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

it('a caller that gives up leaves the queue, and those that waited after it continue', async () => {
  const semaphore = createSemaphore(4);
  const stop = new AbortController();
  const first = await semaphore.acquire({ amount: 3 });
  const large = semaphore.acquire({ amount: 4, signal: stop.signal });
  const small = semaphore.acquire();
  expect([semaphore.used, semaphore.waiting]).toEqual([3, 2]);
  stop.abort(new Error('gave up'));
  await expect(large).rejects.toThrow('gave up');
  const second = await small;
  expect([semaphore.used, semaphore.waiting]).toEqual([4, 0]);
  await expect(semaphore.acquire({ signal: stop.signal })).rejects.toThrow('gave up');
  first();
  second();
  second();
  expect(semaphore.used).toBe(0);
});

it('a signal that aborts after the permit was given changes nothing', async () => {
  const semaphore = createSemaphore(1);
  const stop = new AbortController();
  const first = await semaphore.acquire();
  const second = semaphore.acquire({ signal: stop.signal });
  first();
  const release = await second;
  stop.abort();
  expect(semaphore.used).toBe(1);
  release();
  expect(semaphore.used).toBe(0);
});

it('a wait that takes longer than its timeout fails, and frees its place', async () => {
  const semaphore = createSemaphore(1);
  const release = await semaphore.acquire();
  await expect(semaphore.acquire({ timeoutMs: 1 })).rejects.toThrow(SemaphoreTimeout);
  expect(semaphore.waiting).toBe(0);
  const next = semaphore.acquire({ timeoutMs: 60_000 });
  release();
  (await next)();
  expect(semaphore.used).toBe(0);
});

it('in any order of events the semaphore never exceeds its maximum, and serves the remaining callers in turn', async () => {
  const wish = fc.record({
    tenant: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 12 }),
    givesUp: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { minLength: 1, maxLength: 40 }), async (wishes) => {
      const semaphore = createSemaphore(10);
      const holding: Release[] = [];
      const stop = new AbortController();
      const served = new Map<string, number[]>();
      let left = wishes.length;
      wishes.forEach(({ tenant, amount, givesUp }, n) => {
        const signal = givesUp ? stop.signal : undefined;
        semaphore.acquire({ tenant, amount, signal }).then(
          (release) => {
            left--;
            served.set(tenant, [...(served.get(tenant) ?? []), n]);
            holding.push(release);
          },
          () => left--,
        );
      });
      for (let round = 0; left > 0; round++) {
        await nextTurn();
        expect(semaphore.used).toBeLessThanOrEqual(10);
        if (round === 1) stop.abort();
        holding.shift()?.();
      }
      for (const release of holding) release();
      expect([semaphore.used, semaphore.waiting]).toEqual([0, 0]);
      for (const order of served.values()) expect(order).toEqual(order.toSorted((a, b) => a - b));
    }),
    { numRuns: 50 },
  );
});
