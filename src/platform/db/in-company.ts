import { nextTurn, systemClock } from '../clock/index.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
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
