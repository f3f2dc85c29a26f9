import { refuse } from '../../platform/refusal/index.ts';
import { callerGone } from '../../tenancy/access/index.ts';

export interface LimiterOptions {
  atOnce: number;
  waitingMax: number;
}

interface Queue {
  running: number;
  /** In the order in which they came. */
  waiting: Set<() => void>;
}

const RETRY_AFTER_SECONDS = 5;

/**
 * Runs at most `atOnce` at a time under each key; at most `waitingMax` others wait, in the order in which they came. A
 * caller that gives up while waiting frees its place.
 */
export function createKeyedLimiter({
  atOnce,
  waitingMax,
}: LimiterOptions): <T>(key: string, work: () => Promise<T>, gone?: AbortSignal) => Promise<T> {
  const queues = new Map<string, Queue>();
  return async (key, work, gone) => {
    const queue = queues.get(key) ?? { running: 0, waiting: new Set() };
    if (gone?.aborted) throw callerGone();
    const mustWait = queue.running >= atOnce;
    if (mustWait && queue.waiting.size >= waitingMax) {
      throw refuse('rate_limit_exceeded', {
        say: `At most ${atOnce} requests of a team that name files by path or render templates in a batch are worked on at a time, and ${waitingMax} more may wait; try again in ${RETRY_AFTER_SECONDS} s.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    queues.set(key, queue);
    if (mustWait) await turnIn(queue, gone);
    else queue.running++;
    try {
      return await work();
    } finally {
      const [next] = queue.waiting;
      // The place passes to the next one, without being free in between.
      if (next) next();
      else if (--queue.running === 0) queues.delete(key);
    }
  };
}

function turnIn({ waiting }: Queue, gone: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = (): void => {
      waiting.delete(go);
      gone?.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = (): void => {
      waiting.delete(go);
      reject(callerGone());
    };
    waiting.add(go);
    gone?.addEventListener('abort', giveUp, { once: true });
  });
}
