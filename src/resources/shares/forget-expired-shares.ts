import type { World } from '../../platform/world/index.ts';
import { deleteExpiredShares } from './shares.store.ts';

/** An expired link shows nothing already; this only gives its row back. Answers how many went. */
export const forgetExpiredShares = (world: World): Promise<number> => deleteExpiredShares(world.db, world.clock.now());
