import { createFairShare, type FairShare } from '../../platform/limits/index.ts';
import type { IdleSessions, Peer, PooledSession } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { OpeningRequests, type OpeningRequest, type TenantRequests } from './opening-requests.ts';
import type { Deferral } from './delivery-job.ts';

type Opening = Pick<OpeningRequest, 'tenant'> & { address: MxAddress };

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
  isWanted(tenant: string, address: MxAddress): boolean {
    const isScarce =
      (this.#requests.count > 0 && this.#sockets >= this.#countMax) || (address.wanted > 0 && address.isFull);
    return isScarce || (this.#requests.hasTenant(tenant) && !this.mayHold(tenant, address));
  }

  /** Whether requests wait that this connection cannot serve but its slot can: then it is closed instead of parked. */
  isInTheWay({ address, key }: Peer): boolean {
    const served = address.countWanted(key);
    return (
      (this.#requests.count > served && this.#sockets >= this.#countMax) || (address.wanted > served && address.isFull)
    );
  }

  mayHold(tenant: string, address?: MxAddress): boolean {
    return this.#held.fits(tenant) && (address?.mayHold(tenant) ?? true);
  }

  /** Records that a connection to this address carries the party's mail from now on. */
  beginUse(tenant: string, address: MxAddress): void {
    this.#held.enter(tenant);
    address.beginUse(tenant);
  }

  endUse(tenant: string, address: MxAddress): void {
    this.#held.leave(tenant);
    address.endUse(tenant);
  }

  /** Calls the waiter's `handOut` once the party may hold another connection. */
  awaitShare(tenant: string, waiter: ShareWaiter): void {
    const waiters = this.#shareWaiters.get(tenant) ?? new Set();
    this.#shareWaiters.set(tenant, waiters.add(waiter));
  }

  /** Answers at once if possible; the returned function withdraws a request that still waits. */
  request(request: OpeningRequest): () => void {
    const { tenant, peer } = request;
    this.#requests.add(request);
    if (peer.address.refusal) this.#failed.add(peer.address);
    this.serve();
    if (this.#requests.has(request) && peer.address.isFull && peer.address.mayHold(tenant))
      this.#idle.closeOne(peer.address);
    return () => this.#requests.remove(request);
  }

  /**
   * Passes a connection that its destination does not need to the next request it would serve. Returns false if there
   * is none, or if a request that needs its slot comes first.
   */
  pass(session: PooledSession): boolean {
    const { peer } = session;
    if (peer.address.countWanted(peer.key) === 0) return false;
    for (const [tenant, requests] of this.#requests.tenants()) {
      if (!this.#held.fits(tenant)) continue;
      const next = this.#nextFor(tenant, requests, peer);
      if (!next) continue;
      if (next.peer.key !== peer.key) return false;
      this.#lend(session, next);
      return true;
    }
    return false;
  }

  /** The party's first request that could use this connection, or its slot once it is closed. */
  #nextFor(tenant: string, requests: TenantRequests, lent: Peer): OpeningRequest | undefined {
    for (const { peer, requests: alike } of requests.byPeer) {
      const isAlike = peer.key === lent.key;
      if (!peer.address.mayHold(tenant) || !(isAlike || this.#makesRoomFor(lent.address, peer.address, tenant)))
        continue;
      for (const request of alike) if (isAlike ? request.mayAdopt() : request.isReady()) return request;
    }
    return undefined;
  }

  /** Whether closing a connection to one address makes room for one to the other; not while another is being closed already. */
  #makesRoomFor(closed: MxAddress, wanted: MxAddress, tenant: string): boolean {
    if (!this.#openings.fits(tenant)) return false;
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

  opened({ tenant, address }: Opening): void {
    this.#openings.leave(tenant);
    this.#held.leave(tenant);
    address.opened(tenant);
  }

  failed({ tenant, address }: Opening, why: Deferral | undefined): void {
    this.#openings.leave(tenant);
    this.#held.leave(tenant);
    this.#sockets -= 1;
    address.failed(tenant, why);
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
      this.#notifyShareWaiters();
      // Idle connections are lent before refusals are given: an established connection counts for more than a later failure of its address.
      this.#lendIdle();
      this.#refuse();
      while (this.#round());
    }
    this.#isServing = false;
  }

  #notifyShareWaiters(): void {
    for (const [tenant, waiters] of [...this.#shareWaiters]) {
      if (!this.mayHold(tenant)) continue;
      this.#shareWaiters.delete(tenant);
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
    for (const [tenant, requests] of this.#requests.tenants()) {
      if (!this.#held.fits(tenant) || !this.#openings.fits(tenant)) continue;
      const request = firstReady(tenant, requests);
      if (!request) continue;
      if (this.#sockets >= this.#countMax) {
        this.#idle.closeOne();
        return false;
      }
      this.#sockets += 1;
      this.#held.enter(tenant);
      this.#openings.enter(tenant);
      request.peer.address.opens(tenant);
      this.#requests.hadTurn(request);
      this.#answer(request, 'open');
      wasAny = true;
    }
    return wasAny;
  }

  #lendIdle(): void {
    for (const peer of this.#idle.peers()) while (peer.address.countWanted(peer.key) > 0 && this.#adoptsIdle(peer));
  }

  #adoptsIdle({ address, key }: Peer): boolean {
    for (const [tenant, requests] of this.#requests.tenants()) {
      if (!this.#held.fits(tenant) || !address.mayHold(tenant)) continue;
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

function firstReady(tenant: string, requests: TenantRequests): OpeningRequest | undefined {
  for (const { peer, requests: alike } of requests.byPeer) {
    if (peer.address.isFull || !peer.address.mayHold(tenant)) continue;
    for (const request of alike) if (request.isReady()) return request;
  }
  return undefined;
}
