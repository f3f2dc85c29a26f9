import type { Plan } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';

/** The plan of a team, from the config; a plan that was taken out of it counts as the default one. */
export async function planOf(world: World, db: Executor, teamId: string): Promise<Plan> {
  const row = await db.get<{ plan_code: string }>('select plan_code from teams where id = ?', [teamId]);
  const { plans, team } = world.config;
  const plan = plans[row?.plan_code ?? team.default_plan] ?? plans[team.default_plan];
  if (!plan) throw new Error(`the config has no plan ${team.default_plan}`);
  return plan;
}
