import { stopwatch } from '../clock/index.ts';
import { createFairQueue } from './fair-queue.ts';

/** Runs tasks, a few at a time, round robin by party. */
export interface FairExecutor {
  /** How many tasks of a party wait. */
  waitingOf(party: string): number;
  run<T>(party: string, task: () => Promise<T> | T): Promise<T>;
}

/**
 * After each task, the next one waits for `pauseAfter`; the pause leaves the processor to other work. The caller of the task
 * has its answer before the pause.
 */
export function createFairExecutor(
  concurrency: number,
  pauseAfter: (task: { tookMs: number; isWaiting: boolean }) => Promise<void>,
): FairExecutor {
  const queue = createFairQueue<() => void>();
  let running = 0;
  return {
    waitingOf: queue.sizeOf,
    async run(party, task) {
      if (running < concurrency) running++;
      else await new Promise<void>((go) => queue.push(party, go));
      const elapsedMs = stopwatch();
      try {
        return await task();
      } finally {
        void pauseAfter({ tookMs: elapsedMs(), isWaiting: queue.size > 0 }).then(() => {
          const next = queue.shift();
          if (next) next();
          else running--;
        });
      }
    },
  };
}
