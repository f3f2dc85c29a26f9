import type { Release } from './semaphore.ts';

/**
 * A quantity that holders share: connections, slots, bytes. Each may hold as much as is free: one holder alone ends up with a
 * half, two with a third each, and however many hold some, and for however long, something stays free for the next one. Where
 * holders give back soon, each may hold `timesFree` as much: with 2, one alone has two thirds and two have two fifths each.
 *
 * A caller checks `fits` and calls `enter` and `leave`, or waits with `acquire`.
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
  /** Changes the capacity. Holders keep what they hold, even if it is more than there is now. */
  resize(capacity: number): void;
  /**
   * Waits until the amount fits. More than a quarter of the capacity counts as a quarter. A holder that asks for more than its
   * share waits until it releases some of its own, never for what others hold, and is served in the order of its requests.
   *
   * No request waits for ever: that of a holder which holds nothing may be overtaken by smaller ones `OVERTAKEN_MAX` times at
   * most, and no request is for more than a quarter of the capacity.
   */
  acquire(holder: string, amount: number): Promise<Release>;
  /** Returns undefined where `acquire` would wait, or would give less. */
  tryAcquire(holder: string, amount: number): Release | undefined;
}

interface Waiting {
  amount: number;
  /** How many later requests were served before this one. */
  overtaken: number;
  go(release: Release): void;
}

const OVERTAKEN_MAX = 32;

export function createFairShare(initialCapacity: number, timesFree = 1): FairShare {
  let capacity = initialCapacity;
  const held = new Map<string, number>();
  /** Waiting requests by holder, in the order in which the holders began to wait. */
  const lines = new Map<string, Waiting[]>();
  let used = 0;
  const heldBy = (holder: string): number => held.get(holder) ?? 0;
  const fits = (holder: string, amount = 1): boolean => heldBy(holder) + amount <= timesFree * (capacity - used);

  function enter(holder: string, amount = 1): void {
    used += amount;
    held.set(holder, heldBy(holder) + amount);
  }

  function leave(holder: string, amount = 1): void {
    used -= amount;
    const left = heldBy(holder) - amount;
    if (left > 0) held.set(holder, left);
    else held.delete(holder);
    if (lines.size > 0) serve();
  }

  function give(holder: string, amount: number): Release {
    enter(holder, amount);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      leave(holder, amount);
    };
  }

  function serve(): void {
    let passed: Waiting[] = [];
    for (const [holder, line] of lines) {
      for (let next = line[0]; next && fits(holder, next.amount); next = line[0]) {
        if (passed.some((one) => one.overtaken >= OVERTAKEN_MAX)) return;
        for (const one of passed) one.overtaken++;
        line.shift();
        next.go(give(holder, next.amount));
      }
      const [first] = line;
      if (!first) lines.delete(holder);
      else if (heldBy(holder) === 0) passed = [...passed, first];
    }
  }

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
    enter,
    leave,
    resize(to) {
      capacity = to;
      if (lines.size > 0) serve();
    },
    acquire(holder, wanted) {
      // Whole numbers, because rounding errors of fractions would count as held for ever.
      const amount = Math.ceil(Math.min(wanted, capacity / 4));
      return new Promise((go) => {
        const line = lines.get(holder) ?? [];
        line.push({ amount, overtaken: 0, go });
        lines.set(holder, line);
        serve();
      });
    },
    tryAcquire(holder, wanted) {
      const amount = Math.ceil(wanted);
      if (lines.size > 0 || amount > capacity / 4 || !fits(holder, amount)) return undefined;
      return give(holder, amount);
    },
  };
}

/** Slots for members of teams. Each member has one slot of its own, whatever the others hold; teams share the others. */
export interface SlotPool {
  /** Resolves when the member has one more slot. A member asks for one at a time. */
  acquire(teamId: string, memberId: string): Promise<void>;
  release(memberId: string): void;
}

interface Member {
  teamId: string;
  slots: number;
  /** Grants the slot that the member waits for. */
  go: (() => void) | undefined;
}

export const createSlotPool = (shared: number): SlotPool => new Pool(shared);

class Pool implements SlotPool {
  /** Slots beyond each member's own one. */
  readonly #shared: FairShare;
  readonly #members = new Map<string, Member>();
  /** In the order of asking. */
  readonly #waiting = new Set<Member>();

  constructor(shared: number) {
    this.#shared = createFairShare(shared);
  }

  acquire(teamId: string, memberId: string): Promise<void> {
    const member = this.#members.get(memberId) ?? { teamId, slots: 0, go: undefined };
    this.#members.set(memberId, member);
    return new Promise((go) => {
      member.go = go;
      this.#waiting.add(member);
      if (this.#mayHaveOne(member)) this.#grant(member);
    });
  }

  release(memberId: string): void {
    const member = this.#members.get(memberId);
    if (!member) return;
    if (--member.slots > 0) this.#shared.leave(member.teamId);
    else if (member.go) this.#grant(member);
    else this.#members.delete(memberId);
    for (let next = this.#next(); next && this.#mayHaveOne(next); next = this.#next()) this.#grant(next);
  }

  #mayHaveOne({ teamId, slots }: Member): boolean {
    return slots === 0 || this.#shared.fits(teamId);
  }

  #grant(member: Member): void {
    if (++member.slots > 1) this.#shared.enter(member.teamId);
    this.#waiting.delete(member);
    member.go?.();
    member.go = undefined;
  }

  /** The waiting member of the team with the fewest slots; in the team, the one with the fewest, then the longest waiting. */
  #next(): Member | undefined {
    let best: Member | undefined;
    for (const member of this.#waiting) {
      best ??= member;
      const fewer = this.#shared.held(member.teamId) - this.#shared.held(best.teamId) || member.slots - best.slots;
      if (fewer < 0) best = member;
    }
    return best;
  }
}
