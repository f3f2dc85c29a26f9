import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { Content } from './handler.ts';
import { timedContent } from './submission.ts';

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** Content that a test feeds by hand, under a manual clock. */
function arrival() {
  let now = 0;
  let due: { at: number; fire: () => void } | undefined;
  const clock = {
    now: () => now,
    steady: () => now,
    timer(ms: number, fire: () => void) {
      due = { at: now + ms, fire };
      return () => (due = undefined);
    },
  };
  const stream = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false });
  const limits = { clock, timeoutMs: 60_000, bytesPerSecond: 1000, bytesMax: 1_000_000_000 };
  const end = (async (): Promise<string> => {
    try {
      let bytes = 0;
      for await (const piece of timedContent(stream as unknown as Content, limits)) bytes += piece.length;
      return `${bytes} bytes`;
    } catch (error) {
      return (error as Error).message;
    }
  })();
  return {
    stream,
    end,
    async pass(ms: number): Promise<void> {
      const until = now + ms;
      while (due && due.at <= until) {
        const { at, fire } = due;
        [now, due] = [at, undefined];
        fire();
      }
      now = until;
      await turn();
    },
    async bring(bytes: number): Promise<void> {
      stream.write(Buffer.alloc(bytes));
      await turn();
    },
  };
}

it('fast content makes up for a minute of silence, and no more', async () => {
  const { bring, pass, end } = arrival();
  await bring(15_000_000);
  await pass(59_000);
  await bring(1000);
  await pass(61_000);
  expect(await end).toBe('4.4.2 The content arrives too slowly; send at least 1000 bytes a second');
});

it('content at the lowest allowed rate is read to its end, however long it takes', async () => {
  const { bring, pass, end, stream } = arrival();
  for (let seconds = 0; seconds < 600; seconds += 10) {
    await bring(10_000);
    await pass(10_000);
  }
  stream.end();
  expect(await end).toBe('600000 bytes');
});

it('a byte now and then is refused as too slow', async () => {
  const { bring, pass, end } = arrival();
  for (let n = 0; n < 13; n++) {
    await bring(1);
    await pass(5000);
  }
  expect(await end).toMatch(/^4\.4\.2 /);
});

it('a client that hangs up is reported in one sentence', async () => {
  const { stream, end, bring } = arrival();
  await bring(10);
  stream.destroy(Object.assign(new Error('Connection closed'), { code: 'ECONNECTION' }));
  expect(await end).toBe('4.4.2 The client disconnected before the end of its message');
});
