import { onAbort } from './abort-watch.ts';
import type { ShareWaiter } from './connection-slots.ts';
import type { DestinationOptions } from './destination-options.ts';
import type { Ending } from './ending.ts';
import { FailureMemory } from './failure-memory.ts';
import type { Peer } from './idle-sessions.ts';
import { refuse, STOPPING, type Lease, type Waiter } from './lease.ts';
import type { MxAddress } from './mx-address.ts';
import type { Target } from './mx-route.ts';
import { allFailed, asDown, notTried, tookTooLong, addressOutcome, type FailedTarget } from './opening-outcome.ts';
import type { Deferral, JobOutcome } from './delivery-job.ts';
import type { Opened, SmtpSession } from './smtp-session.ts';
import { WaitersByTeam } from './waiters-by-team.ts';

/** Messages that a connection carries for one destination while others wait for its address: then it is their turn. */
const MESSAGES_WHILE_SCARCE = 10;
const HANDSHAKE_MEMORY_MS = 600_000;

/** The connections to one destination, who waits for them, and what is remembered of its failures. */
export class Destination implements ShareWaiter {
  #options: DestinationOptions;
  #idle: SmtpSession[] = [];
  #sessions = new Set<SmtpSession>();
  /** Of sessions that are gone as well, until whoever holds them has given them back. */
  #peerOf = new WeakMap<SmtpSession, Peer>();
  /** Openings that are asked for or under way, by the team they are for. */
  #wanted = new Map<string, number>();
  #wantedCount = 0;
  /** Those of them that have a connection's place. */
  #opening = 0;
  #closing = 0;
  /** Whoever has one gives it back here, also when its connection is gone. */
  #leases = 0;
  #waiting = new WaitersByTeam<Waiter>();
  #failures: FailureMemory;
  #plainUntil = new Map<string, number>();
  #stopping = new AbortController();

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#failures = new FailureMemory(options);
  }

  /** A connection for one transaction, or why there is none. `fresh` passes over idle ones, which may be dead too. */
  acquire(team: string, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    const { slots } = this.#options;
    const mayHave = !fresh && this.#failures.whyTeam(team) === undefined;
    const idle = mayHave ? this.#idle.findLast((session) => this.#mayHold(team, session)) : undefined;
    if (idle) {
      this.#unpark(idle);
      this.#carry(team, idle);
      return Promise.resolve({ kind: 'lease', session: idle });
    }
    // Where one idle connection was dead, so are the others.
    if (fresh) for (const session of [...this.#idle]) this.yieldIdle(session);
    const why = this.whyDown(team);
    if (why) return Promise.resolve(asDown(why));
    return new Promise((resolve) => {
      const settle = (lease: Lease): void => {
        unwatch();
        this.#waiting.remove(team, waiter);
        resolve(lease);
      };
      const waiter: Waiter = { team, needsFresh: fresh, settle };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      this.#waiting.add(team, waiter, fresh ? 'first' : 'last');
      if (this.#idle.length > 0) slots.awaitShare(team, this);
      this.grow();
    });
  }

  release(team: string, session: SmtpSession, ending: Ending | undefined): void {
    const { limits, slots } = this.#options;
    const peer = this.#peerOf.get(session);
    const isWanted = peer !== undefined && (slots.isScarce(peer.address) || slots.isHeldUp(team, peer.address));
    this.#leases -= 1;
    if (peer) slots.carried(team, peer.address);
    if (ending) this.#note(team, session, ending);
    const { failure, earlyReply, isLeaving } = session.connection;
    const isUsable = !failure && !earlyReply && !isLeaving && !this.#stopping.signal.aborted;
    const hadItsTurn = session.used - session.usedElsewhere >= MESSAGES_WHILE_SCARCE;
    if (!isUsable || session.used >= limits.messagesPerConnectionMax) this.#retire(session);
    else if (!hadItsTurn || !isWanted || !this.#moveOn(session, peer, false)) this.#hand(session, false);
    this.grow();
    slots.serve();
  }

  #note(team: string, session: SmtpSession, ending: Ending): void {
    this.#failures.note(team, ending);
    const address = this.#peerOf.get(session)?.address;
    if (ending.kind === 'worked') address?.backOff.worked();
    else if (ending.kind === 'broken' && address) this.#options.slots.brokeOff(address, ending.why);
  }

  /** Gives idle connections to those who wait and may have them now. */
  handOut(): void {
    for (const session of this.#idle.toReversed()) {
      if (this.#waiting.size === 0) break;
      const peer = this.#peerOf.get(session);
      if (!peer || !this.#idle.includes(session) || !this.#mayTake(peer, true)) continue;
      this.#unpark(session);
      this.#hand(session, true);
    }
    if (this.#idle.length > 0) for (const [team] of this.#waiting.teams()) this.#options.slots.awaitShare(team, this);
    this.grow();
  }

  /** Asks for connections while somebody waits; only one is opened until the destination has shown that it answers. */
  grow(): void {
    if (this.#waiting.size === 0 || this.#stopping.signal.aborted) return;
    const { connectionsMax } = this.#options.limits;
    for (const [team, count] of [...this.#waiting.teams()]) {
      const turnedAway = this.#failures.whyTeam(team);
      if (turnedAway) {
        refuse(this.#waiting.takeAllOf(team), asDown(turnedAway));
        continue;
      }
      const { why } = this.#failures.all;
      if (why) {
        // A peer that limits connections still serves the ones it took: who waits may wait for those.
        if (this.#sessions.size + this.#wantedCount === 0) refuse(this.#waiting.takeAllOf(team), asDown(why));
        else if (this.#sessions.size === this.#idle.length) this.#refuseFresh(team, asDown(why));
        continue;
      }
      for (let wanted = this.#wanted.get(team) ?? 0; wanted < count; wanted++) {
        if (this.#sessions.size + wanted + this.#closing >= connectionsMax) break;
        if (this.#sessions.size === 0 && wanted > 0) break;
        void this.#open(team);
      }
    }
  }

  /** Closes an idle connection so that another destination can have its slot. */
  yieldIdle(session: SmtpSession): void {
    this.#unpark(session);
    this.#retire(session);
  }

  /** What is idle does not do for them, and nothing else will come. */
  #refuseFresh(team: string, outcome: JobOutcome): void {
    if (this.#wantedCount > 0) return;
    for (let first = this.#waiting.first(team); first?.needsFresh; first = this.#waiting.first(team))
      first.settle(outcome);
  }

  /** Another destination has this idle connection from now on. */
  giveAway(session: SmtpSession): void {
    this.#unpark(session);
    this.#sessions.delete(session);
  }

  /** Refuses who waits, gives up opening, closes what is idle; transactions under way may end. */
  stop(): void {
    this.#refuseAll(STOPPING);
    this.#stopping.abort();
    for (const session of [...this.#idle]) this.yieldIdle(session);
  }

  /** Breaks transactions under way. */
  abandon(): void {
    for (const session of this.#sessions)
      session.connection.fail({ kind: 'aborted', detail: 'the server is stopping' });
  }

  /** Nothing is lost when it is forgotten. */
  get isForgettable(): boolean {
    const isQuiet = this.connections + this.#leases + this.#wantedCount + this.#waiting.size === 0;
    return isQuiet && this.#failures.isForgettable;
  }

  get connections(): number {
    return this.#sessions.size + this.#opening + this.#closing;
  }

  /** Why a team's mail would be deferred without being tried. */
  whyDown(team: string): Deferral | undefined {
    return this.#failures.whyTeam(team) ?? (this.#sessions.size === 0 ? this.#failures.all.why : undefined);
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.length, waiting: this.#waiting.size, isDown: this.#failures.all.why !== undefined };
  }

  async #open(team: string): Promise<void> {
    this.#count(team, 1);
    const opened = await this.#openFirst(team);
    this.#count(team, -1);
    if (opened.kind !== 'open') {
      if (opened.kind === 'unneeded') this.grow();
      else this.#remember(opened);
      return this.#options.onLeft();
    }
    const { session, peer } = opened;
    this.#opening -= 1;
    this.#options.slots.opened({ team, address: peer.address });
    this.#failures.all.answered();
    this.#adopt(session, peer, false);
    this.grow();
    this.#options.slots.serve();
  }

  #adopt(session: SmtpSession, peer: Peer, wasIdle: boolean): void {
    session.usedElsewhere = session.used;
    this.#sessions.add(session);
    this.#peerOf.set(session, peer);
    session.connection.onClosed = () => this.#closed(session);
    this.#hand(session, wasIdle);
  }

  #count(team: string, change: 1 | -1): void {
    this.#wantedCount += change;
    const wanted = (this.#wanted.get(team) ?? 0) + change;
    if (wanted === 0) this.#wanted.delete(team);
    else this.#wanted.set(team, wanted);
  }

  /** The first of the route's targets that greets us; what the others said becomes the detail. */
  async #openFirst(team: string): Promise<OpenedFirst> {
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
      const permission = await this.#permission(team, peer);
      if (permission === 'stopping' || permission === 'unneeded')
        return permission === 'stopping' ? STOPPING : UNNEEDED;
      if (permission !== 'open') {
        failures.push(notTried(target, permission));
        continue;
      }
      const from = clock.now();
      const opened = await this.#openTarget(target, leftMs);
      leftMs -= Math.max(0, clock.now() - from);
      if (opened.kind === 'open') return { kind: 'open', session: opened.session, peer };
      this.#opening -= 1;
      const failure: FailedTarget = { ...opened, mx: target.host };
      failures.push(failure);
      slots.failed({ team, address: peer.address }, addressOutcome(failure));
    }
    return this.#stopping.signal.aborted ? STOPPING : allFailed(failures);
  }

  async #openTarget(target: Target, openMs: number): Promise<Opened> {
    const { now } = this.#options;
    const skipTls = (this.#plainUntil.get(target.address) ?? 0) > now();
    const opened = await this.#options.open(target, skipTls, openMs, this.#stopping.signal);
    if (opened.kind === 'open' && opened.handshakeFailed) {
      this.#plainUntil.set(target.address, now() + HANDSHAKE_MEMORY_MS);
    }
    return opened;
  }

  /** Resolves when a connection may be opened, or when there is no use in it. */
  #permission(team: string, peer: Peer): Promise<'open' | 'stopping' | 'unneeded' | Refusal> {
    const { slots } = this.#options;
    return new Promise((resolve) => {
      let withdraw = (): void => undefined;
      const unwatch = onAbort(this.#stopping.signal, () => {
        withdraw();
        resolve('stopping');
      });
      if (this.#stopping.signal.aborted) return;
      withdraw = slots.request({
        team,
        peer,
        isReady: () => !this.#isFull && (this.#sessions.size > 0 || this.#opening === 0),
        answer: (answer) => {
          unwatch();
          if (answer !== 'open') return resolve(answer);
          if (this.#waiting.size > 0) {
            this.#opening += 1;
            return resolve('open');
          }
          slots.failed({ team, address: peer.address }, undefined);
          resolve('unneeded');
        },
        mayAdopt: (wasIdle) => !this.#isFull && this.#mayTake(peer, wasIdle),
        adopt: (session, wasIdle) => {
          unwatch();
          this.#adopt(session, peer, wasIdle);
          resolve('unneeded');
        },
      });
    });
  }

  /** To the next who may have it; answers whether there was anybody. */
  #hand(session: SmtpSession, wasIdle: boolean): boolean {
    const { slots } = this.#options;
    const waiter = this.#waiting.take((team) => this.#mayHold(team, session) && this.#takes(team, wasIdle));
    if (waiter) {
      this.#carry(waiter.team, session);
      waiter.settle({ kind: 'lease', session });
      return true;
    }
    for (const [team] of this.#waiting.teams()) slots.awaitShare(team, this);
    const peer = this.#peerOf.get(session);
    const isOver = session.connection.failure !== undefined || this.#stopping.signal.aborted;
    if (isOver || !peer) this.#retire(session);
    else if (!this.#moveOn(session, peer, wasIdle)) this.#park(session, peer);
    return false;
  }

  /** To whoever waits for one like it, or its place to whoever waits for another; answers whether anybody did. */
  #moveOn(session: SmtpSession, peer: Peer, wasIdle: boolean): boolean {
    const { slots } = this.#options;
    this.#sessions.delete(session);
    if (slots.pass(session, peer, wasIdle)) return true;
    this.#sessions.add(session);
    if (!slots.isInTheWay(peer)) return false;
    this.#retire(session);
    return true;
  }

  /** Whether somebody waits who may have one like it now. */
  #mayTake({ address }: Peer, wasIdle: boolean): boolean {
    const teams = [...this.#waiting.teams()].map(([team]) => team);
    return teams.some((team) => this.#options.slots.mayHold(team, address) && this.#takes(team, wasIdle));
  }

  /** What was idle may be dead, and a second dead one ends the try. */
  #takes(team: string, wasIdle: boolean): boolean {
    const first = this.#waiting.first(team);
    return first !== undefined && !(wasIdle && first.needsFresh);
  }

  get #isFull(): boolean {
    return this.connections >= this.#options.limits.connectionsMax;
  }

  #mayHold(team: string, session: SmtpSession): boolean {
    return this.#options.slots.mayHold(team, this.#peerOf.get(session)?.address);
  }

  #carry(team: string, session: SmtpSession): void {
    const peer = this.#peerOf.get(session);
    this.#leases += 1;
    if (peer) this.#options.slots.carry(team, peer.address);
  }

  #park(session: SmtpSession, peer: Peer): void {
    this.#idle.push(session);
    this.#options.idleSessions.park(session, peer, this);
  }

  #unpark(session: SmtpSession): void {
    this.#idle.splice(this.#idle.indexOf(session), 1);
    this.#options.idleSessions.unpark(session);
  }

  /** The slot stays taken until the socket is gone: until then the peer counts the connection too. */
  #retire(session: SmtpSession): void {
    const address = this.#peerOf.get(session)?.address;
    if (!this.#sessions.delete(session) || !address) return;
    this.#closing += 1;
    this.#options.slots.leaves(address);
    session.connection.onClosed = () => this.#left(address);
    if (session.connection.isClosed) this.#left(address);
    else session.connection.quit(this.#options.quitMs);
  }

  /** Gone by itself while it was leased. Another is opened when whoever holds it has said how that came. */
  #closed(session: SmtpSession): void {
    const address = this.#peerOf.get(session)?.address;
    if (!this.#sessions.delete(session) || !address) return;
    this.#options.slots.leaves(address);
    this.#options.slots.left(address);
    this.#options.onLeft();
  }

  #left(address: MxAddress): void {
    this.#closing -= 1;
    this.#options.slots.left(address);
    this.#options.onLeft();
    this.grow();
  }

  #remember(outcome: JobOutcome): void {
    if (this.#stopping.signal.aborted) return this.#refuseAll(STOPPING);
    if (outcome.kind === 'bounced') return this.#refuseAll(outcome);
    this.#failures.all.failed(outcome, outcome.reason === 'destination_down');
    if (this.#sessions.size === 0 && this.#wantedCount === 0) this.#refuseAll(outcome);
  }

  #refuseAll(outcome: JobOutcome): void {
    refuse(this.#waiting.takeAll(), outcome);
  }
}

const UNNEEDED = { kind: 'unneeded' } as const;

type OpenedFirst = { kind: 'open'; session: SmtpSession; peer: Peer } | typeof UNNEEDED | JobOutcome;
type Refusal = NonNullable<MxAddress['refusal']>;
