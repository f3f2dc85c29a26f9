import { planNamed } from '../../../platform/config/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { deleteLogsBefore, teamsWithLogsBefore } from '../../../tenancy/logs/index.ts';
import { listTeams } from '../../../tenancy/teams/index.ts';
import { createRoundRobin, pickTeams } from './round-robin.ts';

const BATCH_ROWS = 200;
/** Batches a run takes, and it runs every minute: ten thousand logs a minute are ten times what a million a day need. */
const BATCHES_MAX = 50;
const DAY_MS = 24 * 3_600_000;

/**
 * Removes the logs of requests: a plan may promise less than the setting keeps, and a log is content too. A run answers
 * how many it removed, which may be a part of them; the next one goes on.
 */
export function createLogRemoval(store: Store): () => Promise<number> {
  const roundRobin = createRoundRobin(BATCHES_MAX);

  return async () => {
    const { config, clock, db } = store;
    const now = clock.now();
    const all = (await listTeams(db)).map(({ id: teamId, plan_code: code }) => {
      const days = Math.min(config.logs.retention_days, planNamed(config, code).plan.retention_days);
      return { teamId, before: now - days * DAY_MS };
    });
    let removed = 0;
    await roundRobin(await pickTeams(all, (some) => teamsWithLogsBefore(db, some)), async ({ teamId, before }) => {
      const gone = await deleteLogsBefore(db, teamId, before, BATCH_ROWS);
      removed += gone;
      return gone === BATCH_ROWS;
    });
    return removed;
  };
}
