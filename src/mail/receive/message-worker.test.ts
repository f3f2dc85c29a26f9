import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { createMessageThread, type MessageThread } from './message-worker.ts';

/** A thread that waits for `restMs` without working, or works without end, and then responds. */
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
  const module = new URL(`data:text/javascript,${encodeURIComponent(WORKER)}`);
  thread = createMessageThread<Order, string>({
    module,
    clock: systemClock,
    atOnce: 1,
    late: () => 'late',
    ...options,
  });
  return thread.ask('a', { source: Buffer.from('x'), ...order });
};

it('a message that takes long only because its worker thread gets no CPU time is waited for within the caller’s patience', async () => {
  expect(await ask({ restMs: 1500 }, { limitMs: 300, patience: 400 })).toBe('read');
});

it.each([
  ['a message that waits for longer than its limit', { restMs: 60_000 }, { limitMs: 200 }],
  ['a message that waits for longer than the patience allows', { restMs: 60_000 }, { limitMs: 200, patience: 3 }],
  [
    'a message that is worked on for longer than its limit, whatever the patience,',
    {},
    { limitMs: 200, patience: 100_000 },
  ],
])('%s times out', async (_, order, options) => {
  expect(await ask(order, options)).toBe('late');
});

it('a worker thread that read a large message is stopped when it is idle, and the next message gets a new one', async () => {
  const timers: (() => void)[] = [];
  const clock = {
    now: () => 0,
    steady: () => 0,
    timer: (delayMs: number, fire: () => void) => {
      if (delayMs === 7) timers.push(fire);
      return () => void (delayMs === 7 && timers.splice(timers.indexOf(fire), 1));
    },
  };
  const source = `
    import { parentPort, threadId } from 'node:worker_threads';
    parentPort.on('message', ({ id }) => parentPort.postMessage({ id, answer: threadId }));`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const numbered = createMessageThread<{ source: Uint8Array }, number>({
    module,
    clock,
    limitMs: 60_000,
    atOnce: 1,
    restMs: 7,
    late: () => 0,
  });
  try {
    const first = await numbered.ask('a', { source: Buffer.from('x') });
    expect(timers).toHaveLength(0);
    expect(await numbered.ask('a', { source: Buffer.alloc(2_000_000) })).toBe(first);
    expect(timers).toHaveLength(1);
    // It is idle no more, and then it is again.
    expect(await numbered.ask('a', { source: Buffer.from('x') })).toBe(first);
    expect(timers).toHaveLength(1);
    timers[0]?.();
    expect(await numbered.ask('a', { source: Buffer.from('x') })).not.toBe(first);
    expect(timers).toHaveLength(0);
  } finally {
    await numbered.close();
  }
});
