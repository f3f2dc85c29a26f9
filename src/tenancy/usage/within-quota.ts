import { monthlyLimitOf } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../access/index.ts';
import { suspendedAmong } from '../teams/index.ts';
import { planOf } from './plan-of.ts';
import { usageOf } from './usage.store.ts';

/** Whether this month's emails are more than the plan allows, as after a change to a smaller plan. */
export async function isAboveQuota(
  { store, teamId }: Pick<Ctx, 'store' | 'teamId'>,
  db: Executor = store.db,
): Promise<{ used: number; included: number } | undefined> {
  const included = monthlyLimitOf(await planOf(store, db, teamId));
  const used = (await usageOf(db, teamId, store.clock.now())).monthly.transactional;
  return used > included ? { used, included } : undefined;
}

/** The content of emails is not shown to a team above its quota. */
export async function mustBeWithinQuota(ctx: Ctx, db: Executor = ctx.store.db): Promise<void> {
  const above = await isAboveQuota(ctx, db);
  if (!above) return;
  throw refuse('email_above_quota', {
    say: `This team has sent ${above.used} of the ${above.included} emails its plan includes this month; content is shown again when it is within its quota.`,
  });
}

/** Whether links that were given away show anything: not above the quota, and nothing of a team that is suspended. */
export async function mayShowContent(store: Store, teamId: string): Promise<boolean> {
  if ((await suspendedAmong(store.db, [teamId])).length > 0) return false;
  return (await isAboveQuota({ store, teamId })) === undefined;
}
