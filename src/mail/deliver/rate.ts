import type { Clock } from '../../platform/clock.ts';
import { createFairShare, type FairShare } from '../../platform/limits/index.ts';
import { onAbort } from './abort-watch.ts';
import { tenantBefore, WaitersByTenant } from './waiters-by-tenant.ts';

/** A message that would have to wait longer than this returns to the queue until its turn is near. */
const WAIT_IN_PLACE_MS = 10_000;
const PLACES_MIN = 4;
const PLACES_MAX = 500;
/** A message comes again after this time at the latest. One that waits for a limit which ends comes again when it does. */
const LATER_MS_MAX = 60 * 60_000;

/** `later`: the message should come again after this time. `number` tells turns apart. */
export type Turn = { kind: 'now'; number: number } | { kind: 'later'; afterMs: number } | { kind: 'stopped' };

/** After so many turns of other mail, waiting bulk mail has one. */
const TURNS_BEFORE_BULK = 4;

interface Waiter {
  tenant: string;
  settle: (turn: Turn) => void;
}

/**
 * Spaces events evenly (GCRA): with a burst of 1, two events are never closer than `60 s / perMinute`, so that no window of a
 * minute has more events than the limit. A burst lets so many follow each other at once after a pause.
 */
export class Spacing {
  #now: () => number;
  #intervalMs: number;
  #burst: number;
  /** Time at which the events so far would be used up at the even pace. */
  #paidUntil = -Infinity;

  constructor(perMinute: number, burst: number, now: () => number) {
    this.#now = now;
    this.#intervalMs = 60_000 / perMinute;
    this.#burst = burst;
  }

  get intervalMs(): number {
    return this.#intervalMs;
  }

  /** Changes the pace, also for the next event. */
  change(perMinute: number, burst: number): void {
    const intervalMs = 60_000 / perMinute;
    const now = this.#now();
    if (this.#paidUntil > now) this.#paidUntil = now + ((this.#paidUntil - now) * intervalMs) / this.#intervalMs;
    this.#intervalMs = intervalMs;
    this.#burst = burst;
  }

  /** Moves the last event to this moment, because it happened later than it was counted. */
  moveLast(): void {
    this.#paidUntil = Math.max(this.#paidUntil, this.#now() + this.#intervalMs);
  }

  /** Time until the next event is allowed; 0 if it is allowed now. Timers have whole milliseconds, so a part of one is none. */
  get waitMs(): number {
    const waitMs = this.#paidUntil - (this.#burst - 1) * this.#intervalMs - this.#now();
    return waitMs < 1 ? 0 : waitMs;
  }

  take(): void {
    this.#paidUntil = Math.max(this.#now(), this.#paidUntil) + this.#intervalMs;
  }
}

/**
 * Limits the messages per minute of a provider, a site or a relay. Tenants take turns, and the bulk mail of a team comes
 * after its transactional mail. Few messages wait here; the others are told when to come again.
 */
export class MessageRate {
  #clock: Clock;
  #now: () => number;
  #perMinute: number;
  #burst: number;
  #spacing: Spacing;
  /** Messages that entered and have not left yet. */
  readonly #places: FairShare;
  #waiting = new WaitersByTenant<Waiter>();
  /** Time until which the later turns of each tenant are assigned. */
  #laterAt = new Map<string, number>();
  /** Messages whose turn passed while they waited for a connection: they hold one, so they come before all others. */
  #again = new Set<Waiter>();
  #turns = 0;
  #urgentTurns = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(perMinute: number, burst: number, { clock, now }: { clock: Clock; now: () => number }) {
    this.#clock = clock;
    this.#now = now;
    this.#perMinute = perMinute;
    this.#burst = burst;
    this.#spacing = new Spacing(perMinute, burst, now);
    this.#places = createFairShare(this.#placesMax());
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  /** Changes the rate. Messages that wait go on at the new one. */
  change(perMinute: number, burst: number): void {
    if (perMinute === this.#perMinute && burst === this.#burst) return;
    this.#perMinute = perMinute;
    this.#burst = burst;
    this.#spacing.change(perMinute, burst);
    this.#places.resize(this.#placesMax());
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#schedule();
  }

  #placesMax(): number {
    return Math.min(
      PLACES_MAX,
      Math.max(PLACES_MIN, this.#burst + Math.floor(WAIT_IN_PLACE_MS / this.#spacing.intervalMs)),
    );
  }

  /**
   * Takes a place for a message of the tenant, which `leave` returns. Returns when to come again if it would wait for long, or
   * if the tenant has as many places as are free.
   */
  enter(tenant: string): Extract<Turn, { kind: 'later' }> | undefined {
    const isFree = this.#waiting.size === 0 && this.#spacing.waitMs === 0;
    if (!isFree && !this.#places.fits(tenant)) return this.#later(tenant);
    this.#places.enter(tenant);
    return undefined;
  }

  leave(tenant: string): void {
    this.#places.leave(tenant);
  }

  /** Whether nothing waits, and the next message may leave at once. */
  get isQuiet(): boolean {
    return this.#places.used + this.#waiting.size + this.#again.size === 0 && this.#spacing.waitMs === 0;
  }

  /** Resolves when the message may leave. */
  take(tenant: string, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
    if (this.#waiting.size + this.#again.size === 0 && this.#spacing.waitMs === 0)
      return Promise.resolve(this.#begin());
    return this.#wait(tenant, signal, {
      add: (waiter) => this.#waiting.add(tenant, waiter, 'last'),
      remove: (waiter) => this.#waiting.remove(tenant, waiter),
    });
  }

  /**
   * For a message that had its turn some time ago. If no other has had one since, it may still leave; otherwise it has the next
   * turn.
   */
  takeAgain(tenant: string, number: number, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
    if (number === this.#turns) {
      this.#spacing.moveLast();
      return Promise.resolve({ kind: 'now', number });
    }
    if (this.#again.size === 0 && this.#spacing.waitMs === 0) return Promise.resolve(this.#begin());
    return this.#wait(tenant, signal, {
      add: (waiter) => void this.#again.add(waiter),
      remove: (waiter) => void this.#again.delete(waiter),
    });
  }

  /** Sends all waiting messages back to the queue. */
  sendAway(): void {
    for (const waiter of [...this.#again, ...this.#waiting.takeAll()]) waiter.settle({ kind: 'later', afterMs: 0 });
  }

  /** Ends the waiting, because the process stops. */
  stop(): void {
    for (const waiter of [...this.#again, ...this.#waiting.takeAll()]) waiter.settle({ kind: 'stopped' });
  }

  #begin(): Turn {
    this.#spacing.take();
    this.#turns += 1;
    return { kind: 'now', number: this.#turns };
  }

  #wait(
    tenant: string,
    signal: AbortSignal,
    line: { add: (waiter: Waiter) => void; remove: (waiter: Waiter) => void },
  ): Promise<Turn> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        tenant,
        settle: (turn) => {
          unwatch();
          line.remove(waiter);
          resolve(turn);
        },
      };
      const unwatch = onAbort(signal, () => waiter.settle({ kind: 'stopped' }));
      line.add(waiter);
      this.#schedule();
    });
  }

  #later(tenant: string): Extract<Turn, { kind: 'later' }> {
    const now = this.#now();
    for (const [one, at] of this.#laterAt) if (at < now) this.#laterAt.delete(one);
    const { intervalMs, waitMs } = this.#spacing;
    const soonest = now + waitMs + this.#waiting.size * intervalMs;
    const at = Math.max(soonest, (this.#laterAt.get(tenant) ?? 0) + intervalMs);
    this.#laterAt.set(tenant, Math.min(at, now + LATER_MS_MAX));
    return { kind: 'later', afterMs: Math.round(Math.min(at - now, LATER_MS_MAX)) };
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#waiting.size + this.#again.size === 0) return;
    this.#cancelTimer = this.#clock.timer(this.#spacing.waitMs, () => {
      this.#cancelTimer = undefined;
      if (this.#spacing.waitMs === 0) this.#next()?.settle(this.#begin());
      this.#schedule();
    });
  }

  /**
   * Returns whose turn it is. Bulk mail waits for the other mail of every team, because a slow rate has no room for both,
   * but has one of so many turns, so that it does not wait for ever.
   */
  #next(): Waiter | undefined {
    const [first] = this.#again;
    if (first) return first;
    const isBulk = (tenant: string): boolean => tenantBefore(tenant) !== undefined;
    const isTurnOfBulk = this.#urgentTurns >= TURNS_BEFORE_BULK;
    const waiter = this.#waiting.take((tenant) => isBulk(tenant) === isTurnOfBulk) ?? this.#waiting.take(() => true);
    this.#urgentTurns = waiter && isBulk(waiter.tenant) ? 0 : this.#urgentTurns + 1;
    return waiter;
  }
}
