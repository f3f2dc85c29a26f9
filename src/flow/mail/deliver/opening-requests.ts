import type { Peer } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
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

/** Requests that the same connection would serve, in their order. */
interface Alike {
  peer: Peer;
  requests: Set<OpeningRequest>;
}

/** What one team asks for; the peers it asks for take turns. */
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
 * Everybody who waits for a connection. Teams take turns, and one that asks for the first time comes before those that ask
 * again and again. There may be thousands behind one address that has no place: nothing here walks them all for each mail.
 */
export class OpeningRequests {
  /** Teams that were given nothing since anybody waits, whose turn comes last first: most of them want little. */
  #newcomers = new Map<string, TeamRequests>();
  #others = new Map<string, TeamRequests>();
  #hadTurn = new Set<string>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  hasTeam(team: string): boolean {
    return this.#placeOf(team).has(team);
  }

  has(request: OpeningRequest): boolean {
    return this.#placeOf(request.team).get(request.team)?.has(request) ?? false;
  }

  add(request: OpeningRequest): void {
    const place = this.#placeOf(request.team);
    const requests = place.get(request.team) ?? new TeamRequests();
    requests.add(request);
    place.set(request.team, requests);
    this.#count += 1;
    request.peer.address.want(request.peer.key, 1);
  }

  remove(request: OpeningRequest): void {
    const place = this.#placeOf(request.team);
    const requests = place.get(request.team);
    if (!requests?.has(request)) return;
    requests.remove(request);
    if (requests.isEmpty) place.delete(request.team);
    this.#count -= 1;
    request.peer.address.want(request.peer.key, -1);
    if (this.#count === 0) this.#hadTurn.clear();
  }

  /** Its team's next one comes behind those of the others: there may be but one place that all of them wait for. */
  hadTurn({ team, peer }: OpeningRequest): void {
    const place = this.#placeOf(team);
    const requests = place.get(team);
    if (!requests) return;
    place.delete(team);
    requests.hadTurn(peer.key);
    this.#hadTurn.add(team);
    this.#others.set(team, requests);
  }

  /** As they stand now, whose turn it is first. */
  teams(): [team: string, requests: TeamRequests][] {
    return [...[...this.#newcomers].reverse(), ...this.#others];
  }

  at(address: MxAddress): OpeningRequest[] {
    if (address.wanted === 0) return [];
    const alike = this.teams().flatMap(([, requests]) => [...requests.byPeer]);
    return alike.filter(({ peer }) => peer.address === address).flatMap(({ requests }) => [...requests]);
  }

  #placeOf(team: string): Map<string, TeamRequests> {
    return this.#hadTurn.has(team) ? this.#others : this.#newcomers;
  }
}
