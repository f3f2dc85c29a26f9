import { nextTurn, rest } from '../../platform/clock/index.ts';
import { createFairExecutor, type FairExecutor } from '../../platform/fair-share/index.ts';
import type { Store } from '../../platform/store/index.ts';

/** Smaller bodies are checked and composed within milliseconds. */
const COSTLY_CHARS = 64 * 1024;
const RESTS_PER_WORK = 2;

const executors = new WeakMap<Store['db'], FairExecutor>();

/**
 * Checks or composes a body. The largest hold the one thread for most of a second, and a short call names them: those are
 * worked at one after the other, round robin by team, and for a third of the time at most.
 */
export async function inTurn<T>(
  { db }: Store,
  teamId: string,
  body: { html: string | null; text: string | null } | undefined,
  work: () => T | Promise<T>,
): Promise<T> {
  if ((body?.html?.length ?? 0) + (body?.text?.length ?? 0) <= COSTLY_CHARS) return work();
  let executor = executors.get(db);
  if (!executor) {
    executor = createFairExecutor(1, ({ tookMs }) => (tookMs < 2 ? nextTurn() : rest(tookMs * RESTS_PER_WORK)));
    executors.set(db, executor);
  }
  return executor.run(teamId, work);
}
