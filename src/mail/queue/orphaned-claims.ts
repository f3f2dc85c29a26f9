import type { World } from '../../platform/world/index.ts';

/**
 * A PostgreSQL server that loses its client goes on with the statement, and may commit a claim or a hand-off after we have
 * looked for it. So we look again after each of these.
 */
export const LATE_COMMITS_MS = [1_000, 10_000, 60_000];

/** Claims that this process holds in the database and does not know of, because their answer was lost. */
export interface OrphanedClaims {
  /** A claim failed, and may have been committed all the same. */
  suspect(): void;
  /** Looks without a suspicion, for commits later than the last of `LATE_COMMITS_MS`. */
  checkOnce(): void;
  /** Releases our claims except those in `carried`, if there is a suspicion. No claim may be under way meanwhile. */
  release(carried: () => string[]): Promise<void>;
  stop(): void;
}

export function createOrphanedClaims(
  world: World,
  options: { unclaimAllBut(carried: string[]): Promise<number>; wake(): void },
): OrphanedClaims {
  let mayBeSome = false;
  let timers: (() => void)[] = [];
  const stop = (): void => timers.splice(0).forEach((cancel) => cancel());
  const checkOnce = (): void => {
    mayBeSome = true;
    options.wake();
  };
  return {
    suspect() {
      mayBeSome = true;
      stop();
      // An embedded database commits before it answers, or never.
      if (world.db.dialect === 'pg') timers = LATE_COMMITS_MS.map((waitMs) => world.clock.timer(waitMs, checkOnce));
    },
    checkOnce() {
      if (world.db.dialect === 'pg') checkOnce();
    },
    async release(carried) {
      if (!mayBeSome) return;
      // Cleared before the statement, so that a suspicion that comes meanwhile stays. A failed statement is one itself.
      mayBeSome = false;
      const count = await options.unclaimAllBut(carried());
      if (count > 0) world.log.warn({ count }, 'took back claims whose answer had been lost');
    },
    stop,
  };
}
