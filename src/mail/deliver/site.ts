import type { Clock } from '../../platform/clock.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { onAbort } from './abort-watch.ts';
import { wakeWaiting, type Capacity, type Wish } from './capacity.ts';
import type { Concurrency } from './concurrency.ts';
import type { Deferral, JobOutcome } from './delivery-job.ts';
import type { Ending } from './ending.ts';
import { FailureMemory } from './failure-memory.ts';
import type { Route, Target } from './mx-route.ts';
import { addressOutcome, allFailed, asDown, notTried, tookTooLong, type FailedTarget } from './opening-outcome.ts';
import type { Opened, SmtpSession } from './smtp-session.ts';
import { WaitersByTenant } from './waiters-by-tenant.ts';

/** A host that is silent leaves at least this much time to each of the others. */
const TARGET_MS_MIN = 30_000;
/** An opening that takes longer is probably to a silent host, and does not keep the tenant from opening others. */
const SLOW_OPENING_MS = 10_000;
/** A connection whose place others wait for is closed after this many messages. */
const MESSAGES_WHILE_SCARCE = 10;

/** The causes of a 421 that concern all mail from this server. */
const CAUSES_FOR_ALL_MAIL: ReadonlySet<string | undefined> = new Set([
  undefined,
  'rate',
  'ip_reputation',
  'receiver_trouble',
  'network',
]);
/** Failures that may come from too little time. */
const HURRIED: ReadonlySet<string> = new Set(['timeout', 'unreachable']);

/** Lists how a server fails that takes no more connections while it serves others. */
const WHEN_FULL: ReadonlySet<string> = new Set(['refused_for_now', 'connection_lost', 'unreachable']);
/** Lists reasons that say nothing about the servers. */
const OF_OUR_OWN: ReadonlySet<string> = new Set(['suspended', 'throttled', 'source_unavailable']);

/** Endings after which the next message needs a connection that is opened in another way. */
const NEEDS_ANOTHER_SESSION: ReadonlySet<Ending['kind']> = new Set(['tls required', 'login required']);

/** A session of a site, with everything whose connections it counts among. */
export type PooledSession = SmtpSession & {
  readonly site: Site;
  readonly address: Capacity | undefined;
  /** Those that more sites share come first, also when room is freed, so that no site's own mail comes before that of others. */
  readonly capacities: readonly Capacity[];
};

/** A connection for one transaction, or why there is none. */
export type Lease = { kind: 'lease'; session: PooledSession } | JobOutcome;

export const STOPPING: JobOutcome = {
  kind: 'deferred',
  reason: 'stopping',
  detail: 'The delivery was stopped before it began',
};

interface Waiter {
  tenant: string;
  /** Only a connection that has carried no message yet will do. */
  isFresh: boolean;
  settle: (lease: Lease) => void;
}

export interface SiteOptions {
  /** The process, the provider if there is one, and the mail servers: those that more sites share come first. */
  capacities: readonly Capacity[];
  /**
   * Returns what a connection to a mail server counts for in addition, of which its address is the last, or why there is to be none
   * now.
   */
  findPlaces: (target: Target) => Capacity[] | Deferral;
  concurrency: Concurrency;
  /** Called when the concurrency has changed. */
  onConcurrency: () => void;
  route: () => Promise<Route>;
  open: (target: Target, skipTls: boolean, openMs: number, signal: AbortSignal) => Promise<Opened>;
  /** Called with each reply that refused a connection. */
  onRefusal: (reply: Reply, cause: ReplyCause | undefined) => void;
  messagesPerConnectionMax: () => number;
  idleMs: () => number;
  /** Limit for opening one connection, however many hosts are tried. */
  openMs: number;
  quitMs: number;
  clock: Clock;
  /** Monotonic milliseconds: a clock that is set back does not extend the life of what is remembered. */
  now: () => number;
  random: () => number;
  /** Called when a connection is gone, or an opening ended without one. */
  onFewer: () => void;
}

/** `blocked`: an address has no room for now. `unneeded`: no mail waits for the connection any more. */
type OpeningEnd =
  | { kind: 'open'; session: PooledSession }
  | { kind: 'blocked'; address: Capacity }
  | { kind: 'unneeded' }
  | JobOutcome;

/**
 * The mail servers of one or many domains as one of our egresses uses them: their connections, the deliveries that wait for one,
 * and the memory of their failures. `acquire` leases an idle connection or adds a waiter, for whom `#tryFor` opens one when all
 * capacities allow it. `release` leases it to the next waiter, tenants in turn, parks it or closes it.
 */
export class Site {
  #options: SiteOptions;
  #failures: FailureMemory;
  #waiting = new WaitersByTenant<Waiter>();
  #wishes = new Map<string, Wish & { order: number }>();
  /** Tenants that wait for an address: opening a connection would only find it full again. */
  #blocked = new Map<string, Capacity>();
  #sessions = new Set<PooledSession>();
  #idle = new Map<PooledSession, () => void>();
  #openings = new Map<string, number>();
  #openingCount = 0;
  #closing = 0;
  /** Leased sessions, including those whose connection is gone. */
  #leases = 0;
  #stopping = new AbortController();

  constructor(options: SiteOptions) {
    this.#options = options;
    this.#failures = new FailureMemory(options);
  }

  /** Leases a connection for one transaction, or says why there is none. `fresh` passes over idle connections. */
  acquire(tenant: string, signal: AbortSignal, fresh: boolean): Promise<Lease> {
    if (this.#stopping.signal.aborted || signal.aborted) return Promise.resolve(STOPPING);
    if (fresh) for (const session of [...this.#idle.keys()]) this.closeIdle(session);
    if (this.#failures.findTenantDeferral(tenant) === undefined) {
      const idle = [...this.#idle.keys()].findLast((session) => mayUse(session, tenant));
      if (idle && !this.#waiting.has(tenant)) {
        this.#unpark(idle);
        return Promise.resolve(this.#beginLease(tenant, idle));
      }
    }
    const why = this.findDeferral(tenant);
    if (why) return Promise.resolve(asDown(why));
    return new Promise((resolve) => {
      const settle = (lease: Lease): void => {
        unwatch();
        this.#waiting.remove(tenant, waiter);
        if (!this.#waiting.has(tenant)) this.#dropWish(tenant);
        resolve(lease);
      };
      const waiter: Waiter = { tenant, isFresh: fresh, settle };
      const unwatch = onAbort(signal, () => waiter.settle(STOPPING));
      this.#waiting.add(tenant, waiter, fresh ? 'first' : 'last');
      this.#tryFor(tenant);
    });
  }

  /** Returns a leased session and says how its transaction ended. */
  release(tenant: string, session: PooledSession, ending: Ending | undefined): void {
    const isWanted = session.capacities.some((capacity) => capacity.isWantedFrom(tenant, this));
    this.#leases -= 1;
    for (const capacity of session.capacities) capacity.endUse(tenant);
    if (ending) this.#noteEnding(tenant, session, ending);
    const { failure, isOutOfStep, isLeaving } = session.connection;
    const isWhole = !failure && !isOutOfStep && !isLeaving && !(ending && NEEDS_ANOTHER_SESSION.has(ending.kind));
    const isUsedUp =
      session.used >= this.#options.messagesPerConnectionMax() ||
      (isWanted && session.used >= MESSAGES_WHILE_SCARCE) ||
      session.capacities.some((capacity) => capacity.isOver);
    if (!isWhole || isUsedUp || this.#stopping.signal.aborted) this.#retire(session);
    else this.#lease(session);
    wakeWaiting(session.capacities);
    this.#serve();
  }

  #noteEnding(tenant: string, session: PooledSession, ending: Ending): void {
    this.#failures.note(tenant, ending);
    const { concurrency } = this.#options;
    const { address } = session;
    // One dead idle connection suggests that the others are dead too: a second dead one would end the attempt.
    if (ending.kind === 'stale') for (const idle of [...this.#idle.keys()]) this.closeIdle(idle);
    else if (ending.kind === 'tls required') this.#failures.tlsRequired(session.connection.address);
    else if (ending.kind === 'worked') {
      address?.worked();
      this.#changeConcurrency(() => concurrency.succeeded());
    } else {
      if (ending.kind === 'broken') address?.brokeOff(ending.why);
      // A refusal of one team's content or domain says nothing about how much the servers take.
      if ('why' in ending && !CAUSES_FOR_ALL_MAIL.has(ending.why.cause)) return;
      this.#changeConcurrency(() => concurrency.refused());
    }
  }

  /** Applies a change to the concurrency. Most messages change nothing, so that the limits are not computed for each. */
  #changeConcurrency(change: () => void): void {
    const { concurrency, onConcurrency } = this.#options;
    const before = concurrency.allowed;
    change();
    if (concurrency.allowed !== before) onConcurrency();
  }

  /** Tries to serve all that wait. */
  #serve(): void {
    for (const [tenant] of [...this.#waiting.tenants()]) this.#tryFor(tenant);
  }

  /** Leases idle connections to the waiters of a tenant, and opens connections for the others as far as all limits allow. */
  #tryFor(tenant: string): void {
    while (this.#waiting.has(tenant)) {
      const idle = [...this.#idle.keys()].findLast((session) => mayUse(session, tenant));
      if (!idle) break;
      this.#unpark(idle);
      if (!this.#lease(idle)) break;
    }
    if (!this.#waiting.has(tenant) || this.#stopping.signal.aborted) return;
    const why = this.#failures.findTenantDeferral(tenant);
    if (why) return refuse(this.#waiting.takeAllFrom(tenant), asDown(why));
    if (this.#failures.all.why) {
      // Established connections still work, so the waiters may wait for those.
      if (this.#sessions.size + this.#openingCount === 0)
        refuse(this.#waiting.takeAllFrom(tenant), asDown(this.#failures.all.why));
      else this.#awaitShare(tenant);
      return;
    }
    if (!this.#blocked.has(tenant)) while (this.#wantsOpening(tenant) && this.#mayOpen(tenant)) void this.#open(tenant);
    this.#awaitShare(tenant);
  }

  /** Until the servers have greeted us, only one connection is being opened, and then one for each waiter. */
  #wantsOpening(tenant: string): boolean {
    if (this.#sessions.size === 0 && this.#openingCount > 0) return false;
    return this.#waiting.count(tenant) > (this.#openings.get(tenant) ?? 0);
  }

  #mayOpen(tenant: string): boolean {
    const isDoubtful = this.#sessions.size === 0 && !this.#failures.all.isForgettable;
    for (const capacity of this.#options.capacities) {
      const lack = capacity.lackFor(tenant, isDoubtful);
      if (lack === undefined) continue;
      capacity.wait(lack, this.#wish(tenant));
      return false;
    }
    return true;
  }

  /** Waits for the share that keeps a waiter from an idle connection. */
  #awaitShare(tenant: string): void {
    if (this.#idle.size === 0 || !this.#waiting.has(tenant)) return;
    for (const [session] of this.#idle)
      session.capacities.find((capacity) => !capacity.fits(tenant))?.wait('share', this.#wish(tenant));
  }

  #wish(tenant: string): Wish {
    const known = this.#wishes.get(tenant);
    if (known) return known;
    const wish = {
      tenant,
      site: this,
      order: nextOrder(),
      lines: new Set<{ leave(wish: Wish): void }>(),
      tryAgain: (from: Capacity) => {
        if (this.#blocked.get(tenant) === from) this.#blocked.delete(tenant);
        this.#tryFor(tenant);
      },
    };
    this.#wishes.set(tenant, wish);
    return wish;
  }

  /** Puts the next wish of the tenant behind those that have waited meanwhile. */
  #hadTurn(tenant: string): void {
    const wish = this.#wishes.get(tenant);
    if (wish) wish.order = nextOrder();
  }

  #dropWish(tenant: string): void {
    const wish = this.#wishes.get(tenant);
    if (!wish) return;
    for (const line of [...wish.lines]) line.leave(wish);
    this.#wishes.delete(tenant);
    this.#blocked.delete(tenant);
  }

  async #open(tenant: string): Promise<void> {
    const { capacities, clock, onFewer } = this.#options;
    this.#openingCount += 1;
    this.#openings.set(tenant, (this.#openings.get(tenant) ?? 0) + 1);
    for (const capacity of capacities) capacity.opens(tenant);
    this.#hadTurn(tenant);
    let isSlow = false;
    const cancelSlow = clock.timer(SLOW_OPENING_MS, () => {
      isSlow = true;
      for (const capacity of capacities) capacity.opensSlowly(tenant);
      wakeWaiting(capacities);
    });
    const end = await this.#openFirst(tenant);
    cancelSlow();
    // The rest runs in one turn of the event loop, because the connection is counted nowhere in between.
    this.#openingCount -= 1;
    const left = (this.#openings.get(tenant) ?? 0) - 1;
    if (left > 0) this.#openings.set(tenant, left);
    else this.#openings.delete(tenant);
    if (end.kind === 'open') {
      for (const capacity of end.session.capacities) capacity.opened(tenant, isSlow);
      this.#failures.all.answered();
      this.#adopt(end.session);
    } else {
      for (const capacity of capacities) capacity.failed(tenant, { isSlow });
      if (end.kind === 'blocked') this.#awaitAddress(tenant, end);
      else if (end.kind === 'deferred' && OF_OUR_OWN.has(end.reason)) this.#refuseAll(end);
      else if (end.kind !== 'unneeded') this.#openingFailed(end);
      onFewer();
    }
    // Sites that have waited for the room come before the next wishes of this one.
    wakeWaiting(end.kind === 'open' ? end.session.capacities : capacities);
    this.#serve();
  }

  /** Opens the first of the route's targets that greets us; the failures of the others become the detail. */
  async #openFirst(tenant: string): Promise<OpeningEnd> {
    const { capacities, clock, findPlaces, open, openMs, route: findRoute, onRefusal } = this.#options;
    const { signal } = this.#stopping;
    const route = await findRoute();
    if (signal.aborted) return STOPPING;
    if (route.kind !== 'route') return route;
    const failures: FailedTarget[] = [];
    // An address that serves other connections and takes no more, and why a provider gets no connection.
    let fullAddress: Capacity | undefined;
    let closed: Deferral | undefined;
    let leftMs = openMs;
    for (const [index, target] of route.targets.entries()) {
      if (this.#waiting.size === 0) return { kind: 'unneeded' };
      if (leftMs <= 0) {
        failures.push(tookTooLong(target, openMs));
        break;
      }
      const places = findPlaces(target);
      if ('kind' in places) {
        closed ??= places;
        continue;
      }
      const address = places.at(-1);
      const down = address?.backOff.why;
      if (down) {
        failures.push(notTried(target, down));
        continue;
      }
      const full = places.find((place) => place.lackFor(tenant) !== undefined);
      if (full) return { kind: 'blocked', address: full };
      const { sessions: served = 0, connections: others = 0 } = address ?? {};
      for (const place of places) place.opens(tenant);
      const from = clock.now();
      const shareMs = Math.min(leftMs, Math.max(TARGET_MS_MIN, leftMs / (route.targets.length - index)));
      const opened = await open(target, this.#failures.skipsTls(target.address), shareMs, signal);
      leftMs -= Math.max(0, clock.now() - from);
      if (opened.kind === 'open') {
        if (opened.handshakeFailed) this.#failures.handshakeFailed(target.address);
        return {
          kind: 'open',
          session: Object.assign(opened.session, {
            site: this,
            address,
            capacities: capacities.toSpliced(-1, 0, ...places),
          }),
        };
      }
      const failure: FailedTarget = { ...opened, mx: target.host };
      failures.push(failure);
      // A server that takes no more while it serves others is not down, even if those have ended meanwhile.
      const isServing = served > 0 || (address?.sessions ?? 0) > 0;
      const isFull = isServing && WHEN_FULL.has(failure.reason) && !failure.takesNoMail;
      // A host that had less time than usual is not to blame for using it up.
      const isHurried = shareMs < Math.min(TARGET_MS_MIN, openMs) && HURRIED.has(failure.reason);
      const outcome = isFull || isHurried ? undefined : addressOutcome(failure);
      for (const place of places) place.failed(tenant, { outcome: place === address ? outcome : undefined });
      if (opened.reply) onRefusal(opened.reply, opened.cause);
      if (isFull && address) {
        this.#noteFull(address, others);
        fullAddress ??= address;
      }
      wakeWaiting(places);
      // A login that one address of a relay refuses is refused by the others, and providers count refusals.
      if (opened.reason === 'relay_misconfigured') return signal.aborted ? STOPPING : allFailed(failures);
    }
    if (signal.aborted) return STOPPING;
    if (fullAddress) return { kind: 'blocked', address: fullAddress };
    return closed && failures.length === 0 ? closed : allFailed(failures);
  }

  /** Records that an address refused one more connection while there were `others`. */
  #noteFull(address: Capacity, others: number): void {
    address.refusedMore(others);
    const sessions = [...this.#sessions].filter((session) => session.address === address);
    // Connections that other names opened say nothing about how many these servers take.
    if (others > sessions.length + this.#openingCount - 1) return;
    this.#changeConcurrency(() => this.#options.concurrency.refused(this.connections - 1));
  }

  #awaitAddress(tenant: string, { address }: { address: Capacity }): void {
    const lack = address.lackFor(tenant);
    if (lack === undefined || !this.#waiting.has(tenant)) return;
    this.#blocked.set(tenant, address);
    address.wait(lack, this.#wish(tenant));
  }

  #openingFailed(outcome: JobOutcome): void {
    if (this.#stopping.signal.aborted) return this.#refuseAll(STOPPING);
    if (outcome.kind === 'bounced') return this.#refuseAll(outcome);
    this.#failures.all.failed(outcome, outcome.reason === 'destination_down');
    if (this.#sessions.size + this.#openingCount === 0) this.#refuseAll(outcome);
  }

  #adopt(session: PooledSession): void {
    this.#sessions.add(session);
    session.connection.onClosed = () => this.#closed(session);
    this.#lease(session);
  }

  /**
   * Leases the connection to the next waiter that may have it. Without one, parks it, or closes it if its place is needed, and
   * returns false.
   */
  #lease(session: PooledSession): boolean {
    const waiter = this.#waiting.take(
      (tenant) => mayUse(session, tenant),
      ({ isFresh }) => !isFresh || session.used === 0,
    );
    if (waiter) {
      waiter.settle(this.#beginLease(waiter.tenant, session));
      return true;
    }
    const isOver = session.connection.failure !== undefined || this.#stopping.signal.aborted;
    if (isOver || this.#hasOnlyFresh(session)) {
      this.#retire(session);
      return false;
    }
    this.#park(session);
    for (const [tenant] of this.#waiting.tenants()) this.#awaitShare(tenant);
    for (const capacity of session.capacities) capacity.makeRoom();
    return false;
  }

  /** Whether those that wait need another connection, for which this one only takes up room. */
  #hasOnlyFresh(session: PooledSession): boolean {
    return this.#waiting.peek((tenant) => mayUse(session, tenant)) !== undefined;
  }

  #beginLease(tenant: string, session: PooledSession): Lease {
    this.#leases += 1;
    this.#hadTurn(tenant);
    for (const capacity of session.capacities) capacity.beginUse(tenant);
    return { kind: 'lease', session };
  }

  #park(session: PooledSession): void {
    const close = (): void => this.closeIdle(session);
    session.connection.onStir = close;
    this.#idle.set(session, this.#options.clock.timer(this.#options.idleMs(), close));
    for (const capacity of session.capacities) capacity.park(session, this, close);
  }

  #unpark(session: PooledSession): void {
    this.#idle.get(session)?.();
    this.#idle.delete(session);
    session.connection.onStir = () => {};
    for (const capacity of session.capacities) capacity.unpark(session);
  }

  /** Closes an idle connection. */
  closeIdle(session: PooledSession): void {
    this.#unpark(session);
    this.#retire(session);
  }

  /** Closes the connection. Its place is in use until the socket is gone. */
  #retire(session: PooledSession): void {
    if (!this.#sessions.delete(session)) return;
    this.#closing += 1;
    for (const capacity of session.capacities) capacity.leaves();
    const gone = (): void => {
      this.#closing -= 1;
      this.#left(session);
    };
    session.connection.onClosed = gone;
    if (session.connection.isClosed) gone();
    else session.connection.quit(this.#options.quitMs);
  }

  /** The peer closed a leased connection. `release` decides whether to open a replacement. */
  #closed(session: PooledSession): void {
    if (!this.#sessions.delete(session)) return;
    for (const capacity of session.capacities) capacity.leaves();
    this.#left(session);
  }

  #left(session: PooledSession): void {
    for (const capacity of session.capacities) capacity.left();
    this.#options.onFewer();
    wakeWaiting(session.capacities);
    this.#serve();
  }

  /** Refuses all that wait, for example because the site is suspended; transactions under way may end. */
  refuseWaiting(outcome: JobOutcome): void {
    this.#refuseAll(outcome);
    for (const session of [...this.#idle.keys()]) this.closeIdle(session);
  }

  /** Refuses the waiters, gives up openings, closes idle connections; transactions under way may end. */
  stop(): void {
    this.#stopping.abort();
    this.refuseWaiting(STOPPING);
  }

  /** Breaks off transactions under way. */
  abandon(): void {
    for (const session of this.#sessions)
      session.connection.fail({ kind: 'aborted', detail: 'the server is stopping' });
  }

  #refuseAll(outcome: JobOutcome): void {
    refuse(this.#waiting.takeAll(), outcome);
  }

  get connections(): number {
    return this.#sessions.size + this.#openingCount + this.#closing;
  }

  /** Counts the connections that carry mail or will, without those that are being closed. */
  get usable(): number {
    return this.#sessions.size + this.#openingCount;
  }

  get counts(): { idle: number; waiting: number; isDown: boolean } {
    return { idle: this.#idle.size, waiting: this.#waiting.size, isDown: this.#failures.all.why !== undefined };
  }

  /** Returns why a tenant's mail would be deferred without being tried. */
  findDeferral(tenant: string): Deferral | undefined {
    return (
      this.#failures.findTenantDeferral(tenant) ?? (this.#sessions.size === 0 ? this.#failures.all.why : undefined)
    );
  }

  /** Whether the pool may drop this object: it has no connection, lease or waiter, and remembers no failure. */
  get isForgettable(): boolean {
    return this.connections + this.#leases + this.#waiting.size === 0 && this.#failures.isForgettable;
  }
}

let lastOrder = 0;
const nextOrder = (): number => (lastOrder += 1);

const mayUse = (session: PooledSession, tenant: string): boolean =>
  session.capacities.every((capacity) => capacity.fits(tenant));

function refuse(waiters: readonly Waiter[], outcome: JobOutcome): void {
  for (const waiter of waiters) waiter.settle(outcome);
}
