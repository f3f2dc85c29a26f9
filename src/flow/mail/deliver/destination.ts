import { onAbort } from './abort-watch.ts';
import type { ShareWaiter } from './connection-slots.ts';
import type { DestinationOptions } from './destination-options.ts';
import type { Ending } from './ending.ts';
import { FailureMemory } from './failure-memory.ts';
import type { Peer } from './idle-sessions.ts';
import { refuse, STOPPING, type Lease, type Waiter } from './lease.ts';
import type { MxAddress } from './mx-address.ts';
import { allFailed, asDown, notTried, tookTooLong, addressOutcome, type FailedTarget } from './opening-outcome.ts';
import type { Deferral, JobOutcome } from './delivery-job.ts';
import type { SmtpSession } from './smtp-session.ts';
import { WaitersByParty } from './waiters-by-party.ts';

/** A connection whose slot others need is closed after this many messages. */
const MESSAGES_WHILE_SCARCE = 10;

/**
 * The connections to one destination, the deliveries that wait for them, and the memory of its failures. The life of a
 * connection: `acquire` leases an idle one or adds a waiter. For waiters, `#openForWaiters` opens connections (`#open`),
 * each with the permission of the slots. `#adopt` takes in what was opened here, or lent by another destination, and
 * `#lease` gives it to the next waiter. `release` leases it again, passes it to another destination (`#passOn`) or parks
 * it idle. `#retire` closes it; `#closed` hears that the peer did.
 */
export class Destination implements ShareWaiter {
  #options: DestinationOptions;
  #idle: SmtpSession[] = [];
  #sessions = new Set<SmtpSession>();
  /** The peer of each session, also of a leased one whose connection is gone, until it is released. */
  #peerOf = new WeakMap<SmtpSession, Peer>();
  /** Openings requested or under way, by the party they are for. */
  #wanted = new Map<string, number>();
  #wantedCount = 0;
  /** Openings under way: they hold a slot. */
  #opening = 0;
  #closing = 0;
  /** Leased sessions, also those whose connection is gone: each is still to be released. */
  #leases = 0;
  #waiting = new WaitersByParty<Waiter>();
  #failures: FailureMemory;
  #stopping = new AbortController();

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#failures = new FailureMemory(options);
  }

  /** Leases a connection for one transaction, or says why there is none. `fresh` passes over idle connections. */
  acquire(party: string, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    const { slots } = this.#options;
    const mayHave = !fresh && this.#failures.whyParty(party) === undefined;
    const idle = mayHave ? this.#idle.findLast((session) => this.#mayHold(party, session)) : undefined;
    if (idle) {
      this.#unpark(idle);
      this.#beginLease(party, idle);
      return Promise.resolve({ kind: 'lease', session: idle });
    }
    if (fresh) for (const session of [...this.#idle]) this.yieldIdle(session);
    const why = this.whyDown(party);
    if (why) return Promise.resolve(asDown(why));
    return new Promise((resolve) => {
      const settle = (lease: Lease): void => {
        unwatch();
        this.#waiting.remove(party, waiter);
        resolve(lease);
      };
      const waiter: Waiter = { party, settle };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      const isFirst = !this.#waiting.has(party);
      this.#waiting.add(party, waiter, fresh ? 'first' : 'last');
      if (this.#idle.length > 0) slots.awaitShare(party, this);
      this.#openForWaiters();
      // A request of an earlier waiter may still stand, and a connection be idle that it had no use for until now.
      if (isFirst && this.#wantedCount > 0) slots.serve();
    });
  }

  /** Opens connections for the waiters: for each party one, until the destination has greeted us, and then one for each waiter. */
  #openForWaiters(): void {
    if (this.#waiting.size === 0 || this.#stopping.signal.aborted) return;
    const { connectionsMax } = this.#options.limits;
    for (const [party, count] of [...this.#waiting.parties()]) {
      const turnedAway = this.#failures.whyParty(party);
      if (turnedAway) {
        refuse(this.#waiting.takeAllOf(party), asDown(turnedAway));
        continue;
      }
      const { why } = this.#failures.all;
      if (why) {
        // A peer that limits connections still serves the established ones: the waiters may wait for those.
        if (this.#sessions.size + this.#wantedCount === 0) refuse(this.#waiting.takeAllOf(party), asDown(why));
        continue;
      }
      // The limit counts each party's own openings alone: `isReady` of `#permission` holds it for all of them together.
      for (let wanted = this.#wanted.get(party) ?? 0; wanted < count; wanted++) {
        if (this.#sessions.size + wanted + this.#closing >= connectionsMax) break;
        if (this.#sessions.size === 0 && wanted > 0) break;
        void this.#open(party);
      }
    }
  }

  async #open(party: string): Promise<void> {
    this.#countWanted(party, 1);
    const opened = await this.#openFirst(party);
    this.#countWanted(party, -1);
    if (opened.kind !== 'open') {
      if (opened.kind === 'unneeded') this.#openForWaiters();
      else this.#openingFailed(opened);
      return this.#options.onFewer();
    }
    const { session, peer } = opened;
    this.#opening -= 1;
    this.#options.slots.opened({ party, address: peer.address });
    this.#failures.all.answered();
    this.#adopt(session, peer);
    this.#openForWaiters();
    this.#options.slots.serve();
  }

  /** Opens the first of the route's targets that greets us; what the others said becomes the detail. */
  async #openFirst(party: string): Promise<OpenedFirst> {
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
      const peer = this.#options.peerOf(target);
      const permission = await this.#permission(party, peer);
      if (permission === 'stopping' || permission === 'unneeded')
        return permission === 'stopping' ? STOPPING : UNNEEDED;
      if (permission !== 'open') {
        failures.push(notTried(target, permission));
        continue;
      }
      const from = clock.now();
      const skipTls = this.#failures.skipsTls(target.address);
      const opened = await this.#options.open(target, skipTls, leftMs, this.#stopping.signal);
      leftMs -= Math.max(0, clock.now() - from);
      if (opened.kind === 'open') {
        if (opened.handshakeFailed) this.#failures.handshakeFailed(target.address);
        return { kind: 'open', session: opened.session, peer };
      }
      this.#opening -= 1;
      const failure: FailedTarget = { ...opened, mx: target.host };
      failures.push(failure);
      slots.failed({ party, address: peer.address }, addressOutcome(failure));
    }
    return this.#stopping.signal.aborted ? STOPPING : allFailed(failures);
  }

  /** Resolves when the slots permit an opening, or when the opening is refused or no longer needed. */
  #permission(party: string, peer: Peer): Promise<'open' | 'stopping' | 'unneeded' | Refusal> {
    const { slots } = this.#options;
    return new Promise((resolve) => {
      let withdraw = (): void => undefined;
      const unwatch = onAbort(this.#stopping.signal, () => {
        withdraw();
        resolve('stopping');
      });
      if (this.#stopping.signal.aborted) return;
      withdraw = slots.request({
        party,
        peer,
        isReady: () => !this.#isFull && (this.#sessions.size > 0 || this.#opening === 0),
        answer: (answer) => {
          unwatch();
          if (answer !== 'open') return resolve(answer);
          if (this.#waiting.size > 0) {
            this.#opening += 1;
            return resolve('open');
          }
          slots.failed({ party, address: peer.address }, undefined);
          resolve('unneeded');
        },
        mayAdopt: () => !this.#isFull && this.#hasWaiterFor(peer),
        adopt: (session) => {
          unwatch();
          this.#adopt(session, peer);
          resolve('unneeded');
        },
      });
    });
  }

  #countWanted(party: string, change: 1 | -1): void {
    this.#wantedCount += change;
    const wanted = (this.#wanted.get(party) ?? 0) + change;
    if (wanted === 0) this.#wanted.delete(party);
    else this.#wanted.set(party, wanted);
  }

  #openingFailed(outcome: JobOutcome): void {
    if (this.#stopping.signal.aborted) return this.#refuseAll(STOPPING);
    if (outcome.kind === 'bounced') return this.#refuseAll(outcome);
    this.#failures.all.failed(outcome, outcome.reason === 'destination_down');
    if (this.#sessions.size === 0 && this.#wantedCount === 0) this.#refuseAll(outcome);
  }

  #adopt(session: SmtpSession, peer: Peer): void {
    this.#sessions.add(session);
    this.#peerOf.set(session, peer);
    session.connection.onClosed = () => this.#closed(session);
    this.#lease(session);
  }

  /** Leases the connection to the next waiter that may have it; without such a waiter, passes it on or parks it. */
  #lease(session: SmtpSession): void {
    const { slots } = this.#options;
    const waiter = this.#waiting.take((party) => this.#mayHold(party, session));
    if (waiter) {
      this.#beginLease(waiter.party, session);
      return waiter.settle({ kind: 'lease', session });
    }
    for (const [party] of this.#waiting.parties()) slots.awaitShare(party, this);
    const peer = this.#peerOf.get(session);
    const isOver = session.connection.failure !== undefined || this.#stopping.signal.aborted;
    if (isOver || !peer) this.#retire(session);
    else if (!this.#passOn(session, peer) && !this.#makeWay(session, peer)) this.#park(session, peer);
  }

  #beginLease(party: string, session: SmtpSession): void {
    const peer = this.#peerOf.get(session);
    this.#leases += 1;
    if (peer) this.#options.slots.carry(party, peer.address);
  }

  release(party: string, session: SmtpSession, ending: Ending | undefined): void {
    const { limits, slots } = this.#options;
    const peer = this.#peerOf.get(session);
    const isWanted = peer !== undefined && slots.isWanted(party, peer.address);
    this.#leases -= 1;
    if (peer) slots.carried(party, peer.address);
    if (ending) this.#noteEnding(party, session, ending);
    const { failure, isOutOfStep, isLeaving } = session.connection;
    const isUsable = !failure && !isOutOfStep && !isLeaving && !this.#stopping.signal.aborted;
    const { used } = session;
    if (!isUsable || used >= limits.messagesPerConnectionMax) this.#retire(session);
    else if (!isWanted || !this.#handOver(session, peer)) this.#lease(session);
    this.#openForWaiters();
    slots.serve();
  }

  #noteEnding(party: string, session: SmtpSession, ending: Ending): void {
    this.#failures.note(party, ending);
    const peer = this.#peerOf.get(session);
    if (!peer) return;
    const { address } = peer;
    // Where one idle connection was dead, the others are taken for dead too: a second dead one would end the try.
    if (ending.kind === 'stale') this.#options.idleSessions.closeAll(peer);
    else if (ending.kind === 'worked') address.backOff.worked();
    else if (ending.kind === 'broken') this.#options.slots.brokeOff(address, ending.why);
  }

  /** What others wait for goes to them: the connection, or its slot once it has carried enough. */
  #handOver(session: SmtpSession, peer: Peer): boolean {
    if (this.#passOn(session, peer)) return true;
    return session.used >= MESSAGES_WHILE_SCARCE && this.#makeWay(session, peer);
  }

  /** Passes the connection to the next request that it serves; false where none does. */
  #passOn(session: SmtpSession, peer: Peer): boolean {
    this.#sessions.delete(session);
    if (this.#options.slots.pass(session, peer)) return true;
    this.#sessions.add(session);
    return false;
  }

  /** Closes the connection where its slot is needed; false where it is not. */
  #makeWay(session: SmtpSession, peer: Peer): boolean {
    if (!this.#options.slots.isInTheWay(peer)) return false;
    this.#retire(session);
    return true;
  }

  #park(session: SmtpSession, peer: Peer): void {
    this.#idle.push(session);
    this.#options.idleSessions.park(session, peer, this);
  }

  #unpark(session: SmtpSession): void {
    this.#idle.splice(this.#idle.indexOf(session), 1);
    this.#options.idleSessions.unpark(session);
  }

  /** Leases idle connections to the waiters whose share allows it now. */
  handOut(): void {
    for (const session of this.#idle.toReversed()) {
      if (this.#waiting.size === 0) break;
      const peer = this.#peerOf.get(session);
      if (!peer || !this.#idle.includes(session) || !this.#hasWaiterFor(peer)) continue;
      this.#unpark(session);
      this.#lease(session);
    }
    if (this.#idle.length > 0)
      for (const [party] of this.#waiting.parties()) this.#options.slots.awaitShare(party, this);
    this.#openForWaiters();
  }

  /** Closes an idle connection so that another destination can have its slot. */
  yieldIdle(session: SmtpSession): void {
    this.#unpark(session);
    this.#retire(session);
  }

  /** Forgets an idle connection, which another destination has from now on. */
  giveAway(session: SmtpSession): void {
    this.#unpark(session);
    this.#sessions.delete(session);
  }

  /** Closes the connection. Its slot is held until the socket is gone: until then the peer counts it too. */
  #retire(session: SmtpSession): void {
    const address = this.#peerOf.get(session)?.address;
    if (!this.#sessions.delete(session) || !address) return;
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
  #closed(session: SmtpSession): void {
    const address = this.#peerOf.get(session)?.address;
    if (!this.#sessions.delete(session) || !address) return;
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
  #hasWaiterFor({ address }: Peer): boolean {
    return [...this.#waiting.parties()].some(([party]) => this.#options.slots.mayHold(party, address));
  }

  #mayHold(party: string, session: SmtpSession): boolean {
    return this.#options.slots.mayHold(party, this.#peerOf.get(session)?.address);
  }

  get #isFull(): boolean {
    return this.connections >= this.#options.limits.connectionsMax;
  }

  get connections(): number {
    return this.#sessions.size + this.#opening + this.#closing;
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.length, waiting: this.#waiting.size, isDown: this.#failures.all.why !== undefined };
  }

  /** Why a party's mail would be deferred without being tried. */
  whyDown(party: string): Deferral | undefined {
    return this.#failures.whyParty(party) ?? (this.#sessions.size === 0 ? this.#failures.all.why : undefined);
  }

  /** Whether the pool may drop this object: it has no connection, lease or waiter, and remembers no failure. */
  get isForgettable(): boolean {
    const isQuiet = this.connections + this.#leases + this.#wantedCount + this.#waiting.size === 0;
    return isQuiet && this.#failures.isForgettable;
  }
}

const UNNEEDED = { kind: 'unneeded' } as const;

type OpenedFirst = { kind: 'open'; session: SmtpSession; peer: Peer } | typeof UNNEEDED | JobOutcome;
type Refusal = NonNullable<MxAddress['refusal']>;
