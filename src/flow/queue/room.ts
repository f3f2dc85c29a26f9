/** How much is under way, and how that is shared out among destinations. */
export interface Room {
  readonly isEmpty: boolean;
  readonly count: number;
  /** How many may be taken in now, at most, so that no single claim uses up what is left. */
  readonly free: number;
  /**
   * Destinations that may not take in more for now: each may hold as much as is free. So one slow destination ends up
   * with a half, two with a third each, and whatever their number something is left for everybody else.
   */
  crowded(): string[];
  enter(destination: string): void;
  leave(destination: string): void;
}

export function createRoom(countMax: number): Room {
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
      return Math.ceil((countMax - count) / 2);
    },
    crowded: () => [...held].filter(([, n]) => n >= countMax - count).map(([destination]) => destination),
    enter(destination) {
      count++;
      held.set(destination, (held.get(destination) ?? 0) + 1);
    },
    leave(destination) {
      count--;
      const left = (held.get(destination) ?? 1) - 1;
      if (left === 0) held.delete(destination);
      else held.set(destination, left);
    },
  };
}
