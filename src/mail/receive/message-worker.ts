import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock.ts';
import { createFairQueue } from '../../platform/limits/index.ts';
import { startThread } from '../../program-files/index.ts';
import type { ContentSource } from './message-content.ts';

export interface MessageThread<Order, Answer> {
  /**
   * Processes an order. For a message beyond the limits of time or memory, `late` makes the result; rejects only if no
   * thread can be started.
   */
  ask(tenant: string, order: Order): Promise<Answer>;
  /** Returns the number of messages that are in work or wait. */
  waiting(): number;
  close(): Promise<void>;
}

export interface MessageThreadOptions<Answer> {
  /** The module of the thread, which posts `ThreadMessage`. */
  module: string | URL;
  /** The system clock, also in tests with a fake one: the thread takes real time. */
  clock: Clock;
  limitMs: number;
  /**
   * Limits the processor time of the thread instead, and the elapsed time to this many times `limitMs`, so that on a
   * busy machine a quick message is not mistaken for one that never ends.
   */
  patience?: number;
  /** Maximum number of messages in work at a time; with more than one, each must be known to be quick. */
  atOnce: number;
  late(because: string): Answer;
  /** Time for which a thread that has had a large message may be idle before it is ended; 5 s by default. */
  restMs?: number;
  /** Handles queries that the thread posts while it works. */
  answerQuestion?: (question: unknown) => Promise<unknown>;
}

/** A message from a thread: the result of an order, or a query of its own. */
export type ThreadMessage = { id: number; answer: unknown } | { question: number; asked: unknown };

interface Job<Order, Answer> {
  order: Order;
  answer(answer: Answer): void;
  fail(error: Error): void;
  stopTimer(): void;
  /** The processor time of the thread when it got this job. */
  usedMs?: Promise<number>;
}

/** The heap of the thread; the message itself is outside of it. */
const HEAP_MB = 256;
/** A thread keeps the memory that a large message took, even when it is idle, so that it is ended then. */
const LARGE_BYTES = 1024 * 1024;
const REST_MS = 5000;
/** The minimum time between two readings of the processor time. */
const AGAIN_MS = 50;

/** Returns 0 for a thread that is ending, and before Node.js 24.6, which does not report it. */
async function processorMs(thread: Worker): Promise<number> {
  try {
    const { user, system } = await thread.cpuUsage();
    return (user + system) / 1000;
  } catch {
    return 0;
  }
}

/**
 * Processes messages in a thread, round robin by tenant, so that a hostile message blocks nothing else. The thread is
 * terminated with a message that takes longer than `limitMs`, unless others are in work and it still responds. The
 * first message starts it.
 */
export const createMessageThread = <Order extends { source: ContentSource }, Answer>(
  options: MessageThreadOptions<Answer>,
): MessageThread<Order, Answer> => new WorkedInThread<Order, Answer>(options);

class WorkedInThread<Order extends { source: ContentSource }, Answer> implements MessageThread<Order, Answer> {
  readonly #options: MessageThreadOptions<Answer>;
  readonly #line = createFairQueue<Job<Order, Answer>>();
  readonly #inHand = new Map<number, Job<Order, Answer>>();
  #thread: Worker | undefined;
  #orders = 0;
  #heardAt = 0;
  /** True if the current thread has had a large message. */
  #isLarge = false;
  #stopRest: () => void = () => undefined;

  constructor(options: MessageThreadOptions<Answer>) {
    this.#options = options;
  }

  ask(tenant: string, order: Order): Promise<Answer> {
    return new Promise((answer, fail) => {
      this.#line.push({ order, answer, fail, stopTimer: () => undefined }, { tenant });
      this.#next();
    });
  }

  waiting(): number {
    return this.#line.size + this.#inHand.size;
  }

  async close(): Promise<void> {
    const ending = this.#thread;
    for (let job = this.#line.shift(); job; job = this.#line.shift()) job.fail(new Error('the program ends'));
    this.#endThread((job) => job.fail(new Error('the program ends')));
    await ending?.terminate();
  }

  #next(): void {
    const { clock, limitMs, atOnce, restMs = REST_MS } = this.#options;
    while (this.#inHand.size < atOnce) {
      const job = this.#line.shift();
      if (!job) break;
      const id = ++this.#orders;
      this.#inHand.set(id, job);
      this.#thread ??= this.#start();
      job.usedMs = processorMs(this.#thread);
      const began = clock.now();
      job.stopTimer = clock.timer(limitMs, () => void this.#atLimit(id, began));
      if (this.#inHand.size === 1) this.#heardAt = clock.now();
      this.#give(this.#thread, id, job.order);
    }
    this.#stopRest();
    if (this.#inHand.size > 0) this.#thread?.ref();
    else {
      this.#thread?.unref();
      if (this.#isLarge) this.#stopRest = clock.timer(restMs, () => this.#endThread(() => undefined));
    }
  }

  #give(thread: Worker, id: number, order: Order): void {
    const { source } = order;
    this.#isLarge ||= ('fd' in source ? source.bytes : source.length) > LARGE_BYTES;
    if ('fd' in source) return thread.postMessage({ id, order });
    // A copy, because the message is stored meanwhile.
    const raw = new Uint8Array(source);
    thread.postMessage({ id, order: { ...order, source: raw } }, [raw.buffer]);
  }

  #take(id: number): Job<Order, Answer> | undefined {
    const job = this.#inHand.get(id);
    this.#inHand.delete(id);
    job?.stopTimer();
    return job;
  }

  async #atLimit(id: number, began: number): Promise<void> {
    const { clock, limitMs, patience = 1 } = this.#options;
    const job = this.#inHand.get(id);
    const thread = this.#thread;
    if (!job || !thread) return;
    const usedMs = (await processorMs(thread)) - ((await job.usedMs) ?? 0);
    // It may have ended meanwhile.
    if (this.#inHand.get(id) !== job) return;
    const leftMs = Math.min(limitMs - usedMs, began + patience * limitMs - clock.now());
    if (leftMs <= 0) return this.#tooLong(id);
    job.stopTimer = clock.timer(Math.max(leftMs, AGAIN_MS), () => void this.#atLimit(id, began));
  }

  #tooLong(id: number): void {
    const { clock, limitMs, atOnce, late } = this.#options;
    const because = `it took longer than ${limitMs / 1000} s`;
    const isStuck = atOnce === 1 || this.#heardAt + limitMs <= clock.now();
    if (isStuck) return this.#endThread((job) => job.answer(late(because)));
    this.#take(id)?.answer(late(because));
    this.#next();
  }

  #endThread(tell: (job: Job<Order, Answer>) => void): void {
    const broken = this.#thread;
    this.#thread = undefined;
    this.#isLarge = false;
    this.#stopRest();
    void broken?.terminate();
    for (const id of [...this.#inHand.keys()]) {
      const job = this.#take(id);
      if (job) tell(job);
    }
    this.#next();
  }

  #start(): Worker {
    const { module, late } = this.#options;
    const made = startThread(module, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    // Messages of a terminated thread are ignored.
    const isCurrent = (): boolean => made === this.#thread;
    made.on('message', (said: ThreadMessage) => {
      if (isCurrent()) this.#hear(said, made);
    });
    made.on('error', (error: NodeJS.ErrnoException) => {
      if (!isCurrent()) return;
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') this.#endThread((job) => job.fail(error));
      else this.#endThread((job) => job.answer(late('it takes too much memory')));
    });
    made.on('exit', (code) => {
      if (isCurrent()) this.#endThread((job) => job.fail(new Error(`a thread for messages ended with ${code}`)));
    });
    return made;
  }

  #hear(said: ThreadMessage, asker: Worker): void {
    const { clock, answerQuestion } = this.#options;
    this.#heardAt = clock.now();
    if ('id' in said) {
      this.#take(said.id)?.answer(said.answer as Answer);
      return this.#next();
    }
    void answerQuestion?.(said.asked).then((told) => asker.postMessage({ question: said.question, told }));
  }
}
