import { createFairShare } from './fair-share.ts';

/** Gives the amount back; calling it again changes nothing. */
export type GiveBack = () => void;

/** An amount, such as bytes of memory, that parties share and wait for. */
export interface FairBudget {
  readonly used: number;
  /** Waits until the amount is free. More than a quarter of the capacity counts as a quarter. */
  take(party: string, amount: number): Promise<GiveBack>;
  /** Undefined where it would have to wait. */
  tryTake(party: string, amount: number): GiveBack | undefined;
}

interface Waiting {
  amount: number;
  /** How many later requests were served before this one. */
  overtaken: number;
  go(giveBack: GiveBack): void;
}

const OVERTAKEN_MAX = 32;

/**
 * A party that asks for more than its share waits until it gives back some of its own, never for what others hold.
 *
 * No request waits for ever: that of a party which holds nothing may be overtaken by smaller ones `OVERTAKEN_MAX` times at
 * most, and no request is for more than a quarter of the capacity.
 */
export function createFairBudget(capacity: number): FairBudget {
  const portionMax = capacity / 4;
  const share = createFairShare(capacity);
  /** Waiting requests by party, in the order in which the parties began to wait. */
  const lines = new Map<string, Waiting[]>();

  function give(party: string, amount: number): GiveBack {
    share.enter(party, amount);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      share.leave(party, amount);
      serve();
    };
  }

  function serve(): void {
    let passed: Waiting[] = [];
    for (const [party, line] of lines) {
      for (let next = line[0]; next && share.fits(party, next.amount); next = line[0]) {
        if (passed.some((one) => one.overtaken >= OVERTAKEN_MAX)) return;
        for (const one of passed) one.overtaken++;
        line.shift();
        next.go(give(party, next.amount));
      }
      const [first] = line;
      if (!first) lines.delete(party);
      else if (share.held(party) === 0) passed = [...passed, first];
    }
  }

  return {
    get used() {
      return share.used;
    },
    take(party, wanted) {
      // Whole numbers, because rounding errors of fractions would count as held for ever.
      const amount = Math.ceil(Math.min(wanted, portionMax));
      return new Promise((go) => {
        const line = lines.get(party) ?? [];
        line.push({ amount, overtaken: 0, go });
        lines.set(party, line);
        serve();
      });
    },
    tryTake(party, wanted) {
      const amount = Math.ceil(wanted);
      if (lines.size > 0 || amount > portionMax || !share.fits(party, amount)) return undefined;
      return give(party, amount);
    },
  };
}
