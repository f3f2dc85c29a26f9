/**
 * The party of a delivery, by which connections are shared: a team with its transactional mail is one party, and the same team
 * with its marketing mail another, which comes after the first. Everything in this folder that shares or waits goes by party.
 */
export const partyOf = ({ teamId, isMarketing }: { teamId: string; isMarketing?: boolean }): string =>
  isMarketing ? teamId + MARKETING : teamId;

/** Returns the party of the same team's transactional mail, which goes first, for a party of marketing mail. */
export const partyBefore = (party: string): string | undefined =>
  party.endsWith(MARKETING) ? party.slice(0, -MARKETING.length) : undefined;

const MARKETING = ' marketing';

/** The waiters for connections to one destination: parties take turns, and within a party the order is first come, first served. */
export class WaitersByParty<Waiter> {
  #byParty = new Map<string, Set<Waiter>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each party with the number of its waiters. */
  *parties(): Iterable<[party: string, count: number]> {
    for (const [party, waiters] of this.#byParty) yield [party, waiters.size];
  }

  has(party: string): boolean {
    return this.#byParty.has(party);
  }

  add(party: string, waiter: Waiter, place: 'last' | 'first'): void {
    const waiters = this.#byParty.get(party) ?? new Set();
    this.#byParty.set(party, place === 'last' ? waiters.add(waiter) : new Set([waiter, ...waiters]));
    this.#size += 1;
  }

  remove(party: string, waiter: Waiter): void {
    const waiters = this.#byParty.get(party);
    if (!waiters?.delete(waiter)) return;
    this.#size -= 1;
    if (waiters.size === 0) this.#byParty.delete(party);
  }

  /** Removes and returns the next waiter whose party may have a connection; the party goes to the end of the queue. */
  take(mayHave: (party: string) => boolean): Waiter | undefined {
    for (const [party, waiters] of this.#byParty) {
      if (!mayHave(party)) continue;
      const before = partyBefore(party);
      if (before !== undefined && this.#byParty.has(before) && mayHave(before)) continue;
      const [waiter] = waiters;
      if (waiter === undefined) continue;
      this.remove(party, waiter);
      this.#byParty.delete(party);
      if (waiters.size > 0) this.#byParty.set(party, waiters);
      return waiter;
    }
    return undefined;
  }

  takeAll(): Waiter[] {
    return [...this.#byParty.keys()].flatMap((party) => this.takeAllOf(party));
  }

  takeAllOf(party: string): Waiter[] {
    const all = [...(this.#byParty.get(party) ?? [])];
    this.#byParty.delete(party);
    this.#size -= all.length;
    return all;
  }
}
