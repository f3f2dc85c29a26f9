import { nextTurn, systemClock } from '../clock.ts';
import { createFairQueue, type FairQueue, type Place } from '../limits/index.ts';
import { isDatabaseGone, isDatabaseSetback } from './faults.ts';
import type { Db, Executor } from './db.ts';

/**
 * Group commit: whatever is handed in while a commit is under way shares the next one. A synced commit costs the same
 * for one row and for five hundred, so the rate rises with the load instead of queueing behind the disk.
 */
export interface GroupCommit {
  /**
   * A kind of write. `apply` takes all items that came together and answers one result each, in order; an Error as a
   * result refuses that item alone. `placeOf` says how many rows' worth an item is, where one item may be many, and whose,
   * where one party must not wait for all that another has handed in before.
   *
   * Lanes are applied in the order in which they were made; for the server that is the order of construction in app.ts
   * (accept, settle, claim, hand-off, then what the ports make). It is fixed so that commits are alike, and no lane may
   * rely on it: an item may as well be committed alone, before or after its neighbours in other lanes.
   */
  lane<Item, Result>(apply: Lane<Item, Result>, placeOf?: (item: Item) => Place): (item: Item) => Promise<Result>;
  /** Resolves when everything handed in so far is durable or refused. */
  settled(): Promise<void>;
}

export type Lane<Item, Result> = (tx: Executor, items: Item[]) => Promise<(Result | Error)[]>;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A group that is still growing is held back this long: less than a synced commit costs on most disks. */
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
    let results: unknown[][];
    try {
      results = await db.tx(async (tx) => {
        const all: unknown[][] = [];
        for (const group of busy) {
          const answers = await group.apply(
            tx,
            group.taken.map((waiting) => waiting.item),
          );
          if (answers.length !== group.taken.length) throw new Error('a lane answers one result per item');
          all.push(answers);
        }
        return all;
      });
    } catch (error) {
      return alone(busy, error);
    }
    busy.forEach((group, lane) => group.taken.forEach((waiting, i) => answer(waiting, results[lane]?.[i])));
  }

  /**
   * One bad item must not refuse its neighbours: after a failed group each item gets a transaction of its own. A
   * database that does not answer is no item's fault, and hundreds of tries would each wait for it.
   */
  async function alone(
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
    lane<Item, Result>(apply: Lane<Item, Result>, placeOf?: (item: Item) => Place) {
      const waiting = createFairQueue<Waiting<Item, Result>>();
      lanes.push({ waiting, apply } as unknown as OpenLane);
      return (item: Item) =>
        new Promise<Result>((resolve, reject) => {
          waiting.push({ item, resolve, reject }, placeOf?.(item));
          running ??= drain();
        });
    },
    async settled() {
      while (running) await running;
    },
  };
}

/**
 * Waits while every turn of the event loop brings more: a lone item goes at once, a crowd goes together. A lane that has
 * more than one commit takes is not waited for.
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

function answer(waiting: Waiting<never, never>, result: unknown): void {
  if (result instanceof Error) waiting.reject(result);
  else waiting.resolve(result as never);
}

/** One that does not answer holds back the others no longer than this. */
const ALONE_MS_MAX = 1000;

/**
 * Does for many callers at once what costs the same for one: those that come together go together, and those that come while
 * others are under way go with the next. `work` begins behind the call of each that it is done for, and answers one result each.
 */
export function inCompany<Item, Result>(
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
        const cancel = systemClock.timer(ALONE_MS_MAX, next);
        void settle(group).then(cancel).then(next);
      });
    }
    isDraining = false;
  }

  async function settle(group: Waiting<Item, Result>[]): Promise<void> {
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
 * Does several works in one transaction of SQLite, each behind a savepoint: one that fails is undone alone, and its error is its
 * answer. A database that fails fails them all.
 */
export async function eachAlone(
  tx: Executor,
  works: readonly ((tx: Executor) => Promise<void>)[],
): Promise<(undefined | Error)[]> {
  const answers: (undefined | Error)[] = [];
  for (const work of works) {
    await tx.run('savepoint one_of_many');
    try {
      await work(tx);
      answers.push(undefined);
    } catch (error) {
      if (isDatabaseSetback(error)) throw error;
      await tx.run('rollback to one_of_many');
      answers.push(error instanceof Error ? error : new Error(String(error)));
    }
    await tx.run('release one_of_many');
  }
  return answers;
}
