import { planNamed, type Plan } from '../../../platform/config/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { lockPeople } from '../../../tenancy/members/index.ts';
import { changePlan, knownPlan } from '../../../tenancy/teams/index.ts';
import { getBilling } from './read-billing.ts';
import { excessOf } from './excess.ts';

/** An owner gives the own team another plan, from today on, where the operator lets owners do so. */
export async function changeOwnPlan(ctx: Ctx, input: { plan: string }, provider: string) {
  const { store, teamId } = ctx;
  // What is paid for there is decided there: otherwise a team would have the dearest plan for nothing.
  if (provider !== 'none') {
    throw refuse('invalid_permission', {
      say: 'Plans are paid for at the payment provider of this installation; choose one with POST /billing/checkout.',
    });
  }
  if (!store.config.billing.self_service) {
    throw refuse('invalid_permission', {
      say: 'Plans are changed by the operator of this installation; billing.self_service would let owners do it.',
    });
  }
  const code = knownPlan(store, input.plan);
  const { plan } = planNamed(store.config, code);
  await store.db.tx(async (tx) => {
    const { role } = await lockPeople(tx, ctx);
    if (role !== 'owner') {
      throw refuse('invalid_permission', { say: `This needs the role owner in the team; yours is ${role}.` });
    }
    await mustFit(store, tx, { teamId, plan });
    await changePlan(store, tx, teamId, code);
  });
  return getBilling(ctx, provider);
}

/** The team is locked, so that nothing is added meanwhile. */
async function mustFit(store: Store, tx: Executor, { teamId, plan }: { teamId: string; plan: Plan }): Promise<void> {
  const excess = await excessOf(store, tx, { teamId, plan });
  if (excess.length === 0) return;
  const first = excess.map(({ says }) => says).join('; ');
  throw refuse('validation_error', { status: 422, say: `The plan ${plan.name} is too small for this team: ${first}.` });
}
