import type { World } from '../../../platform/world/index.ts';

/**
 * A PostgreSQL server goes on with the statement of a client that it has lost, and may commit a claim or a hand-off
 * after we have looked. So what such a commit may have left is looked for again, after so many milliseconds each.
 */
export const LATE_COMMITS_MS = [1_000, 10_000, 60_000];

/** Claims of ours that we do not know of: those whose answer was lost, however late they land. */
export interface OrphanedClaims {
  /** A claim was not answered. */
  suspect(): void;
  /** A look without any suspicion, for what lands later than anybody waits for. */
  lookOnce(): void;
  /** Takes back what is held and not among these. No claim may be under way meanwhile. */
  takeBack(carried: () => string[]): Promise<void>;
  stop(): void;
}

export function createOrphanedClaims(
  world: World,
  options: { unclaimAllBut(carried: string[]): Promise<number>; wake(): void },
): OrphanedClaims {
  let mayBeSome = false;
  let timers: (() => void)[] = [];
  const stop = (): void => timers.splice(0).forEach((cancel) => cancel());
  const lookOnce = (): void => {
    mayBeSome = true;
    options.wake();
  };
  return {
    suspect() {
      mayBeSome = true;
      stop();
      // An embedded database commits before it answers, or never.
      if (world.db.dialect === 'pg') timers = LATE_COMMITS_MS.map((waitMs) => world.clock.timer(waitMs, lookOnce));
    },
    lookOnce() {
      if (world.db.dialect === 'pg') lookOnce();
    },
    async takeBack(carried) {
      if (!mayBeSome) return;
      // Before the look, so that a suspicion that comes meanwhile is not forgotten; a look that fails is one itself.
      mayBeSome = false;
      const count = await options.unclaimAllBut(carried());
      if (count > 0) world.log.warn({ count }, 'took back claims whose answer had been lost');
    },
    stop,
  };
}
