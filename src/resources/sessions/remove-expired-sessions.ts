import type { Store } from '../../platform/store/index.ts';
import { removeAttemptsBefore } from './attempts.store.ts';
import { ATTEMPTS_MS } from './attempts.ts';
import { removeSessionsBefore } from '../session-rows/index.ts';

/** What is not accepted any more, and attempts that limit nothing any more; answers how many sessions. */
export async function removeExpiredSessions({ db, clock }: Store): Promise<number> {
  await removeAttemptsBefore(db, clock.now() - ATTEMPTS_MS);
  return removeSessionsBefore(db, clock.now());
}
