import type { Peer, PooledSession } from './idle-sessions.ts';
import type { MxAddress } from './mx-address.ts';
import { tenantBefore } from './waiters-by-tenant.ts';

/** A destination's request for a connection to a peer, for one party. */
export interface OpeningRequest {
  tenant: string;
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
export class TenantRequests {
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
  #newcomers = new Map<string, TenantRequests>();
  #others = new Map<string, TenantRequests>();
  #hadTurn = new Set<string>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  hasTenant(tenant: string): boolean {
    return this.#chooseQueue(tenant).has(tenant);
  }

  has(request: OpeningRequest): boolean {
    return this.#chooseQueue(request.tenant).get(request.tenant)?.has(request) ?? false;
  }

  add(request: OpeningRequest): void {
    const queue = this.#chooseQueue(request.tenant);
    const requests = queue.get(request.tenant) ?? new TenantRequests();
    requests.add(request);
    queue.set(request.tenant, requests);
    this.#count += 1;
    request.peer.address.want(request.peer.key, 1);
  }

  remove(request: OpeningRequest): void {
    const queue = this.#chooseQueue(request.tenant);
    const requests = queue.get(request.tenant);
    if (!requests?.has(request)) return;
    requests.remove(request);
    if (requests.isEmpty) queue.delete(request.tenant);
    this.#count -= 1;
    request.peer.address.want(request.peer.key, -1);
    if (this.#count === 0) this.#hadTurn.clear();
  }

  /** Moves the party after all others, so that each has its turn even if all wait for one slot. */
  hadTurn({ tenant, peer }: OpeningRequest): void {
    const queue = this.#chooseQueue(tenant);
    const requests = queue.get(tenant);
    if (!requests) return;
    queue.delete(tenant);
    requests.hadTurn(peer.key);
    this.#hadTurn.add(tenant);
    this.#others.set(tenant, requests);
  }

  /** A snapshot of the parties, next in turn first; a team's marketing mail comes after its transactional mail. */
  tenants(): [party: string, requests: TenantRequests][] {
    const inTurn = [...[...this.#newcomers].reverse(), ...this.#others];
    const hasEarlierTenant = ([tenant]: [string, TenantRequests]): boolean =>
      this.hasTenant(tenantBefore(tenant) ?? '');
    if (!inTurn.some(hasEarlierTenant)) return inTurn;
    return [...inTurn.filter((one) => !hasEarlierTenant(one)), ...inTurn.filter(hasEarlierTenant)];
  }

  at(address: MxAddress): OpeningRequest[] {
    if (address.wanted === 0) return [];
    const alike = this.tenants().flatMap(([, requests]) => [...requests.byPeer]);
    return alike.filter(({ peer }) => peer.address === address).flatMap(({ requests }) => [...requests]);
  }

  #chooseQueue(tenant: string): Map<string, TenantRequests> {
    return this.#hadTurn.has(tenant) ? this.#others : this.#newcomers;
  }
}
