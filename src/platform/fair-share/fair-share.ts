/**
 * A quantity that holders share: connections, slots, bytes. Each may hold as much as is free: one holder alone ends up with a
 * half, two with a third each, and however many hold some, and for however long, something stays free for the next one. Where
 * holders give back soon, each may hold `timesFree` as much: with 2, one alone has two thirds and two have two fifths each.
 */
export interface FairShare {
  readonly used: number;
  readonly free: number;
  held(holder: string): number;
  /** Whether the holder may have so much more now. `enter` does not check it: the caller does. */
  fits(holder: string, amount?: number): boolean;
  /** The holders that may not have even one more now. */
  atLimit(): string[];
  enter(holder: string, amount?: number): void;
  leave(holder: string, amount?: number): void;
}

export function createFairShare(capacity: number, timesFree = 1): FairShare {
  const held = new Map<string, number>();
  let used = 0;
  const heldBy = (holder: string): number => held.get(holder) ?? 0;
  const fits = (holder: string, amount = 1): boolean => heldBy(holder) + amount <= timesFree * (capacity - used);
  return {
    get used() {
      return used;
    },
    get free() {
      return capacity - used;
    },
    held: heldBy,
    fits,
    atLimit: () => [...held.keys()].filter((holder) => !fits(holder)),
    enter(holder, amount = 1) {
      used += amount;
      held.set(holder, heldBy(holder) + amount);
    },
    leave(holder, amount = 1) {
      used -= amount;
      const left = heldBy(holder) - amount;
      if (left > 0) held.set(holder, left);
      else held.delete(holder);
    },
  };
}
