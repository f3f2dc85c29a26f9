import { createFairShare, type FairShare } from './fair-share.ts';

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
