import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { ATTEMPTS_MS, hashOf } from './attempts.ts';
import { countAttempt, uncountAttempt } from './attempts.store.ts';

export interface Guess {
  /** Continues "Too many ". */
  of: string;
  /** Who guesses, each counted alone. */
  by: readonly string[];
  max: number;
}

/**
 * Counts what may be tried a few times only, before it is looked at; throws where that was too often. Answers how to take it
 * back, for what was no guess.
 */
export async function countGuess(
  { db, clock }: Store,
  { of, by, max }: Guess,
): Promise<(tx: Executor) => Promise<void>> {
  const parties = by.map((party) => hashOf(`${of} ${party}`));
  const now = clock.now();
  // The same order everywhere, so that no two transactions wait for each other.
  const over = await db.txUnsynced(async (tx) => {
    for (const party of parties) {
      const { failures, since } = await countAttempt(tx, party, { now, from: now - ATTEMPTS_MS });
      if (failures > max) return since;
    }
    return undefined;
  });
  if (over !== undefined) {
    const retryAfterSeconds = Math.max(1, Math.ceil((over + ATTEMPTS_MS - now) / 1000));
    const say = `Too many ${of}. Try again in ${retryAfterSeconds} s.`;
    throw refuse('rate_limit_exceeded', { say, retryAfterSeconds });
  }
  return async (tx) => {
    for (const party of parties) await uncountAttempt(tx, party);
  };
}
