import { partyBefore } from './party.ts';

/** The waiters for connections to one destination: teams take turns, and within a team the first to come is first. */
export class WaitersByTeam<Waiter> {
  #byTeam = new Map<string, Set<Waiter>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each team with the number of its waiters. */
  *teams(): Iterable<[team: string, count: number]> {
    for (const [team, waiters] of this.#byTeam) yield [team, waiters.size];
  }

  has(team: string): boolean {
    return this.#byTeam.has(team);
  }

  /** The team's next waiter. */
  first(team: string): Waiter | undefined {
    const [waiter] = this.#byTeam.get(team) ?? [];
    return waiter;
  }

  add(team: string, waiter: Waiter, place: 'last' | 'first'): void {
    const waiters = this.#byTeam.get(team) ?? new Set();
    this.#byTeam.set(team, place === 'last' ? waiters.add(waiter) : new Set([waiter, ...waiters]));
    this.#size += 1;
  }

  remove(team: string, waiter: Waiter): void {
    const waiters = this.#byTeam.get(team);
    if (!waiters?.delete(waiter)) return;
    this.#size -= 1;
    if (waiters.size === 0) this.#byTeam.delete(team);
  }

  /** Removes and returns the next waiter whose team may have a connection; the team goes to the end of the queue. */
  take(mayHave: (team: string) => boolean): Waiter | undefined {
    for (const [team, waiters] of this.#byTeam) {
      if (!mayHave(team)) continue;
      const before = partyBefore(team);
      if (before !== undefined && this.#byTeam.has(before) && mayHave(before)) continue;
      const [waiter] = waiters;
      if (waiter === undefined) continue;
      this.remove(team, waiter);
      this.#byTeam.delete(team);
      if (waiters.size > 0) this.#byTeam.set(team, waiters);
      return waiter;
    }
    return undefined;
  }

  takeAll(): Waiter[] {
    return [...this.#byTeam.keys()].flatMap((team) => this.takeAllOf(team));
  }

  takeAllOf(team: string): Waiter[] {
    const all = [...(this.#byTeam.get(team) ?? [])];
    this.#byTeam.delete(team);
    this.#size -= all.length;
    return all;
  }
}
