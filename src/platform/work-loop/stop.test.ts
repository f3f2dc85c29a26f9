import { expect, test } from 'vitest';
import { heldClaim, POLL_MS, settle, stage } from './loop-stage.test-helper.ts';

test('a loop that was never started or has stopped stops at once and does nothing more', async () => {
  const { loop, clock, claims } = stage();
  await loop.stop(10_000);
  expect(loop.state()).toBe('stopped');
  await loop.stop(10_000);
  loop.wake();
  await settle();
  expect([claims.length, clock.pending()]).toEqual([0, []]);
});

test('a loop that is stopped while it waits has no timer left', async () => {
  const { loop, clock, claims } = stage();
  loop.start();
  await settle();
  await loop.stop(10_000);
  await clock.pass(10 * POLL_MS);
  expect([loop.state(), claims.length, clock.pending()]).toEqual(['stopped', 1, []]);
});

test('a loop that is stopped during a claim starts nothing and releases what it claimed, and a failing claim does not keep it from stopping', async () => {
  for (const isWoken of [false, true]) {
    const { asked, claim } = heldClaim();
    const given: string[] = [];
    const releaseUnstarted = async (items: readonly string[]): Promise<void> => void given.push(...items);
    const { loop, carried } = stage({ claim, releaseUnstarted });
    loop.start();
    if (isWoken) loop.wake();
    const stopped = loop.stop(0);
    expect(loop.state()).toBe('stopping');
    asked[0]?.resolve({ items: ['a', 'b'], left: 'more' });
    await stopped;
    expect([loop.state(), given, carried, asked.length]).toEqual(['stopped', ['a', 'b'], [], 1]);
  }
  const failing = stage({ claim: () => Promise.reject(new Error('planted')) });
  failing.loop.start();
  await failing.loop.stop(0);
  expect([failing.loop.state(), failing.clock.pending()]).toEqual(['stopped', []]);
});

test('a loop that is stopped while it rests claims nothing more', async () => {
  const { loop, claims } = stage({ rest: { perLook: 1e9, msMax: 20 } });
  loop.start();
  await settle();
  expect(loop.state()).toBe('resting');
  loop.wake();
  await loop.stop(0);
  expect([loop.state(), claims.length]).toEqual(['stopped', 1]);
});

test('items in progress may end within the grace period, and are interrupted after it', async () => {
  const { loop, clock, due, claims, end } = stage();
  due.push('a', 'b');
  loop.start();
  await settle();
  let isStopped = false;
  const stopped = loop.stop(5000).then(() => (isStopped = true));
  await end('a');
  await clock.pass(4999);
  expect([isStopped, loop.inFlight(), loop.state()]).toEqual([false, 1, 'stopping']);
  await clock.pass(1);
  await stopped;
  expect([loop.inFlight(), loop.state(), claims.length]).toEqual([0, 'stopped', 1]);
});

test('items in progress are interrupted at once without a grace period, also by a second stop', async () => {
  const { loop, due } = stage();
  due.push('a');
  loop.start();
  await settle();
  const patient = loop.stop(60_000);
  await loop.stop(0);
  await patient;
  expect(loop.state()).toBe('stopped');
});
