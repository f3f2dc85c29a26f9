import { stopwatch } from '../clock/index.ts';
import { createTurnLine } from './turn-line.ts';

/** Pieces of work, so many at a time, in turns of the parties that bring them. */
export interface Turns {
  /** How many pieces of a party wait. */
  waitingOf(party: string): number;
  take<T>(party: string, work: () => Promise<T> | T): Promise<T>;
}

/**
 * `pauseAfter` ends when the next piece may begin: what comes in between is everybody else's. Who brought the piece does
 * not wait for that.
 */
export function createTurns(
  atOnce: number,
  pauseAfter: (piece: { tookMs: number; isWaiting: boolean }) => Promise<void>,
): Turns {
  const line = createTurnLine<() => void>();
  let underWay = 0;
  return {
    waitingOf: line.sizeOf,
    async take(party, work) {
      if (underWay < atOnce) underWay++;
      else await new Promise<void>((go) => line.push(party, go));
      const elapsedMs = stopwatch();
      try {
        return await work();
      } finally {
        void pauseAfter({ tookMs: elapsedMs(), isWaiting: line.size > 0 }).then(() => {
          const next = line.shift();
          if (next) next();
          else underWay--;
        });
      }
    },
  };
}
