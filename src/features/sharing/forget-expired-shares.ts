import type { Store } from '../../platform/store/index.ts';
import { deleteExpiredShares } from './shares.store.ts';

/** An expired link shows nothing already; this only gives its row back. Answers how many went. */
export const forgetExpiredShares = (store: Store): Promise<number> => deleteExpiredShares(store.db, store.clock.now());
