import { Deque } from './deque.ts';
import { LeastFirst } from './least-first.ts';
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

/** The requests of a holder, and its place among the holders in the order in which they began to wait. */
interface Line {
  holder: string;
  requests: Deque<Waiting>;
  place: number;
}

const OVERTAKEN_MAX = 32;

export function createFairShare(initialCapacity: number, timesFree = 1): FairShare {
  let capacity = initialCapacity;
  const held = new Map<string, number>();
  const lines = new Map<string, Line>();
  /** The lines by place; a place without one is undefined. */
  let places: (Line | undefined)[] = [];
  /** The amount that has to be free for the first request of each line. */
  const needs = new LeastFirst();
  /** The times that the first request of each holder without anything was overtaken, as a negative number. */
  const overtakings = new LeastFirst();
  let used = 0;
  /** Whether something was taken without waiting, so that a request that was blocked may be served now. */
  let isChanged = false;
  const heldBy = (holder: string): number => held.get(holder) ?? 0;
  const fits = (holder: string, amount = 1): boolean => heldBy(holder) + amount <= timesFree * (capacity - used);

  /** Notes what a line waits for, after something about it has changed. */
  function place(line: Line | undefined): void {
    if (!line) return;
    const { first } = line.requests;
    const holds = heldBy(line.holder);
    needs.set(line.place, first ? holds + first.amount : Infinity);
    overtakings.set(line.place, first && holds === 0 ? -first.overtaken : Infinity);
  }

  function begin(holder: string): Line {
    if (places.length === needs.size) {
      places = [...lines.values()];
      needs.reset(2 * places.length);
      overtakings.reset(2 * places.length);
      for (const [at, line] of places.entries()) {
        if (!line) continue;
        line.place = at;
        place(line);
      }
    }
    const line = { holder, requests: new Deque<Waiting>(), place: places.length };
    places.push(line);
    lines.set(holder, line);
    return line;
  }

  function mustBeAmount(amount: number): void {
    if (!(amount > 0)) throw new Error(`amount of a fair share is not positive: ${amount}`);
  }

  function add(holder: string, amount: number): void {
    used += amount;
    held.set(holder, heldBy(holder) + amount);
    isChanged = true;
    place(lines.get(holder));
  }

  function remove(holder: string, amount: number): void {
    const left = heldBy(holder) - amount;
    if (left < 0) throw new Error(`more leaves a fair share than its holder has: ${amount} of ${heldBy(holder)}`);
    used -= amount;
    if (left > 0) held.set(holder, left);
    else held.delete(holder);
    place(lines.get(holder));
    serve(0);
  }

  function give(holder: string, amount: number): Release {
    add(holder, amount);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      remove(holder, amount);
    };
  }

  /** Serves what fits, in the order of the lines from a place on. */
  function serve(from: number): void {
    if (lines.size === 0) return;
    isChanged = false;
    for (let at = from; ; at++) {
      at = needs.find(at, timesFree * (capacity - used));
      const line = at < 0 ? undefined : places[at];
      if (!line) break;
      if (!serveLine(line)) break;
    }
    isChanged = false;
  }

  /** Returns false if an earlier request was overtaken too often. */
  function serveLine(line: Line): boolean {
    const { holder, requests, place: end } = line;
    for (let next = requests.first; next && fits(holder, next.amount); next = requests.first) {
      const blocked = overtakings.find(0, -OVERTAKEN_MAX);
      if (blocked >= 0 && blocked < end) return false;
      for (let at = overtakings.find(0, 0); at >= 0 && at < end; at = overtakings.find(at + 1, 0)) {
        const first = places[at]?.requests.first;
        if (first) overtakings.set(at, -++first.overtaken);
      }
      requests.shift();
      next.go(give(holder, next.amount));
    }
    place(line);
    if (requests.length > 0) return true;
    lines.delete(holder);
    places[end] = undefined;
    return true;
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
    enter(holder, amount = 1) {
      mustBeAmount(amount);
      add(holder, amount);
    },
    leave(holder, amount = 1) {
      mustBeAmount(amount);
      remove(holder, amount);
    },
    resize(to) {
      capacity = to;
      serve(0);
    },
    acquire(holder, wanted) {
      // Whole numbers, because rounding errors of fractions would count as held for ever.
      mustBeAmount(wanted);
      const amount = Math.ceil(Math.min(wanted, capacity / 4));
      return new Promise((go) => {
        const known = lines.get(holder);
        const line = known ?? begin(holder);
        line.requests.push({ amount, overtaken: 0, go });
        place(line);
        // The other requests were tried when something changed last.
        if (isChanged || !known) serve(isChanged ? 0 : line.place);
      });
    },
    tryAcquire(holder, wanted) {
      mustBeAmount(wanted);
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
