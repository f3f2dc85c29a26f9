export interface Room {
  /** Takes a place; false when all are taken, and then `tell` is called when one is free. */
  take(tell: () => void): boolean;
  leave(): void;
}

/** Places that endpoints share; who waits longest gets the next free one. */
export function createRoom(places: number): Room {
  let free = places;
  const waiting = new Set<() => void>();
  return {
    take(tell) {
      if (free === 0) {
        waiting.add(tell);
        return false;
      }
      free--;
      return true;
    },
    leave() {
      free++;
      // Who does not need it any more leaves it to the next one.
      for (const next of waiting) {
        if (free === 0) return;
        waiting.delete(next);
        next();
      }
    },
  };
}
