import { onAbort } from './abort-watch.ts';
import type { ShareWaiter } from './connection-slots.ts';
import type { DestinationOptions } from './destination-options.ts';
import type { Ending } from './ending.ts';
import { FailureMemory } from './failure-memory.ts';
import type { PooledSession } from './idle-sessions.ts';
import { refuse, STOPPING, type Lease, type Waiter } from './lease.ts';
import type { MxAddress } from './mx-address.ts';
import { asDown } from './opening-outcome.ts';
import { Openings, type OpeningEnd } from './openings.ts';
import type { Deferral, JobOutcome } from './delivery-job.ts';
import { WaitersByTenant } from './waiters-by-tenant.ts';

/** A connection whose slot is needed by others is closed after this many messages. */
const MESSAGES_WHILE_SCARCE = 10;

/** Endings after which the next message needs a connection that is opened in another way. */
const NEEDS_ANOTHER_SESSION: ReadonlySet<Ending['kind']> = new Set(['tls required', 'login required']);

/**
 * The connections to one destination, the deliveries that wait for them, and the memory of its failures. The life of a
 * connection: `acquire` leases an idle one or adds a waiter, for whom `#openForWaiters` begins openings. `#adopt` takes in
 * what was opened, or lent by another destination, and `#lease` gives it to the next waiter. `release` leases it again, hands
 * it over to who is next in turn or parks it idle. `#retire` closes it; `#closed` hears that the peer did.
 */
export class Destination implements ShareWaiter {
  #options: DestinationOptions;
  #openings: Openings;
  #failures: FailureMemory;
  #sessions = new Set<PooledSession>();
  #idle: PooledSession[] = [];
  #closing = 0;
  /** Number of leased sessions, including those whose connection is gone but that are still to be released. */
  #leases = 0;
  #waiting = new WaitersByTenant<Waiter>();
  #stopping = new AbortController();

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#failures = new FailureMemory(options);
    this.#openings = new Openings(options, this.#failures, this.#stopping.signal, {
      hasWaiters: () => this.#waiting.size > 0,
      hasConnections: () => this.#sessions.size > 0,
      isFull: () => this.connections >= options.limits.connectionsMax,
      mayAdopt: ({ address }) => this.#hasWaiterFor(address),
      adopt: (session) => this.#adopt(session),
      ended: (end) => this.#openingEnded(end),
    });
  }

  /** Leases a connection for one transaction, or says why there is none. `fresh` passes over idle connections. */
  acquire(tenant: string, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    const { slots } = this.#options;
    const mayHave = !fresh && this.#failures.findTenantDeferral(tenant) === undefined;
    const idle = mayHave ? this.#idle.findLast((session) => this.#mayHold(tenant, session)) : undefined;
    if (idle) {
      this.#unpark(idle);
      this.#beginLease(tenant, idle);
      return Promise.resolve({ kind: 'lease', session: idle });
    }
    if (fresh) for (const session of [...this.#idle]) this.yieldIdle(session);
    const why = this.findDeferral(tenant);
    if (why) return Promise.resolve(asDown(why));
    return new Promise((resolve) => {
      const settle = (lease: Lease): void => {
        unwatch();
        this.#waiting.remove(tenant, waiter);
        resolve(lease);
      };
      const waiter: Waiter = { tenant, settle };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      const isFirst = !this.#waiting.has(tenant);
      this.#waiting.add(tenant, waiter, fresh ? 'first' : 'last');
      if (this.#idle.length > 0) slots.awaitShare(tenant, this);
      this.#openForWaiters();
      // A request of an earlier waiter may still stand, and a connection be idle that it had no use for until now.
      if (isFirst && this.#openings.wanted > 0) slots.serve();
    });
  }

  /** Opens connections for the waiters: one per party until the destination has greeted us, and then one per waiter. */
  #openForWaiters(): void {
    if (this.#waiting.size === 0 || this.#stopping.signal.aborted) return;
    const { connectionsMax } = this.#options.limits;
    for (const [tenant, count] of [...this.#waiting.tenants()]) {
      const turnedAway = this.#failures.findTenantDeferral(tenant);
      if (turnedAway) {
        refuse(this.#waiting.takeAllFrom(tenant), asDown(turnedAway));
        continue;
      }
      const { why } = this.#failures.all;
      if (why) {
        // A peer that limits connections still serves the established ones, so the waiters may wait for those.
        if (this.#sessions.size + this.#openings.wanted === 0) refuse(this.#waiting.takeAllFrom(tenant), asDown(why));
        continue;
      }
      // The limit counts each party's own openings alone: `isFull` holds it for all of them together.
      for (let wanted = this.#openings.wantedFor(tenant); wanted < count; wanted++) {
        if (this.#sessions.size + wanted + this.#closing >= connectionsMax) break;
        if (this.#sessions.size === 0 && wanted > 0) break;
        this.#openings.begin(tenant);
      }
    }
  }

  #openingEnded(end: OpeningEnd): void {
    const { slots, onFewer } = this.#options;
    if (end.kind === 'open') {
      this.#failures.all.answered();
      this.#adopt(end.session);
      this.#openForWaiters();
      return slots.serve();
    }
    if (end.kind === 'unneeded') this.#openForWaiters();
    else this.#openingFailed(end);
    onFewer();
  }

  #openingFailed(outcome: JobOutcome): void {
    if (this.#stopping.signal.aborted) return this.#refuseAll(STOPPING);
    if (outcome.kind === 'bounced') return this.#refuseAll(outcome);
    this.#failures.all.failed(outcome, outcome.reason === 'destination_down');
    if (this.#sessions.size + this.#openings.wanted === 0) this.#refuseAll(outcome);
  }

  #adopt(session: PooledSession): void {
    this.#sessions.add(session);
    session.connection.onClosed = () => this.#closed(session);
    this.#lease(session);
  }

  /** Leases the connection to the next waiter that may have it; without such a waiter, passes it on or parks it. */
  #lease(session: PooledSession): void {
    const { slots } = this.#options;
    const waiter = this.#waiting.take((tenant) => this.#mayHold(tenant, session));
    if (waiter) {
      this.#beginLease(waiter.tenant, session);
      return waiter.settle({ kind: 'lease', session });
    }
    for (const [tenant] of this.#waiting.tenants()) slots.awaitShare(tenant, this);
    const isOver = session.connection.failure !== undefined || this.#stopping.signal.aborted;
    if (isOver) this.#retire(session);
    else if (!this.#passOn(session) && !this.#makeWay(session)) this.#park(session);
  }

  #beginLease(tenant: string, session: PooledSession): void {
    this.#leases += 1;
    this.#options.slots.beginUse(tenant, session.peer.address);
  }

  release(tenant: string, session: PooledSession, ending: Ending | undefined): void {
    const { limits, slots } = this.#options;
    const { address } = session.peer;
    const isWanted = slots.isWanted(tenant, address);
    this.#leases -= 1;
    slots.endUse(tenant, address);
    if (ending) this.#noteEnding(tenant, session, ending);
    const { failure, isOutOfStep, isLeaving } = session.connection;
    const isWhole = !failure && !isOutOfStep && !isLeaving && !(ending && NEEDS_ANOTHER_SESSION.has(ending.kind));
    const isUsable = isWhole && !this.#stopping.signal.aborted;
    if (!isUsable || session.used >= limits.messagesPerConnectionMax) this.#retire(session);
    else if (!isWanted || !this.#handOver(session)) this.#lease(session);
    this.#openForWaiters();
    slots.serve();
  }

  #noteEnding(tenant: string, session: PooledSession, ending: Ending): void {
    this.#failures.note(tenant, ending);
    const { peer } = session;
    // One dead idle connection suggests that the others are dead too: a second dead one would end the attempt.
    if (ending.kind === 'stale') this.#options.idleSessions.closeAll(peer);
    else if (ending.kind === 'tls required') this.#failures.tlsRequired(session.connection.address);
    else if (ending.kind === 'worked') peer.address.backOff.worked();
    else if (ending.kind === 'broken') this.#options.slots.brokeOff(peer.address, ending.why);
  }

  /** Gives what others wait for to them: the connection, or its slot once it has carried enough. */
  #handOver(session: PooledSession): boolean {
    if (this.#passOn(session)) return true;
    return session.used >= MESSAGES_WHILE_SCARCE && this.#makeWay(session);
  }

  /** Passes the connection to the next request that it serves; returns false if there is none. */
  #passOn(session: PooledSession): boolean {
    this.#sessions.delete(session);
    if (this.#options.slots.pass(session)) return true;
    this.#sessions.add(session);
    return false;
  }

  /** Closes the connection if its slot is needed; returns false if it is not. */
  #makeWay(session: PooledSession): boolean {
    if (!this.#options.slots.isInTheWay(session.peer)) return false;
    this.#retire(session);
    return true;
  }

  #park(session: PooledSession): void {
    this.#idle.push(session);
    this.#options.idleSessions.park(session, this);
  }

  #unpark(session: PooledSession): void {
    this.#idle.splice(this.#idle.indexOf(session), 1);
    this.#options.idleSessions.unpark(session);
  }

  /** Leases idle connections to the waiters whose share allows it now. */
  handOut(): void {
    for (const session of this.#idle.toReversed()) {
      if (this.#waiting.size === 0) break;
      if (!this.#idle.includes(session) || !this.#hasWaiterFor(session.peer.address)) continue;
      this.#unpark(session);
      this.#lease(session);
    }
    if (this.#idle.length > 0)
      for (const [tenant] of this.#waiting.tenants()) this.#options.slots.awaitShare(tenant, this);
    this.#openForWaiters();
  }

  /** Closes an idle connection so that another destination can have its slot. */
  yieldIdle(session: PooledSession): void {
    this.#unpark(session);
    this.#retire(session);
  }

  /** Forgets an idle connection that another destination takes over. */
  giveAway(session: PooledSession): void {
    this.#unpark(session);
    this.#sessions.delete(session);
  }

  /** Closes the connection. Its slot is held until the socket is gone: until then the peer counts it too. */
  #retire(session: PooledSession): void {
    const { address } = session.peer;
    if (!this.#sessions.delete(session)) return;
    this.#closing += 1;
    this.#options.slots.leaves(address);
    session.connection.onClosed = () => this.#retired(address);
    if (session.connection.isClosed) this.#retired(address);
    else session.connection.quit(this.#options.quitMs);
  }

  #retired(address: MxAddress): void {
    this.#closing -= 1;
    this.#options.slots.left(address);
    this.#options.onFewer();
    this.#openForWaiters();
  }

  /** The peer closed a leased connection. `release` decides whether to open a replacement. */
  #closed(session: PooledSession): void {
    const { address } = session.peer;
    if (!this.#sessions.delete(session)) return;
    this.#options.slots.leaves(address);
    this.#options.slots.left(address);
    this.#options.onFewer();
  }

  /** Refuses the waiters, gives up openings, closes idle connections; transactions under way may end. */
  stop(): void {
    this.#refuseAll(STOPPING);
    this.#stopping.abort();
    for (const session of [...this.#idle]) this.yieldIdle(session);
  }

  /** Breaks off transactions under way. */
  abandon(): void {
    for (const session of this.#sessions)
      session.connection.fail({ kind: 'aborted', detail: 'the server is stopping' });
  }

  #refuseAll(outcome: JobOutcome): void {
    refuse(this.#waiting.takeAll(), outcome);
  }

  /** Whether a waiter may have a connection to this peer now. */
  #hasWaiterFor(address: MxAddress): boolean {
    return [...this.#waiting.tenants()].some(([tenant]) => this.#options.slots.mayHold(tenant, address));
  }

  #mayHold(tenant: string, session: PooledSession): boolean {
    return this.#options.slots.mayHold(tenant, session.peer.address);
  }

  get connections(): number {
    return this.#sessions.size + this.#openings.underWay + this.#closing;
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.length, waiting: this.#waiting.size, isDown: this.#failures.all.why !== undefined };
  }

  /** Why a party's mail would be deferred without being tried. */
  findDeferral(tenant: string): Deferral | undefined {
    return (
      this.#failures.findTenantDeferral(tenant) ?? (this.#sessions.size === 0 ? this.#failures.all.why : undefined)
    );
  }

  /** Whether the pool may drop this object: it has no connection, lease or waiter, and remembers no failure. */
  get isForgettable(): boolean {
    const isQuiet = this.connections + this.#leases + this.#openings.wanted + this.#waiting.size === 0;
    return isQuiet && this.#failures.isForgettable;
  }
}
