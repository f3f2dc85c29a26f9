import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSlotPool } from './fair-share.ts';

/** Endpoints named by team and number, such as `a1`: what each asked for and was given. */
function stage(shared: number) {
  const slots = createSlotPool(shared);
  const given: string[] = [];
  const underWay = new Map<string, number>();
  const waiting = new Set<string>();
  const teamOf = (endpoint: string): string => endpoint.charAt(0);
  const ask = async (endpoint: string): Promise<void> => {
    waiting.add(endpoint);
    const acquired = slots.acquire(teamOf(endpoint), endpoint).then(() => {
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

test('each endpoint has one to itself, although nothing is shared or everything is taken', async () => {
  const { askAll } = stage(0);
  for (const endpoint of ['a1', 'a2', 'b1']) expect(await askAll(endpoint)).toBe(1);
});

test('its own is free for it again when its last one has ended, however many others wait', async () => {
  const { ask, askAll, end, given } = stage(0);
  for (const endpoint of ['a1', 'a2', 'b1']) await askAll(endpoint);
  given.length = 0;
  await end('b1');
  expect(given).toEqual(['b1']);
  await end('a2');
  await ask('a2');
  expect(given).toEqual(['b1', 'a2']);
});

test('a team alone may have half of what is shared, and whoever comes next finds some, however long those are kept', async () => {
  const { askAll } = stage(256);
  let sum = 0;
  for (let n = 0; n < 10; n++) sum += await askAll(`a${n}`);
  expect(sum).toBe(128 + 10);
  expect(await askAll('b0')).toBe(64 + 1);
  expect(await askAll('c0')).toBe(32 + 1);
});

test('one that becomes free goes to the team that has the fewest', async () => {
  const { ask, askAll, end, given } = stage(8);
  for (let i = 0; i < 5; i++) await ask('a1');
  for (let i = 0; i < 3; i++) await ask('b1');
  for (const endpoint of ['a1', 'b1']) await askAll(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['b1']);
});

test('one that becomes free goes to the endpoint of a team that has the fewest', async () => {
  const { ask, askAll, end, given } = stage(8);
  for (const endpoint of ['a1', 'a1', 'a1', 'a1', 'a2', 'a2']) await ask(endpoint);
  for (const endpoint of ['a1', 'a2']) await askAll(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['a2']);
});

test('of those that have as many, the one that waits longest is first', async () => {
  const { ask, end, given } = stage(2);
  for (const endpoint of ['a1', 'a1', 'b1', 'b1', 'c1', 'c2']) await ask(endpoint);
  for (const endpoint of ['c2', 'c1']) await ask(endpoint);
  given.length = 0;
  await end('a1');
  expect(given).toEqual(['c2']);
});

test('whoever comes and goes, no more are under way than there are, nobody waits without need, and in the end all are free', async () => {
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
