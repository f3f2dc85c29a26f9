import { nextTurn, pauseFor, stopwatch } from '../../../platform/clock.ts';
import { underlyingDatabase, type Executor } from '../../../platform/db/index.ts';
import { createSemaphore, type Semaphore } from '../../../platform/limits/index.ts';
import { refuse } from '../../../platform/refusal.ts';

/** SQLite queries run in this thread; most of PostgreSQL's connections are reserved for short statements. */
const CONCURRENCY = { sqlite: 1, pg: 2 };
/** Limit of waiting reads: if requests arrive faster than they are served, the wait would grow without bound. */
const WAITING_MAX = 20;

const executors = new WeakMap<Executor, Semaphore>();

function findOrCreateExecutor(db: Executor): Semaphore {
  const database = underlyingDatabase(db);
  const executor =
    executors.get(database) ??
    createSemaphore(CONCURRENCY[db.dialect], ({ tookMs, isWaiting }) => (isWaiting ? pauseFor(tookMs) : nextTurn()));
  executors.set(database, executor);
  return executor;
}

/**
 * Refuses if too many reads of the team are waiting. Checked only before a reader begins; one that has begun reads to
 * its end.
 */
export function mustBeBelowReaderLimit(db: Executor, teamId: string): void {
  if (findOrCreateExecutor(db).countWaiting(teamId) < WAITING_MAX) return;
  throw refuse('service_unavailable', {
    say: `${WAITING_MAX} requests of your team are searching contacts; try again when some of them have finished.`,
  });
}

/**
 * Reads one batch of an audience, round robin by team, with a pause before the next one: many readers delay other work
 * no longer than one does, and together use half of the time. Also returns how long the batch took.
 */
export function readAudienceBatch<T>(
  db: Executor,
  teamId: string,
  read: () => Promise<T>,
): Promise<{ answer: T; tookMs: number }> {
  const readTimed = async (): Promise<{ answer: T; tookMs: number }> => {
    const elapsedMs = stopwatch();
    return { answer: await read(), tookMs: elapsedMs() };
  };
  return findOrCreateExecutor(db).run(readTimed, { tenant: teamId });
}
