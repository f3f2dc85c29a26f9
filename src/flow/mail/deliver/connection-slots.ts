import { createFairShare, type FairShare } from '../../../platform/fair-share/index.ts';
import type { MxAddress } from './mx-address.ts';
import type { Deferral } from './outcome.ts';

/** Somebody who wants to open a connection to an address for a team. */
export interface OpeningRequest {
  team: string;
  address: MxAddress;
  /** Nothing of its own speaks against it. */
  isReady(): boolean;
  /** It may open, and tells how that ended; or the address failed meanwhile. */
  answer(permission: 'open' | NonNullable<MxAddress['refusal']>): void;
}

/** A destination with an idle connection that a team may not have yet. */
export interface ShareWaiter {
  handOut(): void;
}

/**
 * All destinations share the connections of the process, and teams share them fairly: each may hold as many as are free,
 * whether it opens them or has mail carried on them, and of one address too; an idle connection is nobody's. Openings
 * have a half of the connections at the most, shared in the same way, because one that is never greeted holds its place
 * for minutes.
 */
export class ConnectionSlots {
  #countMax: number;
  #closeIdle: (address?: MxAddress) => void;
  #sockets = 0;
  #held: FairShare;
  #openings: FairShare;
  #requests = new Map<string, Set<OpeningRequest>>();
  #shareWaiters = new Map<string, Set<ShareWaiter>>();
  #isServing = false;
  #serveAgain = false;

  constructor(countMax: number, closeIdle: (address?: MxAddress) => void) {
    this.#countMax = countMax;
    this.#closeIdle = closeIdle;
    this.#held = createFairShare(countMax);
    this.#openings = createFairShare(Math.ceil(countMax / 2));
  }

  /** Somebody waits for a slot, or for one of this address: an idle connection does more good closed. */
  isScarce(address: MxAddress): boolean {
    return (this.#requests.size > 0 && this.#sockets >= this.#countMax) || (address.wanted > 0 && address.isFull);
  }

  mayHold(team: string, address?: MxAddress): boolean {
    return this.#held.fits(team) && (address?.mayHold(team) ?? true);
  }

  /** A connection to this address carries the team's mail from now on. */
  carry(team: string, address: MxAddress): void {
    this.#held.enter(team);
    address.carry(team);
  }

  carried(team: string, address: MxAddress): void {
    this.#held.leave(team);
    address.carried(team);
  }

  /** To be told when the team may hold another one. */
  awaitShare(team: string, waiter: ShareWaiter): void {
    const waiters = this.#shareWaiters.get(team) ?? new Set();
    this.#shareWaiters.set(team, waiters.add(waiter));
  }

  /** Answers at once where it can; the returned function withdraws what was not answered. */
  request(request: OpeningRequest): () => void {
    const known = this.#requests.get(request.team);
    const requests = (known ?? new Set()).add(request);
    // Who asks for the first time comes before those who ask again and again.
    if (!known) this.#requests = new Map([[request.team, requests], ...this.#requests]);
    request.address.wanted += 1;
    this.serve();
    const { team, address } = request;
    if (requests.has(request) && address.isFull && address.mayHold(team)) this.#closeIdle(address);
    return () => this.#withdraw(request);
  }

  opened({ team, address }: Pick<OpeningRequest, 'team' | 'address'>): void {
    this.#openings.leave(team);
    this.#held.leave(team);
    address.opened(team);
  }

  failed({ team, address }: Pick<OpeningRequest, 'team' | 'address'>, why: Deferral | undefined): void {
    this.#openings.leave(team);
    this.#held.leave(team);
    this.#sockets -= 1;
    address.failed(team, why);
    this.serve();
  }

  /** A connection that was opened is gone. */
  left(address: MxAddress): void {
    this.#sockets -= 1;
    address.left();
    this.serve();
  }

  /** Gives out what has become free, to each team in turn. */
  serve(): void {
    if (this.#requests.size + this.#shareWaiters.size === 0) return;
    this.#serveAgain = true;
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#serveAgain) {
      this.#serveAgain = false;
      this.#tellShareWaiters();
      this.#refuse();
      while (this.#round());
    }
    this.#isServing = false;
  }

  #tellShareWaiters(): void {
    for (const [team, waiters] of [...this.#shareWaiters]) {
      if (!this.mayHold(team)) continue;
      this.#shareWaiters.delete(team);
      for (const waiter of waiters) waiter.handOut();
    }
  }

  #refuse(): void {
    for (const requests of [...this.#requests.values()]) {
      for (const request of requests) {
        const { refusal } = request.address;
        if (refusal) this.#answer(request, refusal);
      }
    }
  }

  /** One opening for each team that may have it; answers whether there was any. */
  #round(): boolean {
    let wasAny = false;
    for (const [team, requests] of [...this.#requests]) {
      if (!this.#held.fits(team) || !this.#openings.fits(team)) continue;
      const request = firstReady(team, requests);
      if (!request) continue;
      if (this.#sockets >= this.#countMax) {
        this.#closeIdle();
        return false;
      }
      this.#sockets += 1;
      this.#held.enter(team);
      this.#openings.enter(team);
      request.address.opens(team);
      // Its next one comes behind those of the others: there may be but one place that all of them wait for.
      this.#requests.delete(team);
      this.#requests.set(team, requests);
      this.#answer(request, 'open');
      wasAny = true;
    }
    return wasAny;
  }

  #answer(request: OpeningRequest, permission: Parameters<OpeningRequest['answer']>[0]): void {
    this.#withdraw(request);
    request.answer(permission);
  }

  #withdraw(request: OpeningRequest): void {
    const requests = this.#requests.get(request.team);
    if (!requests?.delete(request)) return;
    request.address.wanted -= 1;
    if (requests.size === 0) this.#requests.delete(request.team);
  }
}

function firstReady(team: string, requests: Iterable<OpeningRequest>): OpeningRequest | undefined {
  for (const request of requests) {
    if (!request.address.isFull && request.address.mayHold(team) && request.isReady()) return request;
  }
  return undefined;
}
