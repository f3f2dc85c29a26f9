import { nextTurn, rest, stopwatch } from '../../../platform/clock.ts';
import { databaseBehind, type Executor } from '../../../platform/db/index.ts';
import { createSemaphore, type Semaphore } from '../../../platform/limits/index.ts';
import { refuse } from '../../../platform/refusal.ts';

/** SQLite answers in this thread; most of PostgreSQL's connections are kept for short statements. */
const CONCURRENCY = { sqlite: 1, pg: 2 };
/** Requests that come faster than they are answered would wait longer and longer. */
const WAITING_MAX = 20;

const executors = new WeakMap<Executor, Semaphore>();

function executorOf(db: Executor): Semaphore {
  const database = databaseBehind(db);
  const executor =
    executors.get(database) ??
    createSemaphore(CONCURRENCY[db.dialect], ({ tookMs, isWaiting }) => (isWaiting ? rest(tookMs) : nextTurn()));
  executors.set(database, executor);
  return executor;
}

/** Asked before a reader of a team begins; one that has begun reads to its end. */
export function mustBeBelowReaderLimit(db: Executor, teamId: string): void {
  if (executorOf(db).waitingOf(teamId) < WAITING_MAX) return;
  throw refuse('service_unavailable', {
    say: `${WAITING_MAX} requests of your team look for contacts just now; try again when some have been answered.`,
  });
}

/**
 * Reads one batch of an audience, round robin by team, with a pause before the next one: many readers hold up other work no
 * longer than one does, and together take half of the time. Answers how long the batch took as well.
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
  return executorOf(db).run(readTimed, { tenant: teamId });
}
