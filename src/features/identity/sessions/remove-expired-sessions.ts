import type { Store } from '../../../platform/store/index.ts';
import { removeOldEnrolments } from '../mfa/index.ts';
import { forgetOldAttempts } from './attempts.ts';
import { removeChallengesBefore } from './challenges.store.ts';
import { removeSessionsBefore } from '../../../tenancy/session-rows/index.ts';
import { removeAnswersBefore } from '../../../tenancy/sso-rows/index.ts';

/** Longer than an answer of a provider is taken. */
const SSO_ANSWERS_MS = 3_600_000;

/** What is not accepted any more, of second factors too, and attempts that limit nothing any more; answers how many sessions. */
export async function removeExpiredSessions(store: Store): Promise<number> {
  const { db, clock } = store;
  await forgetOldAttempts(db, clock.now());
  await removeAnswersBefore(db, clock.now() - SSO_ANSWERS_MS);
  await removeChallengesBefore(db, clock.now());
  await removeOldEnrolments(store);
  return removeSessionsBefore(db, clock.now());
}
