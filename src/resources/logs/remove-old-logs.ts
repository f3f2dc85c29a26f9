import type { World } from '../../platform/world/index.ts';
import { listTeams } from '../teams/index.ts';
import { deleteLogsBefore } from './logs.store.ts';

const BATCH_ROWS = 200;
const DAY_MS = 24 * 3_600_000;

/** A plan may promise less than the setting keeps, and a log is content too. Answers how many were removed. */
export async function removeOldLogs(world: World): Promise<number> {
  const { plans, logs, team } = world.config;
  let removed = 0;
  for (const { id, plan_code: planCode } of await listTeams(world.db)) {
    const plan = plans[planCode] ?? plans[team.default_plan];
    const days = Math.min(logs.retention_days, plan?.retention_days ?? logs.retention_days);
    const before = world.clock.now() - days * DAY_MS;
    let gone: number;
    do {
      gone = await deleteLogsBefore(world.db, id, before, BATCH_ROWS);
      removed += gone;
      // Requests that came in meanwhile go first.
      await new Promise((next) => setImmediate(next));
    } while (gone === BATCH_ROWS);
  }
  return removed;
}
