import { isPlan } from '../../platform/config/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { lockTeam } from '../../resources/access/index.ts';
import { countQuestion, findSubscription, noteMissed, writeAnswer } from '../../resources/billing/index.ts';
import { changePlan } from '../../resources/teams/index.ts';
import type { PaymentProvider } from './payment-provider.ts';

/**
 * For every event of a provider that concerns a team, whatever it says, and for a recheck without one: asks how the subscription
 * stands, and makes the plan follow. The newest question wins, so that events in any order end in the same state. Answers whether something was written.
 */
export async function readSubscription(
  store: Store,
  provider: PaymentProvider,
  teamId: string,
  { isRecheck = false }: { isRecheck?: boolean } = {},
): Promise<boolean> {
  const { clock, config, db, log } = store;
  const question = await countQuestion(db, teamId, clock.now());
  const subscription = await provider.fetchSubscription(teamId);
  if (!subscription) return false;
  const { status, plan, periodStart, periodEnd } = subscription;
  const row = { status, current_period_start: periodStart, current_period_end: periodEnd };
  return db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const before = await findSubscription(tx, teamId);
    if (!(await writeAnswer(tx, teamId, { question, row }))) return false;
    const isNews = before?.status !== status || before.current_period_end !== periodEnd;
    if (!isRecheck || isNews) await noteMissed(tx, teamId, isRecheck ? clock.now() : null);
    if (status === 'canceled') await changePlan(store, tx, teamId, config.team.default_plan);
    else if (status === 'active' && isPlan(config, plan)) await changePlan(store, tx, teamId, plan);
    else if (status === 'active')
      log.warn({ teamId, plan }, 'a subscription is for a plan that the configuration does not have');
    return true;
  });
}
