import type { Clock } from '../clock.ts';
import type { Db } from '../db/index.ts';
import type { Log } from '../log/index.ts';
import type { Leases } from './leases.store.ts';
import { createWorkLoop, type Claim, type Claimed, type WorkLoop, type WorkLoopOptions } from './work-loop.ts';

interface Item {
  id: string;
}

/** The values that a claim writes into its rows. */
export interface Lease {
  owner: string;
  now: number;
  until: number;
}

export interface LeasedLoopOptions<T extends Item> extends Pick<
  WorkLoopOptions<T>,
  'name' | 'process' | 'pollMs' | 'rest' | 'endedPerLook'
> {
  describe(item: T): object;
  /**
   * Tables whose commits wake the loop, including those of other processes while notifications work; the loop polls as
   * well.
   */
  wakeOn: readonly string[];
  /** Maximum number of items in progress; unlimited if absent. */
  atOnceMax?: number;
  lease: { owner: string; ms: number; leases: Leases };
  claim(request: Claim<T>, lease: Lease): Promise<Claimed<T>>;
  /**
   * Called after each renewal, also while nothing is in progress; `kept` are the items whose leases last until `until`.
   */
  renewed?(items: readonly T[], kept: ReadonlySet<string>, until: number): Promise<void>;
}

export type LeasedLoop<T = unknown> = Omit<WorkLoop<T>, 'start'> & { start(): Promise<void> };

/**
 * Creates a work loop over rows of a table: the commit of a row wakes it, each row is claimed with a lease, and the
 * leases are renewed while their rows are processed, and released after that and when the loop is stopped. A lease that
 * cannot be released expires.
 */
export function createLeasedLoop<T extends Item>(
  { db, clock, log }: { db: Db; clock: Clock; log: Pick<Log, 'error' | 'warn'> },
  options: LeasedLoopOptions<T>,
): LeasedLoop<T> {
  const { name, describe, pollMs, wakeOn, rest, endedPerLook, atOnceMax = Infinity } = options;
  const { owner, ms, leases } = options.lease;
  const leaseNow = (): Lease => ({ owner, now: clock.now(), until: clock.now() + ms });
  /** The time until which the items in progress are leased, as far as this process knows. */
  let leasedUntil = Infinity;
  const loop: WorkLoop<T> = createWorkLoop<T>({
    name,
    describe,
    clock,
    log,
    pollMs,
    ...(rest && { rest }),
    ...(endedPerLook && { endedPerLook }),
    capacity: () => atOnceMax - loop.inFlight(),
    async claim(request) {
      // If the clock jumped, or the process was suspended, this runs before the renewal: without renewing here, the
      // claim would take the items in progress a second time.
      if (request.inFlight.length > 0 && leasedUntil <= clock.now()) await renew(request.inFlight);
      const lease = leaseNow();
      const claimed = await options.claim(request, lease);
      leasedUntil = Math.min(leasedUntil, lease.until);
      return claimed;
    },
    async process(item, signal) {
      try {
        await options.process(item, signal);
      } finally {
        await release(item);
      }
    },
    releaseUnstarted: async (items) => void (await Promise.all(items.map(release))),
    renew: { everyMs: ms / 3, work: renew },
  });
  let stopListening: (() => void)[] = [];
  return {
    ...plain(loop),
    async start() {
      if (db.dialect === 'sqlite') await leases.releaseAll();
      stopListening = wakeOn.map((table) => db.onCommit(table, () => loop.wake()));
      loop.start();
    },
    async stop(graceMs) {
      for (const end of stopListening) end();
      await loop.stop(graceMs);
    },
  };

  async function release(item: T): Promise<void> {
    try {
      await leases.release(item.id, owner);
    } catch (error) {
      log.warn({ err: error, ...describe(item) }, `${name}: a lease could not be released`);
    }
  }

  async function renew(items: readonly T[]): Promise<void> {
    const lease = leaseNow();
    const ids = items.map(({ id }) => id);
    const kept = ids.length === 0 ? new Set<string>() : await leases.renew(ids, lease);
    leasedUntil = lease.until;
    await options.renewed?.(items, kept, lease.until);
  }
}

export interface UnleasedLoopOptions<T extends Item> extends Pick<
  LeasedLoopOptions<T>,
  'name' | 'describe' | 'process' | 'pollMs' | 'wakeOn'
> {
  db: Db;
  clock: Clock;
  log: Pick<Log, 'error'>;
  atOnceMax: number;
  /** Returns at least this many due rows, if there are as many. */
  due(limit: number): Promise<readonly T[]>;
}

/** Same as createLeasedLoop over rows without a lease, because processing one twice does no harm. */
export function createUnleasedLoop<T extends Item>(options: UnleasedLoopOptions<T>): WorkLoop<T> {
  const { db, wakeOn, atOnceMax, due, ...rest } = options;
  const loop: WorkLoop<T> = createWorkLoop<T>({
    ...rest,
    capacity: () => atOnceMax - loop.inFlight(),
    async claim({ limit, inFlight }) {
      const known = new Set(inFlight.map(({ id }) => id));
      const free = (await due(atOnceMax + known.size)).filter(({ id }) => !known.has(id));
      return { items: free.slice(0, limit), left: free.length > limit ? 'blocked' : 'nothing' };
    },
  });
  const stopListening = wakeOn.map((table) => db.onCommit(table, () => loop.wake()));
  return {
    ...plain(loop),
    start: () => loop.start(),
    async stop(graceMs) {
      for (const end of stopListening) end();
      await loop.stop(graceMs);
    },
  };
}

/** Its methods as functions of their own. */
const plain = <T>(loop: WorkLoop<T>): Omit<WorkLoop<T>, 'start' | 'stop'> => ({
  wake: () => loop.wake(),
  idle: () => loop.idle(),
  state: () => loop.state(),
  items: () => loop.items(),
  inFlight: () => loop.inFlight(),
});
