import { createSemaphore, type Semaphore } from '../../platform/limits/index.ts';
import { refuse } from '../../platform/refusal.ts';
import { callerGone } from '../../tenancy/access/index.ts';

interface TeamLimiterOptions {
  atOnce: number;
  waitingMax: number;
}

export type TeamLimiter = <T>(teamId: string, work: () => Promise<T>, gone?: AbortSignal) => Promise<T>;

const RETRY_AFTER_SECONDS = 5;

/**
 * Runs at most `atOnce` requests of each team at a time; at most `waitingMax` others wait, in the order in which they came. A
 * caller that gives up while waiting frees its place.
 */
export function createTeamLimiter({ atOnce, waitingMax }: TeamLimiterOptions): TeamLimiter {
  const semaphores = new Map<string, Semaphore>();
  return async (teamId, work, gone) => {
    if (gone?.aborted) throw callerGone();
    const semaphore = semaphores.get(teamId) ?? createSemaphore(atOnce);
    if (semaphore.used >= atOnce && semaphore.waiting >= waitingMax) {
      throw refuse('rate_limit_exceeded', {
        say: `At most ${atOnce} requests of a team that fetch files by path or render templates in a batch are processed at a time, and ${waitingMax} more may wait; try again in ${RETRY_AFTER_SECONDS} s.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    semaphores.set(teamId, semaphore);
    const release = await semaphore.acquire({ signal: gone }).catch(() => {
      throw callerGone();
    });
    try {
      return await work();
    } finally {
      release();
      if (semaphore.used === 0) semaphores.delete(teamId);
    }
  };
}
