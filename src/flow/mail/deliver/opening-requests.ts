import type { Peer } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { partyBefore } from './party.ts';
import type { SmtpSession } from './smtp-session.ts';

/** A destination's request for a connection to a peer, for one team. */
export interface OpeningRequest {
  team: string;
  peer: Peer;
  /** Whether the destination's own limits allow one more opening. */
  isReady(): boolean;
  /** Permits the opening, whose end is to be reported to the slots; or refuses it, because the address failed meanwhile. */
  answer(permission: 'open' | NonNullable<MxAddress['refusal']>): void;
  /** Whether an existing connection would do as well; one that was idle may be dead. */
  mayAdopt(wasIdle: boolean): boolean;
  /** Hands over an existing connection, which another destination had until now. */
  adopt(session: SmtpSession, wasIdle: boolean): void;
}

/** Requests that the same connection would serve, in their order. */
interface Alike {
  peer: Peer;
  requests: Set<OpeningRequest>;
}

/** The requests of one team; the peers they ask for are served round robin. */
export class TeamRequests {
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
 * All requests for connections. Teams are served round robin, and a team that asks for the first time comes before
 * those that were served already. Thousands may wait behind one address that has no slot free: nothing here walks them
 * all for each mail.
 */
export class OpeningRequests {
  /** Teams that were given nothing since the queue was last empty; the latest is served first, as most of them want little. */
  #newcomers = new Map<string, TeamRequests>();
  #others = new Map<string, TeamRequests>();
  #hadTurn = new Set<string>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  hasTeam(team: string): boolean {
    return this.#queueOf(team).has(team);
  }

  has(request: OpeningRequest): boolean {
    return this.#queueOf(request.team).get(request.team)?.has(request) ?? false;
  }

  add(request: OpeningRequest): void {
    const queue = this.#queueOf(request.team);
    const requests = queue.get(request.team) ?? new TeamRequests();
    requests.add(request);
    queue.set(request.team, requests);
    this.#count += 1;
    request.peer.address.want(request.peer.key, 1);
  }

  remove(request: OpeningRequest): void {
    const queue = this.#queueOf(request.team);
    const requests = queue.get(request.team);
    if (!requests?.has(request)) return;
    requests.remove(request);
    if (requests.isEmpty) queue.delete(request.team);
    this.#count -= 1;
    request.peer.address.want(request.peer.key, -1);
    if (this.#count === 0) this.#hadTurn.clear();
  }

  /** Puts the team behind the others, which may all be waiting for one single slot. */
  hadTurn({ team, peer }: OpeningRequest): void {
    const queue = this.#queueOf(team);
    const requests = queue.get(team);
    if (!requests) return;
    queue.delete(team);
    requests.hadTurn(peer.key);
    this.#hadTurn.add(team);
    this.#others.set(team, requests);
  }

  /** A snapshot of the teams, next in turn first; marketing mail comes behind the transactional mail of its team. */
  teams(): [team: string, requests: TeamRequests][] {
    const inTurn = [...[...this.#newcomers].reverse(), ...this.#others];
    const isBehind = ([team]: [string, TeamRequests]): boolean => this.hasTeam(partyBefore(team) ?? '');
    if (!inTurn.some(isBehind)) return inTurn;
    return [...inTurn.filter((one) => !isBehind(one)), ...inTurn.filter(isBehind)];
  }

  at(address: MxAddress): OpeningRequest[] {
    if (address.wanted === 0) return [];
    const alike = this.teams().flatMap(([, requests]) => [...requests.byPeer]);
    return alike.filter(({ peer }) => peer.address === address).flatMap(({ requests }) => [...requests]);
  }

  #queueOf(team: string): Map<string, TeamRequests> {
    return this.#hadTurn.has(team) ? this.#others : this.#newcomers;
  }
}
