import { expect, it } from 'vitest';
import { createGate, createYieldBetween } from './inspector.ts';

const never = new AbortController().signal;

it('lets so many in at one time, and the others in their order', async () => {
  const gate = createGate(2);
  const order: number[] = [];
  const leave: (() => void)[] = [];
  const work = [0, 1, 2, 3].map((n) =>
    gate(never, () => {
      order.push(n);
      return new Promise<void>((done) => leave.push(done));
    }),
  );
  await Promise.resolve();
  expect(order).toEqual([0, 1]);
  leave[0]?.();
  await work[0];
  await expect.poll(() => order).toEqual([0, 1, 2]);
  leave[1]?.();
  await expect.poll(() => order).toEqual([0, 1, 2, 3]);
  for (const done of leave) done();
  await Promise.all(work);
});

it('lets go of whoever waits when its signal ends, and of nobody else', async () => {
  const gate = createGate(1);
  const stop = new AbortController();
  let leave = (): void => undefined;
  const first = gate(never, () => new Promise<void>((done) => (leave = done)));
  const second = gate(stop.signal, () => Promise.resolve(stop.signal.aborted));
  let hasRun = false;
  const third = gate(never, () => {
    hasRun = true;
    return Promise.resolve();
  });
  stop.abort();
  expect(await second).toBe(true);
  leave();
  await Promise.all([first, third]);
  expect(hasRun).toBe(true);
});

it('a fault inside frees its place', async () => {
  const gate = createGate(1);
  await expect(gate(never, () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
  expect(await gate(never, () => Promise.resolve('in'))).toBe('in');
});

it('calls resolve one after the other, with a turn of the event loop between', async () => {
  const yieldBetween = createYieldBetween();
  const order: string[] = [];
  const rounds = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('other work');
    }
  };
  await Promise.all([
    rounds(),
    ...['first', 'second', 'third'].map((name) => yieldBetween().then(() => order.push(name))),
  ]);
  expect(order.filter((name) => name !== 'other work')).toEqual(['first', 'second', 'third']);
  expect(order.indexOf('third') - order.indexOf('first')).toBeGreaterThan(2);
});
