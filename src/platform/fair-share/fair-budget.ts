import { createFairShare } from './fair-share.ts';

/** Takes back what was given; calling it again changes nothing. */
export type GiveBack = () => void;

/** What parties share of bytes of memory or turns at work, and wait for. */
export interface FairBudget {
  readonly used: number;
  /** Waits where there is no room. More than `portionMax` counts as that much. */
  take(party: string, amount: number): Promise<GiveBack>;
  /** Nothing where it would have to wait. */
  tryTake(party: string, amount: number): GiveBack | undefined;
}

interface Waiting {
  amount: number;
  /** How many that came later have gone before. */
  overtaken: number;
  go(giveBack: GiveBack): void;
}

const OVERTAKEN_MAX = 32;

/**
 * Who wants more than its share waits for what it holds itself, never for what others hold.
 *
 * Nobody waits for ever: a party that holds nothing and wants more than is free may be overtaken by smaller wishes, but
 * only so many times; and no wish is for more than a quarter of the whole.
 */
export function createFairBudget(capacity: number): FairBudget {
  const portionMax = capacity / 4;
  const share = createFairShare(capacity);
  /** Those who wait, by party; who has waited longest comes first. */
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
      // Whole ones: what is left of a sum of fractions would count as held for ever.
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
