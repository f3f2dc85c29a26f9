import type { Clock } from '../../platform/clock/index.ts';
import type { ConnectionSlots, SlotHolder } from './connection-slots.ts';
import type { Verdict } from './outcome.ts';
import type { Route, Target } from './mx-route.ts';
import { onAbort } from './abort-watch.ts';
import type { Opened, SmtpSession } from './smtp-session.ts';

export interface DestinationLimits {
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
}

export interface DestinationOptions {
  limits: DestinationLimits;
  slots: ConnectionSlots;
  route: () => Promise<Route>;
  open: (target: Target, skipTls: boolean, signal: AbortSignal) => Promise<Opened>;
  clock: Clock;
  now: () => number;
  random: () => number;
  quitMs: number;
  /** A connection is gone. */
  onLeft: () => void;
  /** The connections that do nothing, in all destinations, longest idle first. */
  idleSessions: Map<SmtpSession, Destination>;
}

export type Lease = { kind: 'lease'; session: SmtpSession } | Verdict;

interface Waiter {
  settle: (lease: Lease) => void;
  isGone: boolean;
}

const DOWN_MS_MIN = 5_000;
const DOWN_MS_MAX = 60_000;
const HANDSHAKE_MEMORY_MS = 600_000;

/** The connections to one destination, who waits for them, and what is remembered of its failures. */
export class Destination implements SlotHolder {
  #options: DestinationOptions;
  #idle: SmtpSession[] = [];
  #idleTimers = new Map<SmtpSession, () => void>();
  #sessions = new Set<SmtpSession>();
  #opening = 0;
  #closing = 0;
  #waiting: Waiter[] = [];
  #waitingCount = 0;
  #down: { until: number; verdict: Verdict } | undefined;
  #failuresInARow = 0;
  #plainUntil = new Map<string, number>();
  #stopping = new AbortController();

  constructor(options: DestinationOptions) {
    this.#options = options;
  }

  /** A connection for one transaction, or why there is none. `fresh` passes over idle ones, which may be dead too. */
  acquire(signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    const idle = fresh ? undefined : this.#idle.pop();
    if (idle) {
      this.#unpark(idle);
      return Promise.resolve({ kind: 'lease', session: idle });
    }
    const down = this.#isDown() && this.#sessions.size === 0 ? this.#down : undefined;
    if (down) return Promise.resolve(asDown(down.verdict));
    return new Promise((resolve) => {
      const waiter: Waiter = {
        isGone: false,
        settle: (lease) => {
          unwatch();
          waiter.isGone = true;
          this.#waitingCount -= 1;
          resolve(lease);
        },
      };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      this.#waitingCount += 1;
      if (fresh) this.#waiting.unshift(waiter);
      else this.#waiting.push(waiter);
      this.grow();
    });
  }

  release(session: SmtpSession): void {
    const { failure, earlyReply } = session.connection;
    const isUsable = !failure && !earlyReply && !this.#stopping.signal.aborted;
    if (!isUsable || session.used >= this.#options.limits.messagesPerConnectionMax) return this.#retire(session);
    this.#hand(session);
  }

  /** Opens connections while somebody waits; only one until the destination has shown that it answers. */
  grow(): void {
    const { connectionsMax } = this.#options.limits;
    while (this.#waitingCount > this.#opening && !this.#stopping.signal.aborted) {
      if (this.#sessions.size + this.#opening + this.#closing >= connectionsMax) return;
      if (this.#sessions.size === 0 && this.#opening > 0) return;
      if (this.#sessions.size > 0 && this.#isDown()) return;
      if (!this.#options.slots.take(this)) return;
      this.#opening += 1;
      void this.#open();
    }
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
    const isQuiet = this.connections === 0 && this.#waitingCount === 0;
    return isQuiet && (!this.#down || this.#options.now() > this.#down.until + DOWN_MS_MAX);
  }

  get connections(): number {
    return this.#sessions.size + this.#opening + this.#closing;
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.length, waiting: this.#waitingCount, isDown: this.#isDown() };
  }

  async #open(): Promise<void> {
    const opened = await this.#openFirst();
    this.#opening -= 1;
    if (opened.kind !== 'lease') {
      this.#options.slots.give();
      this.#remember(opened);
      return this.#options.onLeft();
    }
    const { session } = opened;
    this.#failuresInARow = 0;
    this.#down = undefined;
    this.#sessions.add(session);
    session.connection.onClosed = () => this.#closed(session);
    if (session.connection.isClosed) return this.#closed(session);
    this.#hand(session);
    this.grow();
  }

  /** The first of the route's targets that greets us; what the others said becomes the detail. */
  async #openFirst(): Promise<Lease> {
    const route = await this.#options.route();
    if (route.kind !== 'route') return route;
    const failures: FailedTarget[] = [];
    for (const target of route.targets) {
      if (this.#stopping.signal.aborted) return STOPPING;
      const skipTls = (this.#plainUntil.get(target.address) ?? 0) > this.#options.now();
      const opened = await this.#options.open(target, skipTls, this.#stopping.signal);
      if (opened.kind === 'open') {
        if (opened.handshakeFailed) this.#plainUntil.set(target.address, this.#options.now() + HANDSHAKE_MEMORY_MS);
        return { kind: 'lease', session: opened.session };
      }
      failures.push({ ...opened, mx: target.host });
    }
    return allFailed(failures);
  }

  #hand(session: SmtpSession): void {
    for (let waiter = this.#waiting.shift(); waiter; waiter = this.#waiting.shift()) {
      if (!waiter.isGone) return waiter.settle({ kind: 'lease', session });
    }
    if (this.#options.slots.isScarce || this.#stopping.signal.aborted) return this.#retire(session);
    this.#park(session);
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
    if (!this.#sessions.delete(session)) return;
    this.#closing += 1;
    session.connection.onClosed = () => this.#left();
    if (session.connection.isClosed) this.#left();
    else session.connection.quit(this.#options.quitMs);
  }

  /** Gone by itself while it was leased; whoever holds it releases it soon. */
  #closed(session: SmtpSession): void {
    if (!this.#sessions.delete(session)) return;
    this.#closing += 1;
    this.#left();
  }

  #left(): void {
    this.#closing -= 1;
    this.#options.slots.give();
    this.#options.onLeft();
    this.grow();
  }

  #remember(verdict: Verdict): void {
    if (this.#stopping.signal.aborted) return this.#refuseAll(STOPPING);
    if (verdict.kind === 'bounced') return this.#refuseAll(verdict);
    const { now, random } = this.#options;
    const pauseMs = Math.min(DOWN_MS_MAX, DOWN_MS_MIN * 2 ** this.#failuresInARow);
    this.#failuresInARow += 1;
    // Jitter keeps destinations that failed together from being tried together again.
    this.#down = { until: now() + pauseMs * (0.8 + 0.4 * random()), verdict };
    // A peer that limits connections still serves the ones it took: who waits may wait for those.
    if (this.#sessions.size === 0 && this.#opening === 0) this.#refuseAll(verdict);
  }

  #refuseAll(verdict: Verdict): void {
    for (const waiter of this.#waiting.splice(0)) if (!waiter.isGone) waiter.settle(verdict);
  }

  #isDown(): boolean {
    return this.#down !== undefined && this.#down.until > this.#options.now();
  }
}

const STOPPING: Verdict = { kind: 'deferred', reason: 'stopping', detail: 'The delivery was stopped before it began' };

function asDown(verdict: Verdict): Verdict {
  if (verdict.kind === 'bounced') return verdict;
  return { ...verdict, reason: 'destination_down', detail: `Not tried, since a moment ago: ${verdict.detail}` };
}

type FailedTarget = Extract<Opened, { kind: 'failed' }> & { mx: string };

function allFailed(failures: FailedTarget[]): Verdict {
  const detail = failures.map((failure) => failure.detail).join('; ');
  // The best host's word counts; but a refusal says more than a host that could not be reached.
  const telling = failures.find((failure) => failure.reply) ?? failures[0];
  const reply = { ...(telling?.reply ? { reply: telling.reply } : {}), ...(telling ? { mx: telling.mx } : {}) };
  if (failures.length > 0 && failures.every((failure) => failure.takesNoMail)) {
    return { kind: 'bounced', reason: 'takes_no_mail', detail, ...reply };
  }
  return { kind: 'deferred', reason: telling?.reason ?? 'unreachable', detail, ...reply };
}
