import type { Store } from '../../../platform/store/index.ts';
import { deleteExpiredAnswers } from '../../../mail/accept/index.ts';

/** A key is remembered for 24 hours; answers how many were forgotten. */
export const forgetIdempotencyKeys = (store: Store): Promise<number> =>
  deleteExpiredAnswers(store.db, store.clock.now());
