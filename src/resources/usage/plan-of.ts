import { planNamed, type Plan } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';

/** The plan of a team, from the config. */
export async function planOf(world: World, db: Executor, teamId: string): Promise<Plan> {
  const row = await db.get<{ plan_code: string }>('select plan_code from teams where id = ?', [teamId]);
  return planNamed(world.config, row?.plan_code).plan;
}
