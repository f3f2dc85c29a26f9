import type { Plan } from '../../../platform/config/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { countByPlan } from '../../../tenancy/teams/index.ts';
import { allTerms, insertTerms } from './billing.store.ts';

/**
 * Once at the start: keeps what the plans of the configuration are from now on, because days of a month are charged by what
 * they were, and lets plans that teams have and no file has any more go on as they were last.
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
    // What a later version has added is as it comes.
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
