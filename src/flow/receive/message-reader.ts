import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock/index.ts';
import type { MessageReading, ReadLimits } from '../../protocol/read-message/index.ts';
import type { ReadOrder } from './reader-thread.ts';

export interface MessageReader {
  /** What takes too long or too much is unread; rejects only where no thread can be had. */
  read(raw: Buffer): Promise<MessageReading>;
  /** How many messages are in hand or wait. */
  waiting(): number;
  close(): Promise<void>;
}

export interface MessageReaderOptions {
  /** Measures the thread, which takes real time whatever a test's day is. */
  clock: Clock;
  readMs: number;
  limits: ReadLimits;
}

interface Waiting {
  raw: Buffer;
  answer(reading: MessageReading): void;
  fail(error: Error): void;
}

/** Of the thread's own; the message itself is outside of it. */
const HEAP_MB = 256;

/**
 * Reads messages in a thread of its own, one after the other: whatever a stranger has put together stops nothing else, and
 * the thread ends with it when it takes longer than `readMs`. It is started by the first message.
 */
export function createMessageReader({ clock, readMs, limits }: MessageReaderOptions): MessageReader {
  const waiting: Waiting[] = [];
  let thread: Worker | undefined;
  let inHand: Waiting | undefined;
  let orders = 0;
  let stopTimer = (): void => undefined;

  function next(): void {
    if (inHand) return;
    inHand = waiting.shift();
    if (!inHand) return thread?.unref();
    thread ??= startThread({
      isCurrent: (made) => made === thread,
      onReading: (of, reading) => void (of === orders && end(reading)),
      giveUp,
      fail,
    });
    thread.ref();
    const id = ++orders;
    stopTimer = clock.timer(readMs, () => giveUp(`reading took longer than ${readMs / 1000} s`));
    // A copy, because the source is stored meanwhile.
    const raw = new Uint8Array(inHand.raw);
    thread.postMessage({ id, raw, limits } satisfies ReadOrder, [raw.buffer]);
  }

  function end(reading: MessageReading): void {
    stopTimer();
    const ended = inHand;
    inHand = undefined;
    ended?.answer(reading);
    next();
  }

  function giveUp(because: string): void {
    const broken = thread;
    thread = undefined;
    void broken?.terminate();
    end({ isRead: false, because, ...NOTHING_KNOWN });
  }

  function fail(error: Error): void {
    thread = undefined;
    stopTimer();
    const failed = inHand;
    inHand = undefined;
    failed?.fail(error);
    next();
  }

  return {
    read: (raw) =>
      new Promise((answer, fail) => {
        waiting.push({ raw, answer, fail });
        next();
      }),
    waiting: () => waiting.length + (inHand ? 1 : 0),
    async close() {
      stopTimer();
      const ending = thread;
      thread = undefined;
      const left = [...(inHand ? [inHand] : []), ...waiting.splice(0)];
      inHand = undefined;
      for (const one of left) one.fail(new Error('the program ends'));
      await ending?.terminate();
    },
  };
}

interface ThreadEnds {
  isCurrent(thread: Worker): boolean;
  onReading(id: number, reading: MessageReading): void;
  giveUp(because: string): void;
  fail(error: Error): void;
}

/** A thread that was given up is heard no more. */
function startThread({ isCurrent, onReading, giveUp, fail }: ThreadEnds): Worker {
  const made = new Worker(new URL('./reader-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  made.on('message', ({ id, reading }: { id: number; reading: MessageReading }) => {
    if (isCurrent(made)) onReading(id, reading);
  });
  made.on('error', (error: NodeJS.ErrnoException) => {
    if (!isCurrent(made)) return;
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') giveUp('reading takes too much memory');
    else fail(error);
  });
  made.on('exit', (code) => {
    if (isCurrent(made)) fail(new Error(`the reader of messages ended with ${code}`));
  });
  return made;
}

const NOTHING_KNOWN = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };
