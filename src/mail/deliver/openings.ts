import { onAbort } from './abort-watch.ts';
import type { DestinationOptions } from './destination-options.ts';
import type { FailureMemory } from './failure-memory.ts';
import type { Peer, PooledSession } from './idle-sessions.ts';
import { STOPPING } from './lease.ts';
import type { MxAddress } from './mx-address.ts';
import { addressOutcome, allFailed, notTried, tookTooLong, type FailedTarget } from './opening-outcome.ts';
import type { JobOutcome } from './delivery-job.ts';

/** The interface of a destination to its openings. */
export interface OpeningsOwner {
  hasWaiters(): boolean;
  hasConnections(): boolean;
  isFull(): boolean;
  /** Whether a waiter may have a connection to this peer now. */
  mayAdopt(peer: Peer): boolean;
  /** Takes in a connection of another destination. */
  adopt(session: PooledSession): void;
  ended(end: OpeningEnd): void;
}

const UNNEEDED = { kind: 'unneeded' } as const;

/** `unneeded`: no mail waits for it any more, or an existing connection served instead. */
export type OpeningEnd = { kind: 'open'; session: PooledSession } | typeof UNNEEDED | JobOutcome;

/** The openings of one destination: each goes along a route, and waits at each of its hosts for the permission of the slots. */
export class Openings {
  #options: DestinationOptions;
  #failures: FailureMemory;
  #owner: OpeningsOwner;
  /** Aborted when the destination stops. */
  #signal: AbortSignal;
  /** Openings that wait for permission or are under way, by the party they are for. */
  #wanted = new Map<string, number>();
  #wantedCount = 0;
  #underWay = 0;

  constructor(options: DestinationOptions, failures: FailureMemory, signal: AbortSignal, owner: OpeningsOwner) {
    this.#options = options;
    this.#failures = failures;
    this.#signal = signal;
    this.#owner = owner;
  }

  get wanted(): number {
    return this.#wantedCount;
  }

  /** Number of openings that hold a slot. */
  get underWay(): number {
    return this.#underWay;
  }

  wantedFor(tenant: string): number {
    return this.#wanted.get(tenant) ?? 0;
  }

  begin(tenant: string): void {
    void this.#run(tenant);
  }

  async #run(tenant: string): Promise<void> {
    this.#countWanted(tenant, 1);
    const end = await this.#openFirst(tenant);
    this.#countWanted(tenant, -1);
    if (end.kind === 'open') {
      this.#underWay -= 1;
      this.#options.slots.opened({ tenant, address: end.session.peer.address });
    }
    // Runs in the same turn, because until then the connection is counted nowhere.
    this.#owner.ended(end);
  }

  /** Opens the first of the route's targets that greets us; the failures of the others become the detail. */
  async #openFirst(tenant: string): Promise<OpeningEnd> {
    const { clock, limits, slots } = this.#options;
    const route = await this.#options.route();
    if (route.kind !== 'route') return route;
    const failures: FailedTarget[] = [];
    let leftMs = limits.openMs;
    for (const target of route.targets) {
      if (leftMs <= 0) {
        failures.push(tookTooLong(target, limits.openMs));
        break;
      }
      const peer = this.#options.findPeer(target);
      const permission = await this.#permission(tenant, peer);
      if (permission === 'stopping' || permission === 'unneeded')
        return permission === 'stopping' ? STOPPING : UNNEEDED;
      if (permission !== 'open') {
        failures.push(notTried(target, permission));
        continue;
      }
      const from = clock.now();
      const opened = await this.#options.open(target, this.#failures.skipsTls(target.address), leftMs, this.#signal);
      leftMs -= Math.max(0, clock.now() - from);
      if (opened.kind === 'open') {
        if (opened.handshakeFailed) this.#failures.handshakeFailed(target.address);
        return { kind: 'open', session: Object.assign(opened.session, { peer }) };
      }
      this.#underWay -= 1;
      const failure: FailedTarget = { ...opened, mx: target.host };
      failures.push(failure);
      slots.failed({ tenant, address: peer.address }, addressOutcome(failure));
      // A login that one address of a relay refuses is refused by the others, and providers count refusals.
      if (opened.reason === 'relay_misconfigured') break;
    }
    return this.#signal.aborted ? STOPPING : allFailed(failures);
  }

  /** Resolves when the slots permit an opening, or when the opening is refused or no longer needed. */
  #permission(tenant: string, peer: Peer): Promise<'open' | 'stopping' | 'unneeded' | Refusal> {
    const { slots } = this.#options;
    const owner = this.#owner;
    return new Promise((resolve) => {
      let withdraw = (): void => undefined;
      const unwatch = onAbort(this.#signal, () => {
        withdraw();
        resolve('stopping');
      });
      if (this.#signal.aborted) return;
      withdraw = slots.request({
        tenant,
        peer,
        // Until the destination has greeted us, only one opening is under way.
        isReady: () => !owner.isFull() && (owner.hasConnections() || this.#underWay === 0),
        answer: (answer) => {
          unwatch();
          if (answer !== 'open') return resolve(answer);
          if (owner.hasWaiters()) {
            this.#underWay += 1;
            return resolve('open');
          }
          slots.failed({ tenant, address: peer.address }, undefined);
          resolve('unneeded');
        },
        mayAdopt: () => !owner.isFull() && owner.mayAdopt(peer),
        adopt: (session) => {
          unwatch();
          owner.adopt(session);
          resolve('unneeded');
        },
      });
    });
  }

  #countWanted(tenant: string, change: 1 | -1): void {
    this.#wantedCount += change;
    const wanted = this.wantedFor(tenant) + change;
    if (wanted === 0) this.#wanted.delete(tenant);
    else this.#wanted.set(tenant, wanted);
  }
}

type Refusal = NonNullable<MxAddress['refusal']>;
