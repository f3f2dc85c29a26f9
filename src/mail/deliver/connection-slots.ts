import { createFairShare, type FairShare } from '../../platform/limits/index.ts';
import type { IdleSessions, Peer, PooledSession } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { OpeningRequests, type OpeningRequest, type PartyRequests } from './opening-requests.ts';
import type { Deferral } from './delivery-job.ts';

type Opening = Pick<OpeningRequest, 'party'> & { address: MxAddress };

/** A destination with an idle connection whose waiters belong to parties that have used up their shares. */
export interface ShareWaiter {
  handOut(): void;
}

/**
 * The connections of the process, which all destinations share. Parties share them fairly: each may hold as many as are
 * free, counting those it opens and those that carry its mail, and at one address twice as many as are free there; idle
 * connections count for no party. Openings may take half of the connections, shared in the same way, because a
 * connection that is never greeted holds its slot for minutes.
 */
export class ConnectionSlots {
  #countMax: number;
  #idle: IdleSessions;
  #sockets = 0;
  #held: FairShare;
  #openings: FairShare;
  #requests = new OpeningRequests();
  /** Addresses that failed and whose waiting requests are still to be refused. */
  #failed = new Set<MxAddress>();
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

  /**
   * Whether somebody waits for the capacity that this connection occupies: requests that find all slots, or all of this
   * address, in use, or the party itself if it has used up its share.
   */
  isWanted(party: string, address: MxAddress): boolean {
    const isScarce =
      (this.#requests.count > 0 && this.#sockets >= this.#countMax) || (address.wanted > 0 && address.isFull);
    return isScarce || (this.#requests.hasParty(party) && !this.mayHold(party, address));
  }

  /** Whether requests wait that this connection cannot serve but its slot can: then it is closed instead of parked. */
  isInTheWay({ address, key }: Peer): boolean {
    const served = address.wantedOf(key);
    return (
      (this.#requests.count > served && this.#sockets >= this.#countMax) || (address.wanted > served && address.isFull)
    );
  }

  mayHold(party: string, address?: MxAddress): boolean {
    return this.#held.fits(party) && (address?.mayHold(party) ?? true);
  }

  /** Records that a connection to this address carries the party's mail from now on. */
  carry(party: string, address: MxAddress): void {
    this.#held.enter(party);
    address.carry(party);
  }

  carried(party: string, address: MxAddress): void {
    this.#held.leave(party);
    address.carried(party);
  }

  /** Calls the waiter's `handOut` once the party may hold another connection. */
  awaitShare(party: string, waiter: ShareWaiter): void {
    const waiters = this.#shareWaiters.get(party) ?? new Set();
    this.#shareWaiters.set(party, waiters.add(waiter));
  }

  /** Answers at once if possible; the returned function withdraws a request that still waits. */
  request(request: OpeningRequest): () => void {
    const { party, peer } = request;
    this.#requests.add(request);
    if (peer.address.refusal) this.#failed.add(peer.address);
    this.serve();
    if (this.#requests.has(request) && peer.address.isFull && peer.address.mayHold(party))
      this.#idle.closeOne(peer.address);
    return () => this.#requests.remove(request);
  }

  /**
   * Passes a connection that its destination does not need to the next request it would serve. Returns false if there
   * is none, or if a request that needs its slot comes first.
   */
  pass(session: PooledSession): boolean {
    const { peer } = session;
    if (peer.address.wantedOf(peer.key) === 0) return false;
    for (const [party, requests] of this.#requests.parties()) {
      if (!this.#held.fits(party)) continue;
      const next = this.#nextFor(party, requests, peer);
      if (!next) continue;
      if (next.peer.key !== peer.key) return false;
      this.#lend(session, next);
      return true;
    }
    return false;
  }

  /** The party's first request that could use this connection, or its slot once it is closed. */
  #nextFor(party: string, requests: PartyRequests, lent: Peer): OpeningRequest | undefined {
    for (const { peer, requests: alike } of requests.byPeer) {
      const isAlike = peer.key === lent.key;
      if (!peer.address.mayHold(party) || !(isAlike || this.#makesRoomFor(lent.address, peer.address, party))) continue;
      for (const request of alike) if (isAlike ? request.mayAdopt() : request.isReady()) return request;
    }
    return undefined;
  }

  /** Whether closing a connection to one address makes room for one to the other; not while another is being closed already. */
  #makesRoomFor(closed: MxAddress, wanted: MxAddress, party: string): boolean {
    if (!this.#openings.fits(party)) return false;
    if (wanted === closed) return wanted.isFull && wanted.leaving === 0;
    return this.#sockets >= this.#countMax && !wanted.isFull && this.#leaving === 0;
  }

  #lend(session: PooledSession, request: OpeningRequest): void {
    this.#requests.hadTurn(request);
    this.#requests.remove(request);
    request.adopt(session);
  }

  /** Records that a connection is being closed. */
  leaves(address: MxAddress): void {
    this.#leaving += 1;
    address.leaving += 1;
  }

  opened({ party, address }: Opening): void {
    this.#openings.leave(party);
    this.#held.leave(party);
    address.opened(party);
  }

  failed({ party, address }: Opening, why: Deferral | undefined): void {
    this.#openings.leave(party);
    this.#held.leave(party);
    this.#sockets -= 1;
    address.failed(party, why);
    if (why) this.#failed.add(address);
    this.serve();
  }

  /** Records that an established connection broke. */
  brokeOff(address: MxAddress, why: Deferral): void {
    address.backOff.failedTogether(why);
    this.#failed.add(address);
  }

  /** Records that a connection that was being closed is gone. */
  left(address: MxAddress): void {
    this.#leaving -= 1;
    address.leaving -= 1;
    this.#sockets -= 1;
    address.left();
    this.serve();
  }

  /** Gives free slots and idle connections to the requests, to each party in turn. */
  serve(): void {
    if (this.#requests.count + this.#shareWaiters.size === 0) return this.#failed.clear();
    this.#serveAgain = true;
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#serveAgain) {
      this.#serveAgain = false;
      this.#tellShareWaiters();
      // Idle connections are lent before refusals are given: an established connection counts for more than a later failure of its address.
      this.#lendIdle();
      this.#refuse();
      while (this.#round());
    }
    this.#isServing = false;
  }

  #tellShareWaiters(): void {
    for (const [party, waiters] of [...this.#shareWaiters]) {
      if (!this.mayHold(party)) continue;
      this.#shareWaiters.delete(party);
      for (const waiter of waiters) waiter.handOut();
    }
  }

  #refuse(): void {
    for (const address of [...this.#failed]) {
      this.#failed.delete(address);
      const { refusal } = address;
      if (!refusal) continue;
      for (const request of this.#requests.at(address)) if (this.#requests.has(request)) this.#answer(request, refusal);
    }
  }

  /** Permits one opening for each party that may have one; returns false if none may. */
  #round(): boolean {
    let wasAny = false;
    for (const [party, requests] of this.#requests.parties()) {
      if (!this.#held.fits(party) || !this.#openings.fits(party)) continue;
      const request = firstReady(party, requests);
      if (!request) continue;
      if (this.#sockets >= this.#countMax) {
        this.#idle.closeOne();
        return false;
      }
      this.#sockets += 1;
      this.#held.enter(party);
      this.#openings.enter(party);
      request.peer.address.opens(party);
      this.#requests.hadTurn(request);
      this.#answer(request, 'open');
      wasAny = true;
    }
    return wasAny;
  }

  #lendIdle(): void {
    for (const peer of this.#idle.peers()) while (peer.address.wantedOf(peer.key) > 0 && this.#adoptsIdle(peer));
  }

  #adoptsIdle({ address, key }: Peer): boolean {
    for (const [party, requests] of this.#requests.parties()) {
      if (!this.#held.fits(party) || !address.mayHold(party)) continue;
      for (const request of requests.of(key)) {
        if (!request.mayAdopt()) continue;
        const idle = this.#idle.take(key);
        if (!idle) return false;
        this.#lend(idle, request);
        return true;
      }
    }
    return false;
  }

  #answer(request: OpeningRequest, permission: Parameters<OpeningRequest['answer']>[0]): void {
    this.#requests.remove(request);
    request.answer(permission);
  }
}

function firstReady(party: string, requests: PartyRequests): OpeningRequest | undefined {
  for (const { peer, requests: alike } of requests.byPeer) {
    if (peer.address.isFull || !peer.address.mayHold(party)) continue;
    for (const request of alike) if (request.isReady()) return request;
  }
  return undefined;
}
