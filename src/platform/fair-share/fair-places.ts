import { createFairShare, type FairShare } from './fair-share.ts';

/** Places for those who belong to teams. Each has one to itself, whatever the others do; beyond that teams share what there is. */
export interface FairPlaces {
  /** Resolves when one more is its. A member asks for one at a time. */
  acquire(teamId: string, memberId: string): Promise<void>;
  release(memberId: string): void;
}

interface Member {
  teamId: string;
  places: number;
  /** It waits for one more. */
  go: (() => void) | undefined;
}

export const createFairPlaces = (shared: number): FairPlaces => new Places(shared);

class Places implements FairPlaces {
  /** Beyond each member's own one. */
  readonly #shared: FairShare;
  readonly #members = new Map<string, Member>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Member>();

  constructor(shared: number) {
    this.#shared = createFairShare(shared);
  }

  acquire(teamId: string, memberId: string): Promise<void> {
    const member = this.#members.get(memberId) ?? { teamId, places: 0, go: undefined };
    this.#members.set(memberId, member);
    return new Promise((go) => {
      member.go = go;
      this.#waiting.add(member);
      if (this.#mayHaveOne(member)) this.#give(member);
    });
  }

  release(memberId: string): void {
    const member = this.#members.get(memberId);
    if (!member) return;
    if (--member.places > 0) this.#shared.leave(member.teamId);
    else if (member.go) this.#give(member);
    else this.#members.delete(memberId);
    for (let next = this.#next(); next && this.#mayHaveOne(next); next = this.#next()) this.#give(next);
  }

  #mayHaveOne({ teamId, places }: Member): boolean {
    return places === 0 || this.#shared.fits(teamId);
  }

  #give(member: Member): void {
    if (++member.places > 1) this.#shared.enter(member.teamId);
    this.#waiting.delete(member);
    member.go?.();
    member.go = undefined;
  }

  /** Of the team that has the fewest, the member that has the fewest, and of those who waits longest. */
  #next(): Member | undefined {
    let best: Member | undefined;
    for (const member of this.#waiting) {
      best ??= member;
      const fewer = this.#shared.held(member.teamId) - this.#shared.held(best.teamId) || member.places - best.places;
      if (fewer < 0) best = member;
    }
    return best;
  }
}
