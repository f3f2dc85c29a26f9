import { nextTurn } from '../clock/index.ts';
import { createFairQueue } from './fair-queue.ts';

/** Divides the turns of the event loop among parties that have much to do in this thread. */
export interface LoopTurns {
  /**
   * Runs a piece of work, `amount` of it, in a turn that has time for it, round robin by party. A piece that goes on with what
   * its party has begun comes before its other pieces.
   */
  run<T>(piece: { party: string; amount: number; goesOn: boolean }, work: () => Promise<T> | T): Promise<T>;
}

/**
 * In one turn of the event loop pieces are begun, one after the other, until they come to `perTurn`. A piece that waits for
 * something else, such as the database, holds up the others until the next turn at most.
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
      const { party, amount, goesOn } = piece;
      const isFree = current === undefined && used < perTurn && queue.size === 0;
      if (isFree) begin(piece, amount);
      else {
        await new Promise<void>((resolve) => {
          const go = (): void => {
            begin(piece, amount);
            resolve();
          };
          if (goesOn) queue.pushFirst(party, go);
          else queue.push(party, go);
        });
      }
      try {
        return await work();
      } finally {
        // A tick later, its party's next piece is in the queue.
        process.nextTick(() => {
          if (current !== piece) return;
          current = undefined;
          serve();
        });
      }
    },
  };
}
