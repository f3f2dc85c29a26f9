import { nextTurn, rest } from '../platform/clock/index.ts';
import { createTurns, type Turns } from '../platform/fair-share/index.ts';

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
 * What holds the one thread that answers everybody: large bodies and pages for people without a key are worked at one
 * after the other, in turns of the teams, and take a third of the time at most, however many come.
 */
export const createCostlyTurns = (): Turns =>
  createTurns(1, ({ tookMs }) => (tookMs < WORTH_A_REST_MS ? nextTurn() : rest(tookMs * RESTS_PER_WORK)));

/** Who opens one more page is asked to come back at once. */
export const arePagesCrowded = (turns: Turns): boolean => turns.waitingOf(ANYBODY) >= PAGES_WAITING_MAX;

/** Begins an answer to a body of so many bytes, in a turn if the body is large. */
export async function inTurn<T extends { answering: unknown }>(
  turns: Turns,
  { party, bytes }: { party: string; bytes: number },
  begin: () => T,
): Promise<T> {
  if (bytes <= COSTLY_BYTES) return begin();
  return turns.take(party, async () => {
    const begun = begin();
    if (bytes > LARGE_BYTES) await Promise.race([Promise.allSettled([begun.answering]), rest(ANSWERED_MS_MAX)]);
    return begun;
  });
}
