import { createLoopTurns } from '../../platform/fair-share/index.ts';

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
