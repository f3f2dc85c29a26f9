import { beforeEach, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { collectWhenIdle, thisProcess } from './idle-memory.ts';

const MIB = 1024 * 1024;

let due: (() => void) | undefined;
let busy = 0;
let heap = 0;
let collected = 0;
const clock: Clock = {
  steady: () => 0,
  now: () => 0,
  timer(_, fire) {
    due = fire;
    return () => (due = undefined);
  },
};
const around = {
  busyShare: () => busy,
  heapBytes: () => heap,
  collect() {
    collected++;
    heap = 30 * MIB;
  },
};
async function look(): Promise<number> {
  due?.();
  await Promise.resolve();
  return collected;
}

beforeEach(() => {
  [busy, heap, collected] = [0, 60 * MIB, 0];
});

it('memory is collected once the thread is idle, and not again for what the collection kept', async () => {
  const end = collectWhenIdle(clock, around);
  busy = 0.3;
  expect(await look()).toBe(0);
  busy = 0.01;
  expect(await look()).toBe(1);
  expect(await look()).toBe(1);
  heap = 53 * MIB;
  expect(await look()).toBe(1);
  heap = 54 * MIB;
  expect(await look()).toBe(2);
  end();
  heap = 90 * MIB;
  expect(await look()).toBe(2);
});

it('a process that was started without a flag can collect unreferenced memory, and leaves no global behind', async () => {
  const before = Object.keys(globalThis);
  const gone = new WeakRef({});
  // A new object is held until the task ends.
  await new Promise((done) => setImmediate(done));
  thisProcess().collect();
  expect(gone.deref()).toBeUndefined();
  expect(Object.keys(globalThis)).toEqual(before);
});
