import { createFairShare, type FairShare } from '../../../platform/fair-share/index.ts';
import type { IdleSessions, Peer } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import type { Deferral } from './outcome.ts';
import type { SmtpSession } from './smtp-session.ts';

/** Somebody who wants a connection to a peer for a team. */
export interface OpeningRequest {
  team: string;
  peer: Peer;
  /** Nothing of its own speaks against it. */
  isReady(): boolean;
  /** It may open, and tells how that ended; or the address failed meanwhile. */
  answer(permission: 'open' | NonNullable<MxAddress['refusal']>): void;
  /** Whether one that stands already would do as well; one that was idle may be dead. */
  mayAdopt(wasIdle: boolean): boolean;
  /** It has this one instead, which another destination had until now. */
  adopt(session: SmtpSession, wasIdle: boolean): void;
}

type Opening = Pick<OpeningRequest, 'team'> & { address: MxAddress };

/** A destination with an idle connection that a team may not have yet. */
export interface ShareWaiter {
  handOut(): void;
}

/**
 * All destinations share the connections of the process, and teams share them fairly: each may hold as many as are free,
 * whether it opens them or has mail carried on them, and of one address twice as many as are free there; an idle connection
 * is nobody's. Openings have a half of the connections at the most, shared in the same way, because one that is never
 * greeted holds its place for minutes.
 */
export class ConnectionSlots {
  #countMax: number;
  #idle: IdleSessions;
  #sockets = 0;
  #held: FairShare;
  #openings: FairShare;
  #requests = new Map<string, Set<OpeningRequest>>();
  #wantedCount = 0;
  /** Teams that were given something since anybody waits. */
  #hadTurn = new Set<string>();
  /** Sockets that are being closed. */
  #leaving = 0;
  #shareWaiters = new Map<string, Set<ShareWaiter>>();
  #isServing = false;
  #serveAgain = false;

  constructor(countMax: number, idle: IdleSessions) {
    this.#countMax = countMax;
    this.#idle = idle;
    this.#held = createFairShare(countMax);
    this.#openings = createFairShare(Math.ceil(countMax / 2));
  }

  /** Somebody waits for a slot, or for one of this address. */
  isScarce(address: MxAddress): boolean {
    return (this.#wantedCount > 0 && this.#sockets >= this.#countMax) || (address.wanted > 0 && address.isFull);
  }

  /** The team has as many as it may have, and waits for another. */
  isHeldUp(team: string, address: MxAddress): boolean {
    return this.#requests.has(team) && !this.mayHold(team, address);
  }

  /** Somebody waits whom this connection would not serve: it does more good closed than idle. */
  isInTheWay({ address, key }: Peer): boolean {
    const served = address.wantedOf(key);
    return (
      (this.#wantedCount > served && this.#sockets >= this.#countMax) || (address.wanted > served && address.isFull)
    );
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
    const { team, peer } = request;
    // Who asks for the first time comes before those who ask again and again.
    if (this.#hadTurn.has(team)) this.#requests.set(team, requests);
    else if (!known) this.#requests = new Map([[team, requests], ...this.#requests]);
    this.#wantedCount += 1;
    peer.address.want(peer.key, 1);
    this.serve();
    if (requests.has(request) && peer.address.isFull && peer.address.mayHold(team)) this.#idle.closeOne(peer.address);
    return () => this.#withdraw(request);
  }

  /**
   * A connection that its destination can do without, to whoever waits for one like it; answers whether anybody did. Nobody
   * does where somebody who needs its place instead comes before them.
   */
  pass(session: SmtpSession, peer: Peer, wasIdle: boolean): boolean {
    if (peer.address.wanted === 0) return false;
    for (const [team, requests] of [...this.#requests]) {
      if (!this.#held.fits(team)) continue;
      for (const request of requests) {
        if (!request.peer.address.mayHold(team)) continue;
        if (request.peer.key !== peer.key) {
          if (this.#needsPlaceOf(peer.address, request)) return false;
        } else if (request.mayAdopt(wasIdle)) {
          this.#hadItsTurn(team, requests);
          this.#withdraw(request);
          request.adopt(session, wasIdle);
          return true;
        }
      }
    }
    return false;
  }

  /** Unless another is on its way out already. */
  #needsPlaceOf(address: MxAddress, request: OpeningRequest): boolean {
    if (!this.#openings.fits(request.team) || !request.isReady()) return false;
    const wanted = request.peer.address;
    if (wanted === address) return address.isFull && address.leaving === 0;
    return this.#sockets >= this.#countMax && !wanted.isFull && this.#leaving === 0;
  }

  /** A connection is being closed. */
  leaves(address: MxAddress): void {
    this.#leaving += 1;
    address.leaving += 1;
  }

  opened({ team, address }: Opening): void {
    this.#openings.leave(team);
    this.#held.leave(team);
    address.opened(team);
  }

  failed({ team, address }: Opening, why: Deferral | undefined): void {
    this.#openings.leave(team);
    this.#held.leave(team);
    this.#sockets -= 1;
    address.failed(team, why);
    this.serve();
  }

  /** A connection that was being closed is gone. */
  left(address: MxAddress): void {
    this.#leaving -= 1;
    address.leaving -= 1;
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
      // Before an address that failed is refused: a connection that stands is worth more than what was heard of it since.
      this.#lendIdle();
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
        const { refusal } = request.peer.address;
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
        this.#idle.closeOne();
        return false;
      }
      this.#sockets += 1;
      this.#held.enter(team);
      this.#openings.enter(team);
      request.peer.address.opens(team);
      this.#hadItsTurn(team, requests);
      this.#answer(request, 'open');
      wasAny = true;
    }
    return wasAny;
  }

  #lendIdle(): void {
    const adopts = ([team, requests]: [string, Set<OpeningRequest>]): boolean =>
      this.#held.fits(team) && this.#adoptsIdle(team, requests);
    while (this.#idle.size > 0 && [...this.#requests].some(adopts));
  }

  #adoptsIdle(team: string, requests: Set<OpeningRequest>): boolean {
    for (const request of requests) {
      if (!request.peer.address.mayHold(team) || !request.mayAdopt(true)) continue;
      const idle = this.#idle.take(request.peer.key);
      if (!idle) continue;
      this.#hadItsTurn(team, requests);
      this.#withdraw(request);
      request.adopt(idle.session, true);
      return true;
    }
    return false;
  }

  /** Its next one comes behind those of the others: there may be but one place that all of them wait for. */
  #hadItsTurn(team: string, requests: Set<OpeningRequest>): void {
    this.#requests.delete(team);
    this.#requests.set(team, requests);
    this.#hadTurn.add(team);
  }

  #answer(request: OpeningRequest, permission: Parameters<OpeningRequest['answer']>[0]): void {
    this.#withdraw(request);
    request.answer(permission);
  }

  #withdraw(request: OpeningRequest): void {
    const requests = this.#requests.get(request.team);
    if (!requests?.delete(request)) return;
    this.#wantedCount -= 1;
    request.peer.address.want(request.peer.key, -1);
    if (requests.size === 0) this.#requests.delete(request.team);
    if (this.#wantedCount === 0) this.#hadTurn.clear();
  }
}

function firstReady(team: string, requests: Iterable<OpeningRequest>): OpeningRequest | undefined {
  for (const request of requests) {
    const { address } = request.peer;
    if (!address.isFull && address.mayHold(team) && request.isReady()) return request;
  }
  return undefined;
}
