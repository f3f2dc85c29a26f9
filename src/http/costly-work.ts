import type { FastifyRequest } from 'fastify';
import { nextTurn, rest } from '../platform/clock/index.ts';
import { createFairExecutor, type FairExecutor } from '../platform/fair-share/index.ts';
import { callerGone } from '../resources/access/index.ts';

/** All who come without a key, as one party: their addresses are as many as they like. */
export const ANYBODY = 'anybody';
/** Smaller bodies hold up nobody. */
export const COSTLY_BYTES = 64 * 1024;

/** Of larger ones, what is stored holds up others as well: the next one waits until this one is answered … */
const LARGE_BYTES = 1024 * 1024;
/** … but not for a caller whose files are fetched from elsewhere. */
const ANSWERED_MS_MAX = 250;

const RESTS_PER_WORK = 2;
/** Less than this is over before a rest would be. */
const WORTH_A_REST_MS = 2;
const PAGES_WAITING_MAX = 16;

/**
 * Runs what holds up the event loop: large bodies and pages for people without a key, one after the other, round robin by
 * team, and for a third of the time at most, however many come.
 */
export const createCostlyExecutor = (): FairExecutor =>
  createFairExecutor(1, ({ tookMs }) => (tookMs < WORTH_A_REST_MS ? nextTurn() : rest(tookMs * RESTS_PER_WORK)));

/** Further pages are refused with the advice to come back at once. */
export const arePagesOverloaded = (executor: FairExecutor): boolean => executor.waitingOf(ANYBODY) >= PAGES_WAITING_MAX;

/**
 * Reads a body and begins its answer; in the executor if the body is large. The executor covers what is done at once, such as
 * what an operation checks itself; the answer is awaited outside of it.
 */
export async function beginAnswer(
  executor: FairExecutor,
  { request, teamId }: { request: FastifyRequest; teamId: string | null | undefined },
  begin: () => unknown,
): Promise<unknown> {
  const bytes = Buffer.isBuffer(request.body) ? request.body.length : 0;
  if (bytes <= COSTLY_BYTES) return begin();
  const { answering } = await executor.run(teamId ?? ANYBODY, async () => {
    if (request.raw.socket.destroyed) throw callerGone();
    const begun = { answering: begin() };
    if (bytes > LARGE_BYTES) await Promise.race([Promise.allSettled([begun.answering]), rest(ANSWERED_MS_MAX)]);
    return begun;
  });
  return answering;
}
