import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock/index.ts';
import { createMessageThread, type MessageThread } from './message-thread.ts';

/** A thread that waits for `restMs` without working, or works without end, and then answers. */
const WORKER = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, order: { restMs } }) => {
    if (restMs === undefined) for (;;);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, restMs);
    parentPort.postMessage({ id, answer: 'read' });
  });`;

interface Order {
  source: Uint8Array;
  restMs?: number;
}

let thread: MessageThread<Order, string> | undefined;
afterEach(() => thread?.close());

const ask = (order: Omit<Order, 'source'>, options: { limitMs: number; patience?: number }): Promise<string> => {
  const url = new URL(`data:text/javascript,${encodeURIComponent(WORKER)}`);
  thread = createMessageThread<Order, string>({ url, clock: systemClock, atOnce: 1, late: () => 'late', ...options });
  return thread.ask('a', { source: Buffer.from('x'), ...order });
};

it('what takes long because the thread does not get to work is waited for, where there is patience', async () => {
  expect(await ask({ restMs: 1500 }, { limitMs: 300, patience: 400 })).toBe('read');
});

it.each([
  ['what rests for longer than the clock allows', { restMs: 60_000 }, { limitMs: 200 }],
  ['what rests for longer than patience goes', { restMs: 60_000 }, { limitMs: 200, patience: 3 }],
  ['what works for longer than its limit, whatever the patience', {}, { limitMs: 200, patience: 100_000 }],
])('%s is late', async (_, order, options) => {
  expect(await ask(order, options)).toBe('late');
});
