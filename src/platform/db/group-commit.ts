import { nextTurn, systemClock } from '../clock.ts';
import { createFairQueue, type FairQueue, type Place } from '../limits/index.ts';
import { isDatabaseGone, isDatabaseSetback } from './faults.ts';
import type { Db, Executor } from './db.ts';

/**
 * Group commit: items that are submitted while a commit is in progress share the next one. A synced commit costs the
 * same for one row and for five hundred, so throughput rises with the load, instead of requests queueing for the disk.
 */
export interface GroupCommit {
  /**
   * Adds a kind of write. `apply` takes all items of a group and returns one result each, in order; an Error as a
   * result refuses only that item. `toPlace` gives the weight of an item in rows, for items that write many, and its
   * owner, so that one tenant need not wait for everything that another has submitted before.
   *
   * Lanes are applied in the order of their creation; for the server that is the order of construction in app.ts
   * (accept, settle, claim, hand-off, then the lanes of the ports). It is fixed so that commits are alike, but no lane
   * may rely on it: an item may be committed alone, before or after its neighbors in other lanes.
   */
  lane<Item, Result>(apply: Lane<Item, Result>, toPlace?: (item: Item) => Place): (item: Item) => Promise<Result>;
  /** Resolves when every item submitted so far is durable or refused. */
  settled(): Promise<void>;
}

export type Lane<Item, Result> = (tx: Executor, items: Item[]) => Promise<(Result | Error)[]>;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Maximum wait for a group that is still growing: less than a synced commit costs on most disks. */
const GATHER_MS_MAX = 3;
/** Keeps one commit short enough that reads and the next group do not notice it. */
const WEIGHT_PER_LANE_MAX = 256;

interface OpenLane {
  waiting: FairQueue<Waiting<never, never>>;
  apply: Lane<never, unknown>;
}

export function createGroupCommit(db: Pick<Db, 'tx'>): GroupCommit {
  const lanes: OpenLane[] = [];
  let running: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (lanes.some((lane) => lane.waiting.size > 0)) {
      await gather(lanes);
      await commit(lanes.map((lane) => ({ apply: lane.apply, taken: lane.waiting.take(WEIGHT_PER_LANE_MAX) })));
    }
    running = undefined;
  }

  async function commit(groups: { apply: Lane<never, unknown>; taken: Waiting<never, never>[] }[]): Promise<void> {
    const busy = groups.filter((group) => group.taken.length > 0);
    let resultsByLane: unknown[][];
    try {
      resultsByLane = await db.tx(async (tx) => {
        const all: unknown[][] = [];
        for (const group of busy) {
          const results = await group.apply(
            tx,
            group.taken.map((waiting) => waiting.item),
          );
          if (results.length !== group.taken.length)
            throw new Error(`lane returned ${results.length} results for ${group.taken.length} items`);
          all.push(results);
        }
        return all;
      });
    } catch (error) {
      return retryOneByOne(busy, error);
    }
    busy.forEach((group, lane) => group.taken.forEach((waiting, i) => settle(waiting, resultsByLane[lane]?.[i])));
  }

  /**
   * One bad item must not refuse its neighbors: after a failed group each item gets a transaction of its own. If the
   * database does not respond, no item is at fault, and hundreds of attempts would each wait for it.
   */
  async function retryOneByOne(
    groups: { apply: Lane<never, unknown>; taken: Waiting<never, never>[] }[],
    error: unknown,
  ): Promise<void> {
    const count = groups.reduce((sum, group) => sum + group.taken.length, 0);
    for (const group of groups) {
      for (const waiting of group.taken) {
        if (count === 1 || isDatabaseGone(error)) waiting.reject(error);
        else await commit([{ apply: group.apply, taken: [waiting] }]);
      }
    }
  }

  return {
    lane<Item, Result>(apply: Lane<Item, Result>, toPlace?: (item: Item) => Place) {
      const waiting = createFairQueue<Waiting<Item, Result>>();
      lanes.push({ waiting, apply } as unknown as OpenLane);
      return (item: Item) =>
        new Promise<Result>((resolve, reject) => {
          waiting.push({ item, resolve, reject }, toPlace?.(item));
          running ??= drain();
        });
    },
    async settled() {
      while (running) await running;
    },
  };
}

/**
 * Waits while every turn of the event loop adds items: a lone item is committed at once, a crowd together. Stops waiting
 * once a lane holds enough for one full commit.
 */
async function gather(lanes: readonly OpenLane[]): Promise<void> {
  const count = (): number => lanes.reduce((sum, lane) => sum + lane.waiting.size, 0);
  const isFull = (): boolean => lanes.some((lane) => lane.waiting.weight >= WEIGHT_PER_LANE_MAX);
  const until = performance.now() + GATHER_MS_MAX;
  let before: number;
  do {
    before = count();
    await nextTurn();
  } while (count() > before && !isFull() && performance.now() < until);
}

function settle(waiting: Waiting<never, never>, result: unknown): void {
  if (result instanceof Error) waiting.reject(result);
  else waiting.resolve(result as never);
}

/** Upper bound for waiting for one batch. After it, the next batch starts while the slow one is still running. */
const BATCH_MS_MAX = 1000;

/**
 * Batches calls that cost the same for many as for one: concurrent calls share one batch, and calls that arrive while a
 * batch is in progress share the next. `work` is called once per batch and returns one result per item, in order.
 */
export function batchConcurrentCalls<Item, Result>(
  work: (items: Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let isDraining = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn();
      const group = waiting;
      waiting = [];
      await new Promise<void>((next) => {
        const cancel = systemClock.timer(BATCH_MS_MAX, next);
        void runBatch(group).then(cancel).then(next);
      });
    }
    isDraining = false;
  }

  async function runBatch(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item));
      group.forEach(({ resolve }, at) => resolve(results[at] as Result));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isDraining) return;
      isDraining = true;
      void drain();
    });
}

/**
 * Runs several writes in one transaction of SQLite, each within a savepoint: if one fails, only that one is undone and
 * its result is the error. A fault of the database fails them all.
 */
export async function runInSavepoints(
  tx: Executor,
  works: readonly ((tx: Executor) => Promise<void>)[],
): Promise<(undefined | Error)[]> {
  const results: (undefined | Error)[] = [];
  for (const work of works) {
    await tx.run('savepoint one_of_many');
    try {
      await work(tx);
      results.push(undefined);
    } catch (error) {
      if (isDatabaseSetback(error)) throw error;
      await tx.run('rollback to one_of_many');
      results.push(error instanceof Error ? error : new Error(String(error)));
    }
    await tx.run('release one_of_many');
  }
  return results;
}
