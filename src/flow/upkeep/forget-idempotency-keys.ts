import type { World } from '../../platform/world/index.ts';
import { deleteExpiredAnswers } from '../mail/accept/index.ts';

/** A key is remembered for 24 hours; answers how many were forgotten. */
export const forgetIdempotencyKeys = (world: World): Promise<number> =>
  deleteExpiredAnswers(world.db, world.clock.now());
