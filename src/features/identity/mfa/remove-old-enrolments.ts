import type { Store } from '../../../platform/store/index.ts';
import { PENDING_MS } from './enrol-mfa.ts';
import { FAILURES_MS } from './entries.ts';
import { removeFailuresBefore, removeUnconfirmedBefore } from './mfa.store.ts';

/** What was set up and can be confirmed no more, and what was wrong so long ago that it limits nothing. */
export async function removeOldEnrolments({ db, clock }: Store): Promise<void> {
  await removeUnconfirmedBefore(db, clock.now() - PENDING_MS);
  await removeFailuresBefore(db, clock.now() - FAILURES_MS);
}
