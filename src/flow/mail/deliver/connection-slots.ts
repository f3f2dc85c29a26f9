import { createFairShare, type FairShare } from '../../../platform/fair-share/index.ts';
import type { IdleSessions, Peer } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { OpeningRequests, type OpeningRequest, type TeamRequests } from './opening-requests.ts';
import type { Deferral } from './delivery-job.ts';
import type { SmtpSession } from './smtp-session.ts';

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
  #requests = new OpeningRequests();
  /** Addresses that failed since requests were last refused. */
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

  /** Somebody waits for a slot, or for one of this address. */
  isScarce(address: MxAddress): boolean {
    return (this.#requests.count > 0 && this.#sockets >= this.#countMax) || (address.wanted > 0 && address.isFull);
  }

  /** The team has as many as it may have, and waits for another. */
  isHeldUp(team: string, address: MxAddress): boolean {
    return this.#requests.hasTeam(team) && !this.mayHold(team, address);
  }

  /** Somebody waits whom this connection would not serve: it does more good closed than idle. */
  isInTheWay({ address, key }: Peer): boolean {
    const served = address.wantedOf(key);
    return (
      (this.#requests.count > served && this.#sockets >= this.#countMax) || (address.wanted > served && address.isFull)
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
    const { team, peer } = request;
    this.#requests.add(request);
    if (peer.address.refusal) this.#failed.add(peer.address);
    this.serve();
    if (this.#requests.has(request) && peer.address.isFull && peer.address.mayHold(team))
      this.#idle.closeOne(peer.address);
    return () => this.#requests.remove(request);
  }

  /**
   * A connection that its destination can do without, to whoever waits for one like it; answers whether anybody did. Nobody
   * does where somebody who needs its place instead comes before them.
   */
  pass(session: SmtpSession, peer: Peer, wasIdle: boolean): boolean {
    if (peer.address.wantedOf(peer.key) === 0) return false;
    for (const [team, requests] of this.#requests.teams()) {
      if (!this.#held.fits(team)) continue;
      const next = this.#nextFor(team, requests, peer, wasIdle);
      if (!next) continue;
      if (next.peer.key !== peer.key) return false;
      this.#lend(session, next, wasIdle);
      return true;
    }
    return false;
  }

  /** Who of a team comes first that could do something with this connection or with its place. */
  #nextFor(team: string, requests: TeamRequests, lent: Peer, wasIdle: boolean): OpeningRequest | undefined {
    for (const { peer, requests: alike } of requests.byPeer) {
      const isAlike = peer.key === lent.key;
      if (!peer.address.mayHold(team) || !(isAlike || this.#wouldDo(lent.address, peer.address, team))) continue;
      for (const request of alike) if (isAlike ? request.mayAdopt(wasIdle) : request.isReady()) return request;
    }
    return undefined;
  }

  /** Whether a connection to one address, closed, makes room for one to the other, unless another is on its way out already. */
  #wouldDo(closed: MxAddress, wanted: MxAddress, team: string): boolean {
    if (!this.#openings.fits(team)) return false;
    if (wanted === closed) return wanted.isFull && wanted.leaving === 0;
    return this.#sockets >= this.#countMax && !wanted.isFull && this.#leaving === 0;
  }

  #lend(session: SmtpSession, request: OpeningRequest, wasIdle: boolean): void {
    this.#requests.hadTurn(request);
    this.#requests.remove(request);
    request.adopt(session, wasIdle);
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
    if (why) this.#failed.add(address);
    this.serve();
  }

  /** A connection that stood broke off. */
  brokeOff(address: MxAddress, why: Deferral): void {
    address.backOff.failedTogether(why);
    this.#failed.add(address);
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
    if (this.#requests.count + this.#shareWaiters.size === 0) return this.#failed.clear();
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
    for (const address of [...this.#failed]) {
      this.#failed.delete(address);
      const { refusal } = address;
      if (!refusal) continue;
      for (const request of this.#requests.at(address)) if (this.#requests.has(request)) this.#answer(request, refusal);
    }
  }

  /** One opening for each team that may have it; answers whether there was any. */
  #round(): boolean {
    let wasAny = false;
    for (const [team, requests] of this.#requests.teams()) {
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
    for (const [team, requests] of this.#requests.teams()) {
      if (!this.#held.fits(team) || !address.mayHold(team)) continue;
      for (const request of requests.of(key)) {
        if (!request.mayAdopt(true)) continue;
        const idle = this.#idle.take(key);
        if (!idle) return false;
        this.#lend(idle.session, request, true);
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

function firstReady(team: string, requests: TeamRequests): OpeningRequest | undefined {
  for (const { peer, requests: alike } of requests.byPeer) {
    if (peer.address.isFull || !peer.address.mayHold(team)) continue;
    for (const request of alike) if (request.isReady()) return request;
  }
  return undefined;
}
