import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock/index.ts';
import { createTurnLine } from '../../platform/fair-share/index.ts';

export interface MessageThread<Order, Answer> {
  /** What takes too long or too much is answered as `late` says; rejects only where no thread can be had. */
  ask(party: string, order: Order): Promise<Answer>;
  /** How many messages are in hand or wait. */
  waiting(): number;
  close(): Promise<void>;
}

export interface MessageThreadOptions<Answer> {
  /** The other side, which answers what `Said` holds. */
  url: URL;
  /** Measures the thread, which takes real time whatever a test's day is. */
  clock: Clock;
  limitMs: number;
  /** How many messages it may have in hand; of more than one, each must be known to take little. */
  atOnce: number;
  late(because: string): Answer;
  /** What the other side has to ask while it works. */
  answerQuestion?: (question: unknown) => Promise<unknown>;
}

/** What a thread says: the answer to an order, or a question of its own. */
export type Said = { id: number; answer: unknown } | { question: number; asked: unknown };

interface Job<Order, Answer> {
  order: Order;
  answer(answer: Answer): void;
  fail(error: Error): void;
  stopTimer(): void;
}

/** Of the thread's own; the message itself is outside of it. */
const HEAP_MB = 256;

/**
 * Works on messages in a thread of its own, in turns of those who brought them: whatever a stranger has put together
 * stops nothing else. The thread ends with a message that takes longer than `limitMs`, unless others are in its hand and
 * it is still heard of. It is started by the first message.
 */
export function createMessageThread<Order extends { raw: Uint8Array }, Answer>({
  url,
  clock,
  limitMs,
  atOnce,
  late,
  answerQuestion,
}: MessageThreadOptions<Answer>): MessageThread<Order, Answer> {
  const line = createTurnLine<Job<Order, Answer>>();
  const inHand = new Map<number, Job<Order, Answer>>();
  let thread: Worker | undefined;
  let [orders, heardAt] = [0, 0];

  function next(): void {
    while (inHand.size < atOnce) {
      const job = line.shift();
      if (!job) break;
      const id = ++orders;
      inHand.set(id, job);
      job.stopTimer = clock.timer(limitMs, () => tooLong(id));
      thread ??= start();
      if (inHand.size === 1) heardAt = clock.now();
      // A copy, because the source is stored meanwhile.
      const raw = new Uint8Array(job.order.raw);
      thread.postMessage({ id, order: { ...job.order, raw } }, [raw.buffer]);
    }
    if (inHand.size > 0) thread?.ref();
    else thread?.unref();
  }

  function take(id: number): Job<Order, Answer> | undefined {
    const job = inHand.get(id);
    inHand.delete(id);
    job?.stopTimer();
    return job;
  }

  function tooLong(id: number): void {
    const because = `it took longer than ${limitMs / 1000} s`;
    if (atOnce === 1 || heardAt + limitMs <= clock.now()) return endThread((job) => job.answer(late(because)));
    take(id)?.answer(late(because));
    next();
  }

  function endThread(tell: (job: Job<Order, Answer>) => void): void {
    const broken = thread;
    thread = undefined;
    void broken?.terminate();
    for (const id of [...inHand.keys()]) {
      const job = take(id);
      if (job) tell(job);
    }
    next();
  }

  function start(): Worker {
    const made = new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    // A thread that was given up is heard no more.
    const heard = <T>(hear: (said: T) => void) => {
      return (said: T): void => void (made === thread && hear(said));
    };
    made.on('message', heard(hearThread));
    made.on(
      'error',
      heard((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') endThread((job) => job.fail(error));
        else endThread((job) => job.answer(late('it takes too much memory')));
      }),
    );
    made.on(
      'exit',
      heard((code: number) => endThread((job) => job.fail(new Error(`a thread for messages ended with ${code}`)))),
    );
    return made;
  }

  function hearThread(said: Said): void {
    heardAt = clock.now();
    if ('id' in said) {
      take(said.id)?.answer(said.answer as Answer);
      return next();
    }
    const asker = thread;
    void answerQuestion?.(said.asked).then((told) => asker?.postMessage({ question: said.question, told }));
  }

  return {
    ask: (party, order) =>
      new Promise((answer, fail) => {
        line.push(party, { order, answer, fail, stopTimer: () => undefined });
        next();
      }),
    waiting: () => line.size + inHand.size,
    async close() {
      const ending = thread;
      for (let job = line.shift(); job; job = line.shift()) job.fail(new Error('the program ends'));
      endThread((job) => job.fail(new Error('the program ends')));
      await ending?.terminate();
    },
  };
}
