import { nextTurn } from '../../platform/clock.ts';
import { createFairQueue } from '../../platform/limits/index.ts';

/** Divides the turns of the event loop among tenants that have much to do in this thread. */
interface LoopTurns {
  /**
   * Runs a piece of work, `amount` of it, in a turn that has time for it, round robin by tenant. A piece that continues
   * what its tenant has begun comes before its other pieces.
   */
  run<T>(piece: { tenant: string; amount: number; goesOn: boolean }, work: () => Promise<T> | T): Promise<T>;
}

/**
 * Starts pieces one after the other in a turn of the event loop until their amounts reach `perTurn`. A piece that waits
 * for something else, such as the database, delays the others until the next turn at most.
 */
export function createLoopTurns(perTurn: number): LoopTurns {
  const queue = createFairQueue<() => void>();
  let used = 0;
  let isCounting = false;
  let current: object | undefined;

  function begin(piece: object, amount: number): void {
    current = piece;
    used += amount;
    if (isCounting) return;
    isCounting = true;
    void nextTurn().then(endTurn);
  }

  function endTurn(): void {
    isCounting = false;
    used = 0;
    current = undefined;
    serve();
  }

  function serve(): void {
    if (current === undefined && used < perTurn) queue.shift()?.();
  }

  return {
    async run(piece, work) {
      const { tenant, amount, goesOn } = piece;
      const isFree = current === undefined && used < perTurn && queue.size === 0;
      if (isFree) begin(piece, amount);
      else {
        await new Promise<void>((resolve) => {
          const go = (): void => {
            begin(piece, amount);
            resolve();
          };
          queue.push(go, { tenant, isFirst: goesOn });
        });
      }
      try {
        return await work();
      } finally {
        // A tick later, its tenant's next piece is in the queue.
        process.nextTick(() => {
          if (current !== piece) return;
          current = undefined;
          serve();
        });
      }
    },
  };
}

/** Emails of one request, worked on in the order given, in slices. */
export type InSlices = <Item>(
  teamId: string,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void> | void,
  /** True if the request has been worked on before. */
  hasBegun?: boolean,
) => Promise<void>;

/** About a quarter of a millisecond's work. */
const SLICE = 25;
/** About half the time that a batch of a hundred takes: one turn prepares it, and another makes its rows. */
const EMAILS_A_TURN = 100;

/**
 * Works on many emails without keeping other requests waiting: in one turn of the event loop a few slices are done,
 * however large the request is, and teams take turns. A request that has begun continues before its team's next one.
 * One email is a slice of its own and never waits.
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
      const piece = { tenant: teamId, amount: to - from, goesOn: hasBegun || from > 0 };
      await turns.run(piece, () => each(from, to));
    }
  };
}
