/**
 * How many requests may be under way. Each endpoint has one to itself, whatever the others do; beyond that endpoints share what
 * there is. A team may have as many of the shared ones as are still free, and no more: one team alone gets half, each of
 * two a third, and whoever comes next always finds some, however long the others keep theirs.
 */
export interface FairShare {
  /** Resolves when one more request may be made. An endpoint asks for one at a time. */
  acquire(teamId: string, endpointId: string): Promise<void>;
  release(teamId: string, endpointId: string): void;
}

interface Member {
  teamId: string;
  underWay: number;
  /** It waits for one more. */
  go: (() => void) | undefined;
}

export const createFairShare = (places: number): FairShare => new SharedPlaces(places);

class SharedPlaces implements FairShare {
  #free: number;
  /** Of the shared places, by team. */
  readonly #taken = new Map<string, number>();
  readonly #members = new Map<string, Member>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Member>();

  constructor(places: number) {
    this.#free = places;
  }

  acquire(teamId: string, endpointId: string): Promise<void> {
    const member = this.#members.get(endpointId) ?? { teamId, underWay: 0, go: undefined };
    this.#members.set(endpointId, member);
    return new Promise((go) => {
      member.go = go;
      this.#waiting.add(member);
      if (this.#mayHaveOne(member)) this.#give(member);
    });
  }

  release(teamId: string, endpointId: string): void {
    const member = this.#members.get(endpointId);
    if (!member) return;
    if (--member.underWay > 0) this.#move(teamId, -1);
    else if (member.go) this.#give(member);
    else this.#members.delete(endpointId);
    for (let next = this.#next(); next && this.#mayHaveOne(next); next = this.#next()) this.#give(next);
  }

  #mayHaveOne({ teamId, underWay }: Member): boolean {
    return underWay === 0 || this.#takenBy(teamId) < this.#free;
  }

  #give(member: Member): void {
    if (++member.underWay > 1) this.#move(member.teamId, 1);
    this.#waiting.delete(member);
    member.go?.();
    member.go = undefined;
  }

  /** Of the team that has the fewest, the endpoint that has the fewest, and of those who waits longest. */
  #next(): Member | undefined {
    let best: Member | undefined;
    for (const member of this.#waiting) {
      if (!best) best = member;
      const fewer = this.#takenBy(member.teamId) - this.#takenBy(best.teamId) || member.underWay - best.underWay;
      if (fewer < 0) best = member;
    }
    return best;
  }

  #takenBy(teamId: string): number {
    return this.#taken.get(teamId) ?? 0;
  }

  #move(teamId: string, change: 1 | -1): void {
    const taken = this.#takenBy(teamId) + change;
    this.#free -= change;
    if (taken === 0) this.#taken.delete(teamId);
    else this.#taken.set(teamId, taken);
  }
}
