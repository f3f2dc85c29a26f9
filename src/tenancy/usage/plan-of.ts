import { planNamed, type Plan } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { planCodeOf } from './usage.store.ts';

/** The plan of a team, from the config. */
export async function planOf(store: Store, db: Executor, teamId: string): Promise<Plan> {
  return planNamed(store.config, await planCodeOf(db, teamId)).plan;
}
