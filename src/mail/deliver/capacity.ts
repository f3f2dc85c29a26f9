import type { Clock } from '../../platform/clock.ts';
import { createFairShare, type FairShare } from '../../platform/limits/index.ts';
import { BackOff } from './back-off.ts';
import type { Deferral } from './delivery-job.ts';
import { Spacing } from './rate.ts';
import { WaitersByTenant } from './waiters-by-tenant.ts';

/** A tenant may hold this many times the free connections: with 2, one alone has two thirds. Most connections come back after each message. */
const TIMES_FREE = 2;

export interface CapacityOptions {
  connectionsMax: number;
  /** Openings at one time, shared fairly, because a connection that is never greeted stays in use for minutes. */
  openingsMax?: number;
  /** Openings at one time while there is no connection: the server may be silent. */
  probesMax?: number;
  timesFree?: number;
  clock: Clock;
  now: () => number;
  random: () => number;
}

/**
 * A tenant without a connection lacks one of these: room for another one, more of its fair share, permission to connect at this
 * moment, or more of the part of its share that is for servers which failed lately.
 */
export type Lack = 'room' | 'share' | 'pace' | 'trust';

/** A tenant's wish for a connection to a site, while a capacity has none for it. */
export interface Wish {
  readonly tenant: string;
  /** The site that wants it, and how many connections it can use already. */
  readonly site: { readonly usable: number };
  /** Orders wishes by how long they have waited. */
  readonly order: number;
  /** The lines of capacities that it waits in. */
  readonly lines: Set<{ leave(wish: Wish): void }>;
  /** Tries again, because what `from` lacked may be there. */
  tryAgain(from: Capacity): void;
}

/** Wishes that wait for the same, tenants in turn. */
class Line {
  #wishes = new WaitersByTenant<Wish>();
  #bySite = new Map<object, number>();

  get size(): number {
    return this.#wishes.size;
  }

  /** Counts wishes of other sites. */
  countOthers(site: object): number {
    return this.#wishes.size - (this.#bySite.get(site) ?? 0);
  }

  /**
   * Reports whether another site, for any tenant or for this one, has so many fewer connections that one of this site would not
   * have to be given back. Sites with as many each would close and open them all the time.
   */
  hasPoorerSite(site: Wish['site'], tenant?: string): boolean {
    const isPoorer = (one: Wish): boolean => {
      if (one.site === site) return false;
      return one.site.usable === 0 || one.site.usable + 1 < site.usable;
    };
    return this.#wishes.some(isPoorer, tenant);
  }

  enter(wish: Wish): void {
    if (wish.lines.has(this)) return;
    wish.lines.add(this);
    this.#wishes.add(wish.tenant, wish, 'last');
    this.#bySite.set(wish.site, (this.#bySite.get(wish.site) ?? 0) + 1);
  }

  leave(wish: Wish): void {
    this.#wishes.remove(wish.tenant, wish);
    this.#left(wish);
  }

  /** Returns the next wish whose tenant may try. */
  peek(mayTry: (tenant: string) => boolean): Wish | undefined {
    return this.#wishes.size === 0 ? undefined : this.#wishes.peek(mayTry);
  }

  take(mayTry: (tenant: string) => boolean): Wish | undefined {
    const wish = this.#wishes.take(mayTry);
    if (wish) this.#left(wish);
    return wish;
  }

  takeAll(): Wish[] {
    const all = this.#wishes.takeAll();
    for (const wish of all) this.#left(wish);
    return all;
  }

  #left(wish: Wish): void {
    wish.lines.delete(this);
    const count = (this.#bySite.get(wish.site) ?? 0) - 1;
    if (count > 0) this.#bySite.set(wish.site, count);
    else this.#bySite.delete(wish.site);
  }
}

/**
 * Connections that may exist at one place: in the process, to a provider, to a set of mail servers, to one address. Counts
 * those that exist, shares them between tenants, and notifies sites that wait for one.
 */
export class Capacity {
  /** Failures of the place as a whole; used for addresses. */
  readonly backOff: BackOff<Deferral>;
  #options: CapacityOptions;
  #connectionsMax: number;
  #opening = 0;
  #sessions = 0;
  #leaving = 0;
  #held: FairShare;
  #openings: FairShare | undefined;
  #connects: Spacing | undefined;
  /** Holds how many connections the place has shown that it takes, once it has refused one. */
  #learnedMax: number | undefined;
  /** Remembers refusals of one more connection: for some time after each, no more are tried. */
  #refusals: BackOff<true>;
  /** The idle connections, the longest idle first. */
  #idle = new Map<object, { site: object; close: () => void }>();
  #lines: Record<Lack, Line> = {
    room: new Line(),
    share: new Line(),
    pace: new Line(),
    trust: new Line(),
  };
  #cancelTimer: (() => void) | undefined;

  constructor(options: CapacityOptions) {
    this.#options = options;
    this.#connectionsMax = options.connectionsMax;
    this.#held = createFairShare(options.connectionsMax, options.timesFree ?? TIMES_FREE);
    if (options.openingsMax !== undefined) this.#openings = createFairShare(options.openingsMax);
    this.backOff = new BackOff(options);
    this.#refusals = new BackOff(options);
  }

  get connections(): number {
    return this.#sessions + this.#opening;
  }

  /** Counts the established connections of all sites. */
  get sessions(): number {
    return this.#sessions;
  }

  get connectionsMax(): number {
    return this.#connectionsMax;
  }

  get isForgettable(): boolean {
    const isQuiet = Object.values(this.#lines).every((line) => line.size === 0);
    const isForgotten = this.backOff.isForgettable && this.#refusals.isForgettable;
    return isQuiet && this.connections + this.#held.used === 0 && isForgotten;
  }

  /** Changes how many connections there may be, and how many may be opened per minute. Connections that are too many end after their message. */
  change(connectionsMax: number, connects: { perMinute: number; burst: number } | undefined): void {
    if (connects === undefined) this.#connects = undefined;
    else if (this.#connects) this.#connects.change(connects.perMinute, connects.burst);
    else this.#connects = new Spacing(connects.perMinute, connects.burst, this.#options.now);
    if (connectionsMax === this.#connectionsMax) return;
    this.#connectionsMax = connectionsMax;
    this.#held.resize(connectionsMax);
    for (const { close } of [...this.#idle.values()]) if (this.isOver) close();
    // Sites that wait for the provider of one of their servers go elsewhere while it is suspended.
    if (connectionsMax < 1) this.#wakeAll();
    else this.wake();
  }

  /** Whether there are more connections than there may be, after the limit was lowered. */
  get isOver(): boolean {
    return this.#sessions - this.#leaving > this.#connectionsMax;
  }

  /**
   * Returns what the tenant lacks for another connection; undefined if it may open one. `isDoubtful`: the servers failed lately.
   */
  lackFor(tenant: string, isDoubtful = false): Lack | undefined {
    if (!this.#hasRoom) return 'room';
    if (!this.#held.fits(tenant) || this.#openings?.fits(tenant) === false) return 'share';
    if (isDoubtful && !this.#trusts(tenant)) return 'trust';
    return this.#connects !== undefined && this.#connects.waitMs > 0 ? 'pace' : undefined;
  }

  /** Openings to servers that failed lately leave some of the tenant's share to the others. */
  #trusts(tenant: string): boolean {
    if (this.#openings === undefined) return true;
    const held = this.#openings.held(tenant);
    return held === 0 || held + 1 <= this.#openings.free / 2;
  }

  get #hasRoom(): boolean {
    const { probesMax } = this.#options;
    if (this.#sessions === 0 && probesMax !== undefined)
      return this.#opening < Math.min(probesMax, this.#connectionsMax);
    return this.connections < this.#connectionsMax;
  }

  /** Whether the tenant may use another of the existing connections. */
  fits(tenant: string): boolean {
    return this.#held.fits(tenant);
  }

  /** Whether a site with fewer connections waits for what this tenant would free by closing one of its site. */
  isWantedFrom(tenant: string, site: Wish['site']): boolean {
    if (!this.#hasRoom && this.#lines.room.hasPoorerSite(site)) return true;
    return !this.fits(tenant) && this.#lines.share.hasPoorerSite(site, tenant);
  }

  /** Adds a wish that is tried again when the lack may be over. */
  wait(lack: Lack, wish: Wish): void {
    this.#lines[lack].enter(wish);
    if (lack === 'room') this.makeRoom();
    if (lack === 'pace') this.#scheduleConnects();
  }

  /** Closes idle connections for sites that wait for room. */
  makeRoom(): void {
    if (this.#hasRoom) return;
    for (const { site, close } of [...this.#idle.values()]) {
      if (this.#leaving >= this.#lines.room.size) return;
      // A site uses its own idle connections as soon as the tenant's share allows it.
      if (this.#leaving < this.#lines.room.countOthers(site)) close();
    }
  }

  park(session: object, site: object, close: () => void): void {
    this.#idle.set(session, { site, close });
  }

  unpark(session: object): void {
    this.#idle.delete(session);
  }

  /** Records that a connection carries mail of the tenant from now on. */
  beginUse(tenant: string): void {
    this.#held.enter(tenant);
  }

  endUse(tenant: string): void {
    this.#held.leave(tenant);
  }

  opens(tenant: string): void {
    this.#held.enter(tenant);
    this.#openings?.enter(tenant);
    this.#opening += 1;
    this.#connects?.take();
  }

  /** Records that an opening takes so long that it no longer counts among those of the tenant. */
  opensSlowly(tenant: string): void {
    this.#openings?.leave(tenant);
  }

  opened(tenant: string, isSlow = false): void {
    this.#held.leave(tenant);
    if (!isSlow) this.#openings?.leave(tenant);
    this.#opening -= 1;
    this.#sessions += 1;
    this.backOff.answered();
    if (!this.#refusals.why) this.#refusals.answered();
  }

  /**
   * Records that no connection was opened. `outcome` is what the failure says about the place; undefined if it says nothing about
   * other mail.
   */
  failed(tenant: string, { outcome, isSlow = false }: { outcome?: Deferral | undefined; isSlow?: boolean }): void {
    this.#held.leave(tenant);
    if (!isSlow) this.#openings?.leave(tenant);
    this.#opening -= 1;
    // While another connection works, a failure only says that there are too many.
    if (!outcome || this.#sessions > 0) return;
    this.backOff.failed(outcome);
    this.#wakeAll();
  }

  /**
   * Records that the place refused one more connection while there were `others`: it takes no more than those, whichever names they
   * were opened for.
   */
  refusedMore(others: number): void {
    this.#refusals.failedTogether(true);
    this.#learn(Math.max(1, Math.min(this.#connectionsMax, others)));
  }

  /** Records that a message was delivered over one of the connections. */
  worked(): void {
    this.backOff.worked();
    if (this.#learnedMax === undefined || this.#refusals.why) return;
    this.#refusals.worked();
    // One more with each round of messages.
    this.#learn(Math.min(this.#options.connectionsMax, this.#learnedMax + 1 / this.#learnedMax));
  }

  #learn(max: number): void {
    this.#learnedMax = max;
    this.change(Math.floor(max), undefined);
  }

  /** Records that an established connection broke in a way that concerns all mail. */
  brokeOff(why: Deferral): void {
    this.backOff.failedTogether(why);
    this.#wakeAll();
  }

  /** Records that a connection is being closed. Its place is in use until the socket is gone: until then the peer counts it too. */
  leaves(): void {
    this.#leaving += 1;
  }

  left(): void {
    this.#leaving -= 1;
    this.#sessions -= 1;
  }

  /** Lets sites that wait here try again. */
  wake(): void {
    wakeWaiting([this]);
  }

  /** Returns whether a tenant that lacks this may try again. */
  mayTry(lack: Lack, tenant: string): boolean {
    if (lack === 'room') return this.#hasRoom && this.fits(tenant);
    if (lack === 'share') return this.fits(tenant) && this.#openings?.fits(tenant) !== false;
    if (lack === 'trust') return this.#trusts(tenant);
    return this.#connects === undefined || this.#connects.waitMs === 0;
  }

  line(lack: Lack): Line {
    return this.#lines[lack];
  }

  /** Lets all that wait here try again, because the place failed and they have to go elsewhere or be refused. */
  #wakeAll(): void {
    for (const line of Object.values(this.#lines)) for (const wish of line.takeAll()) wish.tryAgain(this);
  }

  #scheduleConnects(): void {
    if (this.#cancelTimer !== undefined || this.#connects === undefined) return;
    this.#cancelTimer = this.#options.clock.timer(this.#connects.waitMs, () => {
      this.#cancelTimer = undefined;
      this.wake();
      if (this.#lines.pace.size > 0) this.#scheduleConnects();
    });
  }
}

const LACKS: readonly Lack[] = ['share', 'room', 'pace', 'trust'];

/**
 * Lets sites that wait for these capacities try again: in each line tenants take turns, and of several lines the wish that has
 * waited longest comes first. Otherwise a busy site would take back the room that it gave up for another one.
 */
export function wakeWaiting(capacities: readonly Capacity[]): void {
  const stuck = new Set<Line>();
  for (;;) {
    let next: { capacity: Capacity; lack: Lack; wish: Wish } | undefined;
    for (const capacity of capacities)
      for (const lack of LACKS) {
        const line = capacity.line(lack);
        if (line.size === 0 || stuck.has(line)) continue;
        const wish = line.peek((tenant) => capacity.mayTry(lack, tenant));
        if (wish && (next === undefined || wish.order < next.wish.order)) next = { capacity, lack, wish };
      }
    if (next === undefined) return;
    const { capacity, lack, wish } = next;
    const line = capacity.line(lack);
    line.take((tenant) => capacity.mayTry(lack, tenant));
    wish.tryAgain(capacity);
    // It lacks the same as before, and so do those behind it.
    if (wish.lines.has(line)) stuck.add(line);
  }
}
