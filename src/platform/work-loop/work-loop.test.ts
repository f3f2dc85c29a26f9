import { expect, test } from 'vitest';
import { nextTurn } from '../clock.ts';
import { heldClaim, NOTHING, POLL_MS, settle, stage } from './loop-stage.test-helper.ts';

test('the loop polls when it is started, when it is woken, and after its interval, and a wake before the start has no effect', async () => {
  const { loop, clock, claims } = stage();
  loop.wake();
  expect([loop.state(), claims.length]).toEqual(['new', 0]);
  loop.start();
  expect(loop.state()).toBe('looking');
  await settle();
  expect([loop.state(), claims.length]).toEqual(['waiting', 1]);
  loop.wake();
  await settle();
  expect(claims).toHaveLength(2);
  await clock.pass(POLL_MS - 1);
  expect(claims).toHaveLength(2);
  await clock.pass(1);
  expect(claims).toHaveLength(3);
  expect(clock.pending()).toEqual([POLL_MS]);
});

test('the loop polls when the next item is due, and at once if that happened meanwhile', async () => {
  const { asked, claim } = heldClaim();
  const { loop, clock } = stage({ claim });
  loop.start();
  asked[0]?.resolve({ ...NOTHING, nextAt: async () => clock.now() + 300 });
  await settle();
  expect(clock.pending()).toEqual([300]);
  await clock.pass(300);
  const dueAt = clock.now() + 5;
  clock.set(dueAt);
  asked[1]?.resolve({ ...NOTHING, nextAt: async () => dueAt });
  await settle();
  expect(asked).toHaveLength(3);
  asked[2]?.resolve({ ...NOTHING, nextAt: async () => clock.now() + 10 * POLL_MS });
  await settle();
  expect(clock.pending()).toEqual([POLL_MS]);
});

test('a poll that took as long as the interval is followed by the next one at once', async () => {
  const { asked, claim } = heldClaim();
  const { loop, clock } = stage({ claim });
  loop.start();
  await clock.pass(POLL_MS);
  asked[0]?.resolve(NOTHING);
  await settle();
  expect([loop.state(), asked.length]).toEqual(['looking', 2]);
});

test('any number of wakes during a poll causes one more poll', async () => {
  const { asked, claim } = heldClaim();
  const { loop } = stage({ claim });
  loop.start();
  for (let i = 0; i < 3; i++) loop.wake();
  expect([loop.state(), asked.length]).toEqual(['woken', 1]);
  asked[0]?.resolve(NOTHING);
  await settle();
  expect([loop.state(), asked.length]).toEqual(['looking', 2]);
  asked[1]?.resolve(NOTHING);
  await settle();
  expect([loop.state(), asked.length]).toEqual(['waiting', 2]);
});

test('a wake that comes after the claim and before the end of the rest is not lost', async () => {
  const { asked, claim } = heldClaim();
  const { loop } = stage({ claim, rest: { perLook: 1000, msMax: 20 } });
  loop.start();
  await nextTurn();
  asked[0]?.resolve(NOTHING);
  await settle();
  expect(loop.state()).toBe('resting');
  loop.wake();
  expect([loop.state(), asked.length]).toEqual(['woken', 1]);
  await expect.poll(() => asked.length).toBe(2);
});

test('a clock that goes backwards delays a poll by no more than the interval', async () => {
  const { loop, clock, claims } = stage();
  loop.start();
  await settle();
  const hourBefore = clock.now() - 3_600_000;
  clock.set(hourBefore);
  loop.wake();
  await settle();
  expect(clock.pending()[0]).toBe(POLL_MS);
  await clock.pass(POLL_MS);
  expect(claims).toHaveLength(3);
});

test('every claimed item is processed once, and more are claimed as long as there are any', async () => {
  const { loop, due, carried, claims, end } = stage({ capacity: () => 2 });
  due.push('a', 'b', 'c');
  loop.start();
  await settle();
  expect(carried).toEqual(['a', 'b', 'c']);
  expect(claims.map(({ limit, inFlight }) => [limit, inFlight])).toEqual([
    [2, []],
    [2, ['a', 'b']],
  ]);
  expect(loop.inFlight()).toBe(3);
  for (const item of ['a', 'b', 'c']) await end(item);
  expect(loop.inFlight()).toBe(0);
});

test('nothing is claimed without room until enough items have ended', async () => {
  let room = 3;
  const { loop, due, carried, end } = stage({ capacity: () => room - loop.inFlight(), endedPerLook: 2 });
  due.push('a', 'b', 'c', 'd', 'e');
  loop.start();
  await settle();
  expect(carried).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(carried).toHaveLength(3);
  await end('b');
  expect(carried).toEqual(['a', 'b', 'c', 'd', 'e']);
  room = 0;
  due.push('f');
  await end('c');
  await end('d');
  expect(carried).toHaveLength(5);
});

test('items that a blocked claim left are claimed when some items in progress have ended', async () => {
  let isBlocked = true;
  const { loop, claims, end } = stage({
    async claim(request) {
      claims.push(request);
      return isBlocked && claims.length === 1 ? { items: ['a', 'b'], left: 'blocked' } : NOTHING;
    },
  });
  loop.start();
  await settle();
  expect(claims).toHaveLength(1);
  isBlocked = false;
  await end('a');
  expect(claims).toHaveLength(2);
  // Nothing was left due, but the last item that ends may have made something due.
  await end('b');
  expect(claims).toHaveLength(3);
});

test('an item that ends during a blocked claim makes the loop poll once more', async () => {
  const { asked, claim } = heldClaim();
  const { loop, end } = stage({ claim });
  loop.start();
  asked[0]?.resolve({ items: ['a', 'b'], left: 'nothing' });
  await settle();
  loop.wake();
  await end('a');
  expect([loop.state(), loop.inFlight()]).toEqual(['looking', 1]);
  asked[1]?.resolve({ items: [], left: 'blocked' });
  await settle();
  expect([loop.state(), asked.length]).toEqual(['looking', 3]);
});

test('repeated failures of claims are logged once a minute, and again after one has succeeded', async () => {
  let isBroken = true;
  const { loop, clock, logged } = stage({
    async claim() {
      if (isBroken) throw new Error('planted');
      return NOTHING;
    },
  });
  const polls = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await clock.pass(POLL_MS);
  };
  loop.start();
  await loop.idle();
  await polls(Math.ceil(60_000 / POLL_MS) - 1);
  expect(logged).toHaveLength(1);
  await polls(1);
  expect(logged).toHaveLength(2);
  isBroken = false;
  await polls(1);
  isBroken = true;
  await polls(1);
  expect(logged).toHaveLength(3);
});

test('a failing claim is logged, and repeated at the next poll', async () => {
  let isBroken = true;
  const { loop, clock, due, carried, logged } = stage({
    async claim() {
      if (isBroken) throw new Error('planted');
      return { items: due.splice(0), left: 'nothing' };
    },
  });
  due.push('a');
  loop.start();
  await loop.idle();
  expect([loop.state(), logged]).toEqual(['waiting', ['test: work could not be claimed']]);
  isBroken = false;
  await clock.pass(POLL_MS);
  expect(carried).toEqual(['a']);
});

test('a failing item is logged, does not stop the others, and is not retried before the next poll', async () => {
  const { loop, clock, due, claims, logged, ends } = stage();
  due.push('a', 'b');
  loop.start();
  await settle();
  ends.get('b')?.reject(new Error('planted'));
  await settle();
  expect([loop.inFlight(), logged]).toEqual([1, ['test: work could not be processed']]);
  ends.get('a')?.reject(new Error('planted'));
  await settle();
  expect([loop.inFlight(), claims.length]).toEqual([0, 1]);
  await clock.pass(POLL_MS);
  expect(claims).toHaveLength(2);
});

test('an item that throws before it returns a promise is handled as a failing item', async () => {
  const { loop, due, logged } = stage({
    process() {
      throw new Error('planted');
    },
  });
  due.push('a');
  loop.start();
  await loop.idle();
  expect([loop.inFlight(), logged.length]).toEqual([0, 1]);
});

test('leases are renewed while items are in progress, and a slow renewal is not started twice and is made up for once', async () => {
  const renewals: { items: readonly string[]; end: PromiseWithResolvers<void> }[] = [];
  const { loop, clock, due } = stage({
    renew: {
      everyMs: 400,
      async work(items) {
        const end = Promise.withResolvers<void>();
        renewals.push({ items, end });
        await end.promise;
      },
    },
  });
  due.push('a');
  loop.start();
  await settle();
  await clock.pass(400 * 3);
  expect(renewals.map(({ items }) => items)).toEqual([['a']]);
  let isIdle = false;
  void loop.idle().then(() => (isIdle = true));
  renewals[0]?.end.resolve();
  await settle();
  expect(renewals).toHaveLength(2);
  const stopped = loop.stop(0);
  await settle();
  expect(isIdle).toBe(false);
  renewals[1]?.end.resolve();
  await stopped;
  await settle();
  expect([isIdle, clock.pending()]).toEqual([true, []]);
});

test('a failing renewal is logged and followed by the next one', async () => {
  let count = 0;
  const { loop, clock, logged } = stage({
    renew: { everyMs: 400, work: () => (count++, Promise.reject(new Error('planted'))) },
  });
  loop.start();
  await clock.pass(800);
  expect([count, logged]).toEqual([2, Array(2).fill('test: leases could not be renewed')]);
});

test('the loop is idle when nothing is claimed, in progress or renewed, and notifies every waiter', async () => {
  const { loop, due, end } = stage();
  await loop.idle();
  due.push('a');
  loop.start();
  const told: number[] = [];
  for (const n of [1, 2]) void loop.idle().then(() => told.push(n));
  await settle();
  expect([told, loop.state()]).toEqual([[], 'waiting']);
  await end('a');
  expect(told).toEqual([1, 2]);
  await loop.idle();
});
