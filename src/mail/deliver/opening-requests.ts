import type { Peer, PooledSession } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { partyBefore } from './party.ts';

/** A destination's request for a connection to a peer, for one party. */
export interface OpeningRequest {
  party: string;
  peer: Peer;
  /** Whether the destination's own limits allow one more opening. */
  isReady(): boolean;
  /** Permits the opening, whose end must be reported to the slots, or refuses it because the address failed meanwhile. */
  answer(permission: 'open' | NonNullable<MxAddress['refusal']>): void;
  /** Whether an existing connection serves as well as a new one. */
  mayAdopt(): boolean;
  /** Hands over an existing connection of another destination. */
  adopt(session: PooledSession): void;
}

/** Requests that the same connection would serve, in order. */
interface Alike {
  peer: Peer;
  requests: Set<OpeningRequest>;
}

/** The requests of one party; the peers they ask for are served round robin. */
export class PartyRequests {
  #byKey = new Map<string, Alike>();

  add(request: OpeningRequest): void {
    const { peer } = request;
    const known = this.#byKey.get(peer.key);
    if (known) known.requests.add(request);
    else this.#byKey.set(peer.key, { peer, requests: new Set([request]) });
  }

  has(request: OpeningRequest): boolean {
    return this.#byKey.get(request.peer.key)?.requests.has(request) ?? false;
  }

  remove(request: OpeningRequest): void {
    const { key } = request.peer;
    const alike = this.#byKey.get(key);
    if (alike?.requests.delete(request) && alike.requests.size === 0) this.#byKey.delete(key);
  }

  hadTurn(key: string): void {
    const alike = this.#byKey.get(key);
    if (!alike) return;
    this.#byKey.delete(key);
    this.#byKey.set(key, alike);
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  get byPeer(): Iterable<Alike> {
    return this.#byKey.values();
  }

  of(key: string): Iterable<OpeningRequest> {
    return this.#byKey.get(key)?.requests ?? [];
  }
}

/**
 * All requests for connections. Parties are served round robin, and a party that asks for the first time comes before
 * those that were served already. Thousands may wait for one address without a free slot, so nothing here walks them
 * all for each mail.
 */
export class OpeningRequests {
  /** Parties that were given no connection since no request waited. The latest comes first, because most of them want few. */
  #newcomers = new Map<string, PartyRequests>();
  #others = new Map<string, PartyRequests>();
  #hadTurn = new Set<string>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  hasParty(party: string): boolean {
    return this.#queueOf(party).has(party);
  }

  has(request: OpeningRequest): boolean {
    return this.#queueOf(request.party).get(request.party)?.has(request) ?? false;
  }

  add(request: OpeningRequest): void {
    const queue = this.#queueOf(request.party);
    const requests = queue.get(request.party) ?? new PartyRequests();
    requests.add(request);
    queue.set(request.party, requests);
    this.#count += 1;
    request.peer.address.want(request.peer.key, 1);
  }

  remove(request: OpeningRequest): void {
    const queue = this.#queueOf(request.party);
    const requests = queue.get(request.party);
    if (!requests?.has(request)) return;
    requests.remove(request);
    if (requests.isEmpty) queue.delete(request.party);
    this.#count -= 1;
    request.peer.address.want(request.peer.key, -1);
    if (this.#count === 0) this.#hadTurn.clear();
  }

  /** Moves the party after all others, so that each has its turn even if all wait for one slot. */
  hadTurn({ party, peer }: OpeningRequest): void {
    const queue = this.#queueOf(party);
    const requests = queue.get(party);
    if (!requests) return;
    queue.delete(party);
    requests.hadTurn(peer.key);
    this.#hadTurn.add(party);
    this.#others.set(party, requests);
  }

  /** A snapshot of the parties, next in turn first; a team's marketing mail comes after its transactional mail. */
  parties(): [party: string, requests: PartyRequests][] {
    const inTurn = [...[...this.#newcomers].reverse(), ...this.#others];
    const isBehind = ([party]: [string, PartyRequests]): boolean => this.hasParty(partyBefore(party) ?? '');
    if (!inTurn.some(isBehind)) return inTurn;
    return [...inTurn.filter((one) => !isBehind(one)), ...inTurn.filter(isBehind)];
  }

  at(address: MxAddress): OpeningRequest[] {
    if (address.wanted === 0) return [];
    const alike = this.parties().flatMap(([, requests]) => [...requests.byPeer]);
    return alike.filter(({ peer }) => peer.address === address).flatMap(({ requests }) => [...requests]);
  }

  #queueOf(party: string): Map<string, PartyRequests> {
    return this.#hadTurn.has(party) ? this.#others : this.#newcomers;
  }
}
