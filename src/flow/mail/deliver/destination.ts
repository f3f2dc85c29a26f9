import type { Clock } from '../../../platform/clock/index.ts';
import { onAbort } from './abort-watch.ts';
import { BackOff } from './back-off.ts';
import type { ConnectionSlots, ShareWaiter } from './connection-slots.ts';
import type { Ending } from './ending.ts';
import type { MxAddress } from './mx-address.ts';
import type { Route, Target } from './mx-route.ts';
import { allFailed, asDown, notTried, tookTooLong, addressOutcome, type FailedTarget } from './opening-outcome.ts';
import type { Deferral, JobOutcome } from './outcome.ts';
import type { Opened, SmtpSession } from './smtp-session.ts';
import { WaitersByTeam } from './waiters-by-team.ts';

export interface DestinationLimits {
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** For opening one connection, however many hosts are tried; waiting for permission to open does not count. */
  openMs: number;
}

export interface DestinationOptions {
  limits: DestinationLimits;
  slots: ConnectionSlots;
  route: () => Promise<Route>;
  addressOf: (target: Target) => MxAddress;
  open: (target: Target, skipTls: boolean, openMs: number, signal: AbortSignal) => Promise<Opened>;
  clock: Clock;
  now: () => number;
  random: () => number;
  quitMs: number;
  /** A connection is gone. */
  onLeft: () => void;
  /** The connections that do nothing, in all destinations, longest idle first. */
  idleSessions: Map<SmtpSession, Destination>;
}

export type Lease = { kind: 'lease'; session: SmtpSession } | JobOutcome;

interface Waiter {
  team: string;
  settle: (lease: Lease) => void;
}

/** Messages that a connection carries while others wait for one to its address: then it is their turn. */
const MESSAGES_WHILE_SCARCE = 10;
const HANDSHAKE_MEMORY_MS = 600_000;

/** The connections to one destination, who waits for them, and what is remembered of its failures. */
export class Destination implements ShareWaiter {
  #options: DestinationOptions;
  #idle: SmtpSession[] = [];
  #idleTimers = new Map<SmtpSession, () => void>();
  #sessions = new Set<SmtpSession>();
  /** Of sessions that are gone as well, until whoever holds them has given them back. */
  #addressOf = new WeakMap<SmtpSession, MxAddress>();
  /** Openings that are asked for or under way, by the team they are for. */
  #wanted = new Map<string, number>();
  #wantedCount = 0;
  /** Those of them that have a connection's place. */
  #opening = 0;
  #closing = 0;
  #waiting = new WaitersByTeam<Waiter>();
  #backOff: BackOff<Deferral>;
  /** Of teams whose sessions were ended by the peer. */
  #backOffs = new Map<string, BackOff<Deferral>>();
  #plainUntil = new Map<string, number>();
  #stopping = new AbortController();

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options);
  }

  /** A connection for one transaction, or why there is none. `fresh` passes over idle ones, which may be dead too. */
  acquire(team: string, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    const { slots } = this.#options;
    const mayHave = !fresh && this.#backOffs.get(team)?.why === undefined;
    const idle = mayHave ? this.#idle.findLast((session) => this.#mayHold(team, session)) : undefined;
    if (idle) {
      this.#idle.splice(this.#idle.indexOf(idle), 1);
      this.#unpark(idle);
      this.#carry(team, idle);
      return Promise.resolve({ kind: 'lease', session: idle });
    }
    const why = this.whyDown(team);
    if (why) return Promise.resolve(asDown(why));
    return new Promise((resolve) => {
      const waiter: Waiter = {
        team,
        settle: (lease) => {
          unwatch();
          this.#waiting.remove(team, waiter);
          resolve(lease);
        },
      };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      this.#waiting.add(team, waiter, fresh ? 'first' : 'last');
      if (this.#idle.length > 0 || !slots.mayHold(team)) slots.awaitShare(team, this);
      this.grow();
    });
  }

  release(team: string, session: SmtpSession, ending: Ending | undefined): void {
    const { limits, slots } = this.#options;
    const address = this.#addressOf.get(session);
    if (address) slots.carried(team, address);
    if (ending) this.#note(team, session, ending);
    const { failure, earlyReply } = session.connection;
    const isUsable = !failure && !earlyReply && !this.#stopping.signal.aborted;
    const isScarce = address !== undefined && slots.isScarce(address);
    const messagesMax = Math.min(limits.messagesPerConnectionMax, isScarce ? MESSAGES_WHILE_SCARCE : Infinity);
    if (!isUsable || session.used >= messagesMax) this.#retire(session);
    else this.#hand(session);
    this.grow();
    slots.serve();
  }

  #note(team: string, session: SmtpSession, ending: Ending): void {
    const address = this.#addressOf.get(session);
    if (ending.kind === 'worked') {
      this.#backOff.worked();
      this.#backOffs.delete(team);
      address?.backOff.worked();
    } else if (ending.kind === 'broken') {
      this.#backOff.failedTogether(ending.why);
      address?.backOff.failedTogether(ending.why);
    } else {
      const backOff = this.#backOffs.get(team) ?? new BackOff(this.#options);
      this.#backOffs.set(team, backOff);
      backOff.failedTogether(ending.why);
    }
  }

  /** Gives idle connections to those who wait and may have them now. */
  handOut(): void {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      this.#unpark(session);
      if (!this.#hand(session)) break;
    }
    this.grow();
  }

  /** Asks for connections while somebody waits; only one is opened until the destination has shown that it answers. */
  grow(): void {
    if (this.#waiting.size === 0 || this.#stopping.signal.aborted) return;
    const { connectionsMax } = this.#options.limits;
    for (const [team, count] of [...this.#waiting.teams()]) {
      const why = this.#backOff.why ?? this.#backOffs.get(team)?.why;
      if (why) {
        // A peer that limits connections still serves the ones it took: who waits may wait for those.
        if (this.#sessions.size + this.#wantedCount === 0) refuse(this.#waiting.takeAllOf(team), asDown(why));
        continue;
      }
      for (let wanted = this.#wanted.get(team) ?? 0; wanted < count; wanted++) {
        if (this.#sessions.size + this.#wantedCount + this.#closing >= connectionsMax) break;
        if (this.#sessions.size === 0 && wanted > 0) break;
        void this.#open(team);
      }
    }
  }

  isOf(address: MxAddress, session: SmtpSession): boolean {
    return this.#sessions.has(session) && this.#addressOf.get(session) === address;
  }

  /** Closes an idle connection so that another destination can have its slot. */
  yieldIdle(session: SmtpSession): void {
    this.#idle.splice(this.#idle.indexOf(session), 1);
    this.#unpark(session);
    this.#retire(session);
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
    const isQuiet = this.connections + this.#wantedCount + this.#waiting.size === 0;
    return isQuiet && [this.#backOff, ...this.#backOffs.values()].every((backOff) => backOff.isForgettable);
  }

  get connections(): number {
    return this.#sessions.size + this.#opening + this.#closing;
  }

  /** Why a team's mail would be deferred without being tried. */
  whyDown(team: string): Deferral | undefined {
    return this.#backOffs.get(team)?.why ?? (this.#sessions.size === 0 ? this.#backOff.why : undefined);
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.length, waiting: this.#waiting.size, isDown: this.#backOff.why !== undefined };
  }

  async #open(team: string): Promise<void> {
    this.#count(team, 1);
    const opened = await this.#openFirst(team);
    this.#count(team, -1);
    if (opened.kind !== 'open') {
      if (opened.kind !== 'unneeded') this.#remember(opened);
      return this.#options.onLeft();
    }
    const { session, address } = opened;
    this.#opening -= 1;
    this.#options.slots.opened({ team, address });
    this.#backOff.answered();
    this.#sessions.add(session);
    this.#addressOf.set(session, address);
    session.connection.onClosed = () => this.#closed(session);
    this.#hand(session);
    this.grow();
    this.#options.slots.serve();
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
      const address = this.#options.addressOf(target);
      const permission = await this.#permission(team, address);
      if (permission === 'stopping' || permission === 'unneeded')
        return permission === 'stopping' ? STOPPING : UNNEEDED;
      if (permission !== 'open') {
        failures.push(notTried(target, permission));
        continue;
      }
      const from = clock.now();
      const opened = await this.#openTarget(target, leftMs);
      leftMs -= Math.max(0, clock.now() - from);
      if (opened.kind === 'open') return { kind: 'open', session: opened.session, address };
      this.#opening -= 1;
      const failure: FailedTarget = { ...opened, mx: target.host };
      failures.push(failure);
      slots.failed({ team, address }, addressOutcome(failure));
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
  #permission(team: string, address: MxAddress): Promise<'open' | 'stopping' | 'unneeded' | Refusal> {
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
        address,
        isReady: () => this.#sessions.size > 0 || this.#opening === 0,
        answer: (answer) => {
          unwatch();
          if (answer !== 'open') return resolve(answer);
          if (this.#waiting.size > 0) {
            this.#opening += 1;
            return resolve('open');
          }
          slots.failed({ team, address }, undefined);
          resolve('unneeded');
        },
      });
    });
  }

  /** To the next who may have it; answers whether there was anybody. */
  #hand(session: SmtpSession): boolean {
    const { slots } = this.#options;
    const waiter = this.#waiting.take((team) => this.#mayHold(team, session));
    if (waiter) {
      this.#carry(waiter.team, session);
      waiter.settle({ kind: 'lease', session });
      return true;
    }
    for (const [team] of this.#waiting.teams()) slots.awaitShare(team, this);
    const address = this.#addressOf.get(session);
    const isOver = session.connection.failure !== undefined || this.#stopping.signal.aborted;
    if (isOver || !address || slots.isScarce(address)) this.#retire(session);
    else this.#park(session);
    return false;
  }

  #mayHold(team: string, session: SmtpSession): boolean {
    return this.#options.slots.mayHold(team, this.#addressOf.get(session));
  }

  #carry(team: string, session: SmtpSession): void {
    const address = this.#addressOf.get(session);
    if (address) this.#options.slots.carry(team, address);
  }

  #park(session: SmtpSession): void {
    const { clock, idleSessions, limits } = this.#options;
    this.#idle.push(session);
    idleSessions.set(session, this);
    session.connection.onStir = () => this.yieldIdle(session);
    this.#idleTimers.set(
      session,
      clock.timer(limits.idleMs, () => this.yieldIdle(session)),
    );
  }

  #unpark(session: SmtpSession): void {
    this.#options.idleSessions.delete(session);
    session.connection.onStir = () => {};
    this.#idleTimers.get(session)?.();
    this.#idleTimers.delete(session);
  }

  /** The slot stays taken until the socket is gone: until then the peer counts the connection too. */
  #retire(session: SmtpSession): void {
    const address = this.#addressOf.get(session);
    if (!this.#sessions.delete(session) || !address) return;
    this.#closing += 1;
    session.connection.onClosed = () => this.#left(address);
    if (session.connection.isClosed) this.#left(address);
    else session.connection.quit(this.#options.quitMs);
  }

  /** Gone by itself while it was leased. Another is opened when whoever holds it has said how that came. */
  #closed(session: SmtpSession): void {
    const address = this.#addressOf.get(session);
    if (!this.#sessions.delete(session) || !address) return;
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
    this.#backOff.failed(outcome, outcome.reason === 'destination_down');
    if (this.#sessions.size === 0 && this.#wantedCount === 0) this.#refuseAll(outcome);
  }

  #refuseAll(outcome: JobOutcome): void {
    refuse(this.#waiting.takeAll(), outcome);
  }
}

function refuse(waiters: readonly Waiter[], outcome: JobOutcome): void {
  for (const waiter of waiters) waiter.settle(outcome);
}

const STOPPING: JobOutcome = {
  kind: 'deferred',
  reason: 'stopping',
  detail: 'The delivery was stopped before it began',
};
const UNNEEDED = { kind: 'unneeded' } as const;

type OpenedFirst = { kind: 'open'; session: SmtpSession; address: MxAddress } | typeof UNNEEDED | JobOutcome;
type Refusal = NonNullable<MxAddress['refusal']>;
