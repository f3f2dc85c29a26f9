import { isPlan } from '../../../platform/config/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { lockTeam } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import { countQuestion, findSubscription, noteMissed, writeAnswer } from '../invoices/index.ts';
import { changePlan, findTeam } from '../../../tenancy/teams/index.ts';
import type { PaymentProvider, ProviderSubscription } from './payment-provider.ts';

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
  const { clock, db } = store;
  const question = await countQuestion(db, teamId, clock.now());
  const subscription = (await provider.fetchSubscription(teamId)) ?? (await endedOf(store, teamId));
  if (!subscription) return false;
  const { status, periodStart, periodEnd } = subscription;
  const row = { status, current_period_start: periodStart, current_period_end: periodEnd };
  const target = planFor(store, teamId, subscription);
  const write = (held: Store, expected: string | undefined): Promise<Written> =>
    held.db.tx(async (tx) => {
      // Somebody gave it another plan since: the entry of the audit log would say what was not so.
      if ((await lockTeam(tx, teamId)) !== expected) return 'again';
      const before = await findSubscription(tx, teamId);
      if (!(await writeAnswer(tx, teamId, { question, row }))) return 'superseded';
      const isNews = before?.status !== status || before.current_period_end !== periodEnd;
      if (!isRecheck || isNews) await noteMissed(tx, teamId, isRecheck ? clock.now() : null);
      if (target !== undefined) await changePlan(store, tx, teamId, target);
      return 'written';
    });
  let written: Written = 'again';
  while (written === 'again') {
    const plan = (await findTeam(db, teamId))?.plan_code;
    const isOther = target !== undefined && target !== plan;
    const details = { plan: target, plan_before: plan, subscription: status };
    const held = isOther
      ? audited(store, { ...noteOf(provider, teamId), details: JSON.stringify(details) }).store
      : store;
    written = await write(held, plan);
  }
  return written === 'written';
}

type Written = 'written' | 'superseded' | 'again';

/** What the provider knows no more has ended. Of what it never knew, such as a plan that the operator gave, it says nothing. */
async function endedOf({ db }: Store, teamId: string): Promise<ProviderSubscription | undefined> {
  const before = await findSubscription(db, teamId);
  if (!before) return undefined;
  const { current_period_start: periodStart, current_period_end: periodEnd } = before;
  return { status: 'canceled', plan: '', periodStart, periodEnd };
}

/** Undefined where the team keeps the one that it has. */
function planFor({ config, log }: Store, teamId: string, { status, plan }: ProviderSubscription): string | undefined {
  if (status === 'canceled') return config.team.default_plan;
  if (status !== 'active') return undefined;
  if (isPlan(config, plan)) return plan;
  log.warn({ teamId, plan }, 'a subscription is for a plan that the configuration does not have');
  return undefined;
}

const noteOf = ({ name }: PaymentProvider, teamId: string) => ({
  ...{ action: 'billing.plan_changed', team_id: teamId, subject_id: teamId },
  ...whoActed({ kind: 'job', name: `payment provider ${name}` }),
  ...{ address: null, user_agent: null, request_id: null },
});
