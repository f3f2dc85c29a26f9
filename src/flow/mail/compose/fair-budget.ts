/** Takes back what was given; calling it again changes nothing. */
export type GiveBack = () => void;

/** A quantity that parties share: bytes of memory, turns at work. */
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
 * Each party may hold as much as is free. So whoever holds on to what it got ends up with a half, two such with a third
 * each, and whatever their number something is left for everybody else. Who wants more than its share waits for what it
 * holds itself, never for what others hold.
 *
 * Nobody waits for ever: a party that holds nothing and wants more than is free may be overtaken by smaller wishes, but
 * only so many times; and no wish is for more than a quarter of the whole.
 */
export function createFairBudget(capacity: number): FairBudget {
  const portionMax = capacity / 4;
  const held = new Map<string, number>();
  /** Those who wait, by party; who has waited longest comes first. */
  const lines = new Map<string, Waiting[]>();
  let used = 0;

  const fits = (party: string, amount: number): boolean => (held.get(party) ?? 0) + amount <= capacity - used;

  function give(party: string, amount: number): GiveBack {
    used += amount;
    held.set(party, (held.get(party) ?? 0) + amount);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      used -= amount;
      const left = (held.get(party) ?? amount) - amount;
      if (left > 0) held.set(party, left);
      else held.delete(party);
      serve();
    };
  }

  function serve(): void {
    let passed: Waiting[] = [];
    for (const [party, line] of lines) {
      for (let next = line[0]; next && fits(party, next.amount); next = line[0]) {
        if (passed.some((one) => one.overtaken >= OVERTAKEN_MAX)) return;
        for (const one of passed) one.overtaken++;
        line.shift();
        next.go(give(party, next.amount));
      }
      const [first] = line;
      if (!first) lines.delete(party);
      else if (!held.has(party)) passed = [...passed, first];
    }
  }

  return {
    get used() {
      return used;
    },
    take(party, wanted) {
      const amount = Math.min(wanted, portionMax);
      return new Promise((go) => {
        const line = lines.get(party) ?? [];
        line.push({ amount, overtaken: 0, go });
        lines.set(party, line);
        serve();
      });
    },
    tryTake(party, amount) {
      if (lines.size > 0 || amount > portionMax || !fits(party, amount)) return undefined;
      return give(party, amount);
    },
  };
}
