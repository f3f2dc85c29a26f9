import { createFairQueue } from './fair-queue.ts';

/** A capacity that tasks of different sizes share, round robin by party. One larger than all of it goes alone. */
export interface FairTurns {
  readonly used: number;
  /** Resolves when the turn has come; call what it answers when the task is over. */
  take(party: string, amount: number): Promise<() => void>;
}

/** Nothing is overtaken: the task whose turn it is waits until there is enough for it, and the others behind it. */
export function createFairTurns(capacity: number): FairTurns {
  const queue = createFairQueue<{ amount: number; go: () => void }>();
  let next: { amount: number; go: () => void } | undefined;
  let used = 0;

  function serve(): void {
    for (next ??= queue.shift(); next && used + next.amount <= capacity; next = queue.shift()) {
      used += next.amount;
      next.go();
    }
  }

  return {
    get used() {
      return used;
    },
    async take(party, wanted) {
      const amount = Math.min(Math.ceil(wanted), capacity);
      await new Promise<void>((go) => {
        queue.push(party, { amount, go });
        serve();
      });
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        used -= amount;
        serve();
      };
    },
  };
}
