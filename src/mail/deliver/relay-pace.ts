import type { Clock } from '../../platform/clock.ts';
import { onAbort } from './abort-watch.ts';
import { tenantBefore, WaitersByTenant } from './waiters-by-tenant.ts';

/** A delivery that would have to wait longer than this returns its place in the queue's memory. */
const WAIT_IN_PLACE_MS = 10_000;
const WAITERS_MAX = 500;
const LATER_MS_MAX = 3_600_000;

/** `later`: the delivery should come again after this time. */
export type Turn = { kind: 'now' } | { kind: 'later'; afterMs: number } | { kind: 'stopped' };

interface Waiter {
  tenant: string;
  settle: (turn: Turn) => void;
}

/**
 * Spaces the messages of one relay evenly over each minute. Parties take turns, and the marketing mail of a team comes
 * after its transactional mail. Few deliveries wait here; the others are told when to come again.
 */
export class RelayPace {
  #clock: Clock;
  #now: () => number;
  #intervalMs: number;
  #waitersMax: number;
  #waiting = new WaitersByTenant<Waiter>();
  /** When the next message may leave. */
  #nextAt = -Infinity;
  /** Time until which the later turns of each party are assigned. */
  #laterAt = new Map<string, number>();
  #cancelTimer: (() => void) | undefined;

  constructor(perMinute: number, { clock, now }: { clock: Clock; now: () => number }) {
    this.#clock = clock;
    this.#now = now;
    this.#intervalMs = 60_000 / perMinute;
    this.#waitersMax = Math.min(WAITERS_MAX, Math.max(1, Math.floor(WAIT_IN_PLACE_MS / this.#intervalMs)));
  }

  /** Resolves when the message may leave, or returns when to come again. */
  acquire(tenant: string, signal: AbortSignal): Promise<Turn> {
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
    if (this.#waiting.size === 0 && this.#nextAt <= this.#now()) {
      this.#nextAt = this.#now() + this.#intervalMs;
      return Promise.resolve({ kind: 'now' });
    }
    if (this.#waiting.size >= this.#waitersMax && !this.#makeRoomFor(tenant))
      return Promise.resolve(this.#later(tenant));
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
      this.#waiting.add(tenant, waiter, 'last');
      this.#schedule();
    });
  }

  /** Rejects the last waiter of the party with the most waiters: marketing mail first, and never for a party with as many. */
  #makeRoomFor(tenant: string): boolean {
    const all = [...this.#waiting.tenants()];
    const marketing = all.filter(([one]) => isMarketing(one));
    if (!isMarketing(tenant) && marketing.length > 0) return this.#sendAway(largest(marketing)[0]);
    const [rival, count] = largest(isMarketing(tenant) ? marketing : all);
    const own = all.find(([one]) => one === tenant)?.[1] ?? 0;
    return count > own + 1 && this.#sendAway(rival);
  }

  #sendAway(tenant: string): boolean {
    const waiters = this.#waiting.takeAllFrom(tenant);
    const last = waiters.pop();
    for (const waiter of waiters) this.#waiting.add(tenant, waiter, 'last');
    last?.settle(this.#later(tenant));
    return last !== undefined;
  }

  #later(tenant: string): Turn {
    const now = this.#now();
    for (const [one, at] of this.#laterAt) if (at < now) this.#laterAt.delete(one);
    const soonest = now + this.#waitersMax * this.#intervalMs;
    const at = Math.max(soonest, this.#laterAt.get(tenant) ?? 0) + this.#intervalMs;
    this.#laterAt.set(tenant, Math.min(at, now + LATER_MS_MAX));
    return { kind: 'later', afterMs: Math.round(Math.min(at - now, LATER_MS_MAX)) };
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#waiting.size === 0) return;
    this.#cancelTimer = this.#clock.timer(Math.max(0, this.#nextAt - this.#now()), () => {
      this.#cancelTimer = undefined;
      const waiter = this.#waiting.take((tenant) => this.#mayGo(tenant));
      if (waiter) this.#nextAt = Math.max(this.#nextAt, this.#now()) + this.#intervalMs;
      waiter?.settle({ kind: 'now' });
      this.#schedule();
    });
  }

  /** Marketing mail waits for the transactional mail of every team: a slow relay has no capacity for both. */
  #mayGo(tenant: string): boolean {
    return !isMarketing(tenant) || [...this.#waiting.tenants()].every(([other]) => isMarketing(other));
  }
}

const isMarketing = (tenant: string): boolean => tenantBefore(tenant) !== undefined;

const largest = (tenants: readonly (readonly [party: string, count: number])[]): readonly [string, number] =>
  tenants.reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0]);
