import { planNamed, computeMonthlyLimit, type Plan } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { lockPeople } from '../../tenancy/members/index.ts';
import { changePlan, knownPlan, countByPlan } from '../../tenancy/teams/index.ts';
import { getBilling } from './read-billing.ts';
import { countDomains } from '../../mail/domains/index.ts';
import { contactCount, loadStorageBytes, loadUsage } from '../../tenancy/usage/index.ts';
import { countWebhooks } from '../webhooks/index.ts';
import { allTerms, insertTerms } from './billing.store.ts';

const MIB = 1024 * 1024;

/** Lists what exceeds the limits of a plan, with what has to be removed first. */
export async function listExcess(
  store: Store,
  db: Executor,
  { teamId, plan }: { teamId: string; plan: Plan },
): Promise<{ says: string }[]> {
  const { monthly } = await loadUsage(db, teamId, store.clock.now());
  const uses = [
    { used: await countDomains(db, teamId), limit: plan.domain_limit, what: 'domains', one: 'domain', first: remove },
    {
      used: await contactCount(db, teamId),
      limit: plan.contact_limit,
      what: 'contacts',
      one: 'contact',
      first: remove,
    },
    {
      used: await countWebhooks(db, teamId),
      limit: plan.webhook_endpoint_limit,
      what: 'webhook endpoints',
      one: 'webhook endpoint',
      first: remove,
    },
    {
      used: Math.ceil((await loadStorageBytes(db, teamId)) / MIB),
      limit: plan.received_storage_mb,
      what: 'MiB of received mail',
      one: 'MiB of received mail',
      first: remove,
    },
    {
      used: monthly.transactional,
      limit: computeMonthlyLimit(plan),
      what: 'emails this month',
      one: 'email this month',
      first: wait,
    },
    {
      used: monthly.marketing,
      limit: plan.marketing_emails,
      what: 'marketing emails this month',
      one: 'marketing email this month',
      first: wait,
    },
  ];
  return uses
    .filter(({ used, limit }) => used > limit)
    .map(({ used, limit, what, one, first }) => ({
      says: `it has ${used} ${used === 1 ? one : what}, and the plan allows ${limit}: ${first(used - limit)}`,
    }));
}

const remove = (count: number): string => `delete ${count} first`;
const wait = (): string => 'wait for the next month';

/**
 * Runs once at the start: records the terms of the configured plans from now on, because days of a month are charged by
 * the terms then in force. Plans that teams have but the configuration lacks continue with their last terms.
 */
export async function keepPlanTerms(store: Store): Promise<void> {
  const { clock, config, db, ids, log } = store;
  const latest = await db.tx(async (tx) => {
    const known = new Map((await allTerms(tx)).map(({ code, terms }) => [code, terms]));
    for (const [code, terms] of Object.entries(config.plans)) {
      if (JSON.stringify(known.get(code)) === JSON.stringify(terms)) continue;
      await insertTerms(tx, { id: ids.uuid(), code, terms, since: clock.now() });
    }
    return known;
  });
  const retired: Record<string, Plan> = {};
  for (const [code, teams] of await countByPlan(db)) {
    if (Object.hasOwn(config.plans, code)) continue;
    const terms = latest.get(code);
    // Fields that a later version has added get their defaults.
    if (terms) retired[code] = { ...defaultPlan(store), ...terms };
    const goesOn = terms ? 'as the plan was last' : `with the plan ${config.team.default_plan}`;
    log.warn(
      { plan: code, teams },
      `the plan ${code} is not in the configuration; the teams that have it go on ${goesOn}. Put [plans.${code}] back, or give them another plan: rasket teams update SLUG --plan CODE`,
    );
  }
  store.config = { ...config, retired_plans: retired };
}

function defaultPlan({ config }: Store): Plan {
  const plan = config.plans[config.team.default_plan];
  if (!plan) throw new Error(`the config has no plan ${config.team.default_plan}`);
  return plan;
}

/** Changes the plan of the own team from today on; the caller is an owner, and the operator must allow it. */
export async function changeOwnPlan(ctx: Ctx, input: { plan: string }, provider: string) {
  const { store, teamId } = ctx;
  // The payment provider decides about its plans: otherwise a team could get the most expensive plan for free.
  if (provider !== 'none') {
    throw refuse('invalid_permission', {
      say: 'This installation bills plans through its payment provider; choose a plan with POST /billing/checkout.',
    });
  }
  if (!store.config.billing.self_service) {
    throw refuse('invalid_permission', {
      say: 'Only the operator of this installation can change plans; to let owners do it, the operator sets billing.self_service.',
    });
  }
  const code = knownPlan(store, input.plan);
  const { plan } = planNamed(store.config, code);
  await store.db.tx(async (tx) => {
    const { role } = await lockPeople(tx, ctx);
    if (role !== 'owner') {
      throw refuse('invalid_permission', { say: `This requires the role owner in the team; your role is ${role}.` });
    }
    await mustFit(store, tx, { teamId, plan });
    await changePlan(store, tx, teamId, code);
  });
  return getBilling(ctx, provider);
}

/** Throws if the team exceeds the plan. The team is locked, so that nothing is added meanwhile. */
async function mustFit(store: Store, tx: Executor, { teamId, plan }: { teamId: string; plan: Plan }): Promise<void> {
  const excess = await listExcess(store, tx, { teamId, plan });
  if (excess.length === 0) return;
  const first = excess.map(({ says }) => says).join('; ');
  throw refuse('validation_error', { status: 422, say: `The plan ${plan.name} is too small for this team: ${first}.` });
}
