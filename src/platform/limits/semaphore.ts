import { stopwatch, systemClock } from '../clock.ts';
import { createFairQueue } from './fair-queue.ts';

/** Returns a permit; calling it again changes nothing. */
export type Release = () => void;

/**
 * Permits for work, at most `max` at a time. Those who wait are served round robin by tenant, and in the order in which they
 * came. None is overtaken: the next in turn waits until there is enough for it, and the others wait after it.
 */
export interface Semaphore {
  /** How much is taken. */
  readonly used: number;
  /** How many wait. */
  readonly waiting: number;
  /** How many of a tenant wait. */
  countWaiting(tenant: string): number;
  /** Resolves with the permit. Rejects with `signal.reason`, or with a `SemaphoreTimeout`, where the wait ends before. */
  acquire(wait?: Wait): Promise<Release>;
  /** Does the work with a permit; begins it at once where one is free. */
  run<T>(work: () => Promise<T> | T, wait?: Wait): Promise<T>;
}

export interface Wait {
  /** Callers without one are one tenant together. */
  tenant?: string | undefined;
  /** 1, if it is not given. One larger than all there is counts as all of it, so that it runs alone. */
  amount?: number;
  /** A caller that gives up frees its place. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

export class SemaphoreTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`no permit became free within ${timeoutMs} ms`);
  }
}

/** Resolves when the permit may go to the next; the caller of the work has its result before. */
export type PauseAfter = (work: { tookMs: number; isWaiting: boolean }) => Promise<void>;

interface Waiter {
  amount: number;
  go(): void;
}

/** A pause after each piece of work (`run`) leaves the processor to other work. */
export function createSemaphore(max: number, pauseAfter?: PauseAfter): Semaphore {
  const queue = createFairQueue<Waiter>();
  let used = 0;

  function serve(): void {
    for (let next = queue.peek(); next && used + next.amount <= max; next = queue.peek()) {
      queue.shift();
      used += next.amount;
      next.go();
    }
  }

  function release(amount: number): void {
    used -= amount;
    if (queue.size > 0) serve();
  }

  function wait(amount: number, { tenant, signal, timeoutMs }: Wait): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { amount, go: resolve };
      queue.push(waiter, { tenant });
      if (signal || timeoutMs !== undefined)
        waiter.go = limitWait(waiter, { tenant, signal, timeoutMs }, { resolve, reject });
    });
  }

  /** Ends the wait on the signal and on the timeout; returns what ends both when the permit is given. */
  function limitWait(
    waiter: Waiter,
    { tenant, signal, timeoutMs }: Wait,
    { resolve, reject }: { resolve(): void; reject(error: unknown): void },
  ): () => void {
    const stopTimer =
      timeoutMs === undefined ? undefined : systemClock.timer(timeoutMs, () => giveUp(new SemaphoreTimeout(timeoutMs)));
    const abort = (): void => giveUp(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });

    function end(): void {
      stopTimer?.();
      signal?.removeEventListener('abort', abort);
    }
    function giveUp(error: unknown): void {
      end();
      queue.remove(waiter, tenant);
      reject(error);
      // It may have been the one that the others waited after.
      serve();
    }
    return () => {
      end();
      resolve();
    };
  }

  /** Takes the permit; the promise is only of those who must wait. */
  function take(amount: number, options: Wait): Promise<void> | undefined {
    if (options.signal?.aborted) return Promise.reject(options.signal.reason as Error);
    if (queue.size > 0 || used + amount > max) return wait(amount, options);
    used += amount;
    return undefined;
  }

  const boundAmount = ({ amount = 1 }: Wait): number => Math.min(Math.ceil(amount), max);

  return {
    get used() {
      return used;
    },
    get waiting() {
      return queue.size;
    },
    countWaiting: queue.countWaiting,
    async acquire(options = {}) {
      const amount = boundAmount(options);
      await take(amount, options);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        release(amount);
      };
    },
    async run(work, options = {}) {
      const amount = boundAmount(options);
      const waiting = take(amount, options);
      if (waiting) await waiting;
      const elapsedMs = pauseAfter && stopwatch();
      try {
        return await work();
      } finally {
        if (!pauseAfter || !elapsedMs) release(amount);
        else void pauseAfter({ tookMs: elapsedMs(), isWaiting: queue.size > 0 }).then(() => release(amount));
      }
    },
  };
}
