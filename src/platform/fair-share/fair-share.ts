/** Places that are held for a while, and how they are shared out among those who hold them. */
export interface FairShare {
  readonly isEmpty: boolean;
  readonly count: number;
  readonly free: number;
  /**
   * Who may not take in more for now: each may hold as many as are free. So one alone ends up with a half, two with a
   * third each, and whatever their number something is left for everybody else.
   */
  crowded(): string[];
  isCrowded(holder: string): boolean;
  held(holder: string): number;
  enter(holder: string): void;
  leave(holder: string): void;
}

export function createFairShare(countMax: number): FairShare {
  const held = new Map<string, number>();
  let count = 0;
  return {
    get isEmpty() {
      return count === 0;
    },
    get count() {
      return count;
    },
    get free() {
      return countMax - count;
    },
    crowded: () => [...held].filter(([, n]) => n >= countMax - count).map(([holder]) => holder),
    isCrowded: (holder) => (held.get(holder) ?? 0) >= countMax - count,
    held: (holder) => held.get(holder) ?? 0,
    enter(holder) {
      count++;
      held.set(holder, (held.get(holder) ?? 0) + 1);
    },
    leave(holder) {
      count--;
      const left = (held.get(holder) ?? 1) - 1;
      if (left === 0) held.delete(holder);
      else held.set(holder, left);
    },
  };
}
