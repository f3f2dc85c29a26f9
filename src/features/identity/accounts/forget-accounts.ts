import type { Store } from '../../../platform/store/index.ts';
import { removeAccountNoticesBefore } from './account-mails.store.ts';
import { removePasswordResetsBefore } from './password-resets.store.ts';
import { removeSignUpsBefore } from './sign-ups.store.ts';

const NOTICES_KEPT_MS = 30 * 24 * 3_600_000;

/** Requests whose tokens have ended, and what was told long ago. Answers how many requests went. */
export async function forgetAccountRequests({ db, clock }: Store): Promise<number> {
  const now = clock.now();
  await removeAccountNoticesBefore(db, now - NOTICES_KEPT_MS);
  return (await removeSignUpsBefore(db, now)) + (await removePasswordResetsBefore(db, now));
}
