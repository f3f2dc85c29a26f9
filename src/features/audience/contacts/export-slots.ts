import { nextTurn, rest } from '../../../platform/clock/index.ts';
import { databaseBehind, type Executor } from '../../../platform/db/index.ts';
import { createFairExecutor, type FairExecutor } from '../../../platform/fair-share/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';

/** Limit of exports by team, because each export may format the whole audience. */
export const EXPORTS_OF_TEAM_MAX = 2;
const RETRY_AFTER_SECONDS = 5;

const RESTS_PER_WORK = 2;
/** Shorter work would end before a pause does. */
const WORTH_A_REST_MS = 2;

interface Exports {
  /** Number of running exports by team. */
  running: Map<string, number>;
  pages: FairExecutor;
}

const exportsByDb = new WeakMap<Executor, Exports>();

function findExports(db: Executor): Exports {
  const database = databaseBehind(db);
  let exports = exportsByDb.get(database);
  if (!exports) {
    const pages = createFairExecutor(1, ({ tookMs }) =>
      tookMs < WORTH_A_REST_MS ? nextTurn() : rest(tookMs * RESTS_PER_WORK),
    );
    exportsByDb.set(database, (exports = { running: new Map(), pages }));
  }
  return exports;
}

/**
 * Takes one of the team's slots for exports, or refuses. The returned function releases it, however often it is called.
 */
export function beginExport(db: Executor, teamId: string): () => void {
  const { running } = findExports(db);
  const before = running.get(teamId) ?? 0;
  if (before >= EXPORTS_OF_TEAM_MAX) {
    throw refuse('rate_limit_exceeded', {
      say: `At most ${EXPORTS_OF_TEAM_MAX} exports of a team run at a time; wait until one has ended, or try again in ${RETRY_AFTER_SECONDS} seconds.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  running.set(teamId, before + 1);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    const left = (running.get(teamId) ?? 1) - 1;
    if (left > 0) running.set(teamId, left);
    else running.delete(teamId);
  };
}

/**
 * Makes a page of an export: one at a time in this process, round robin by team, and for at most a third of the time.
 */
export const makeExportPage = <Page>(db: Executor, teamId: string, make: () => Promise<Page>): Promise<Page> =>
  findExports(db).pages.run(teamId, make);
