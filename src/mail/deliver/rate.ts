import type { Clock } from '../../platform/clock.ts';
import { createFairShare, type FairShare } from '../../platform/limits/index.ts';
import { onAbort } from './abort-watch.ts';
import { tenantBefore, WaitersByTenant } from './waiters-by-tenant.ts';

/** A message that would have to wait longer than this returns to the queue until its turn is near. */
const WAIT_IN_PLACE_MS = 10_000;
const PLACES_MIN = 4;
const PLACES_MAX = 500;
const LATER_MS_MAX = 3_600_000;

/** `later`: the message should come again after this time. */
export type Turn = { kind: 'now' } | { kind: 'later'; afterMs: number } | { kind: 'stopped' };

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

  /** Changes the pace from the next event on. */
  change(perMinute: number, burst: number): void {
    this.#intervalMs = 60_000 / perMinute;
    this.#burst = burst;
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
 * Limits the messages per minute of a provider, a site or a relay. Tenants take turns, and the marketing mail of a team comes
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
  enter(tenant: string): Turn {
    const isFree = this.#waiting.size === 0 && this.#spacing.waitMs === 0;
    if (!isFree && !this.#places.fits(tenant)) return this.#later(tenant);
    this.#places.enter(tenant);
    return { kind: 'now' };
  }

  leave(tenant: string): void {
    this.#places.leave(tenant);
  }

  /** Resolves when the message may leave. */
  take(tenant: string, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
    if (this.#waiting.size === 0 && this.#spacing.waitMs === 0) {
      this.#spacing.take();
      return Promise.resolve({ kind: 'now' });
    }
    return this.#wait(tenant, 'last', signal);
  }

  /** Takes another turn before all others, for a message whose turn passed while it waited for a connection. */
  takeAgain(tenant: string, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
    if (this.#spacing.waitMs === 0) {
      this.#spacing.take();
      return Promise.resolve({ kind: 'now' });
    }
    return this.#wait(tenant, 'first', signal);
  }

  /** Sends all waiting messages back to the queue. */
  sendAway(afterMs: number): void {
    for (const waiter of this.#waiting.takeAll()) waiter.settle({ kind: 'later', afterMs });
  }

  #wait(tenant: string, place: 'first' | 'last', signal: AbortSignal): Promise<Turn> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        tenant,
        settle: (turn) => {
          unwatch();
          this.#waiting.remove(tenant, waiter);
          resolve(turn);
        },
      };
      const unwatch = onAbort(signal, () => waiter.settle({ kind: 'stopped' }));
      this.#waiting.add(tenant, waiter, place);
      this.#schedule();
    });
  }

  #later(tenant: string): Turn {
    const now = this.#now();
    for (const [one, at] of this.#laterAt) if (at < now) this.#laterAt.delete(one);
    const { intervalMs, waitMs } = this.#spacing;
    const soonest = now + waitMs + this.#waiting.size * intervalMs;
    const at = Math.max(soonest, (this.#laterAt.get(tenant) ?? 0) + intervalMs);
    this.#laterAt.set(tenant, Math.min(at, now + LATER_MS_MAX));
    return { kind: 'later', afterMs: Math.round(Math.min(at - now, LATER_MS_MAX)) };
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#waiting.size === 0) return;
    this.#cancelTimer = this.#clock.timer(this.#spacing.waitMs, () => {
      this.#cancelTimer = undefined;
      if (this.#spacing.waitMs === 0) {
        const waiter = this.#waiting.take((tenant) => this.#mayGo(tenant));
        if (waiter) this.#spacing.take();
        waiter?.settle({ kind: 'now' });
      }
      this.#schedule();
    });
  }

  /** Marketing mail waits for the transactional mail of every team: a slow rate has no room for both. */
  #mayGo(tenant: string): boolean {
    const isMarketing = (one: string): boolean => tenantBefore(one) !== undefined;
    return !isMarketing(tenant) || [...this.#waiting.tenants()].every(([other]) => isMarketing(other));
  }
}
