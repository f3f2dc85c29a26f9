import { refuse } from '../../platform/refusal.ts';
import { callerGone } from '../../tenancy/access/index.ts';
import { createLoopTurns } from '../../platform/fair-share/index.ts';

interface LimiterOptions {
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

/** Emails of one request, worked on in the order given, in slices. */
export type InSlices = <Item>(
  teamId: string,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void> | void,
  /** Whether the request has been worked on before. */
  hasBegun?: boolean,
) => Promise<void>;

/** About a quarter of a millisecond's work. */
const SLICE = 25;
/** About half the time that a batch of a hundred takes: one turn prepares it, and another makes its rows. */
const EMAILS_A_TURN = 100;

/**
 * Works on many emails without keeping other requests waiting: in one turn of the event loop a few slices are done, whatever
 * was asked for, and teams take turns. A request that has begun goes on before its team's next one. One email is a slice of
 * its own and never waits.
 */
export function createInSlices(): InSlices {
  const turns = createLoopTurns(EMAILS_A_TURN);
  return async (teamId, items, work, hasBegun = false) => {
    const each = async (from: number, to: number): Promise<void> => {
      for (const [i, item] of items.slice(from, to).entries()) await work(item, from + i);
    };
    if (items.length === 1) return each(0, 1);
    for (let from = 0; from < items.length; from += SLICE) {
      const to = Math.min(from + SLICE, items.length);
      const piece = { party: teamId, amount: to - from, goesOn: hasBegun || from > 0 };
      await turns.run(piece, () => each(from, to));
    }
  };
}
