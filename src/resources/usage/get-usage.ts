import type { UsageObject } from '../../contract/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { countDomains } from '../domains/index.ts';
import { planOf } from './plan-of.ts';
import { usageOf, type Counts } from './usage.store.ts';

/** Families that are not built yet have used nothing. */
const NOTHING_YET = 0;

export async function getUsage(ctx: Ctx): Promise<UsageObject> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const now = world.clock.now();
  const [plan, usage, domains] = await Promise.all([
    planOf(world, world.db, teamId),
    usageOf(world.db, teamId, now),
    countDomains(world.db, teamId),
  ]);
  const { day, month } = endsOf(now);
  return {
    object: 'usage',
    emails: {
      daily: { limit: plan.daily_cap, ...emailsOf(usage.daily), resets_at: day },
      monthly: { limit: plan.included_emails, ...emailsOf(usage.monthly), resets_at: month },
    },
    contacts: { used: NOTHING_YET, limit: plan.contact_limit },
    segments: { used: NOTHING_YET, limit: null },
    broadcasts: { used: NOTHING_YET, limit: null },
    ai_credits: { used: NOTHING_YET, limit: 0, next_increase_at: null },
    automation_runs: { used: NOTHING_YET, limit: 0, resets_at: month },
    domains: { used: domains, limit: plan.domain_limit },
    rate_limit: { limit: world.config.rate_limit.requests_per_second, duration: '1s' },
  };
}

/** The two limits are those of transactional mail; marketing has a quota of its own. */
const emailsOf = ({ transactional, marketing, received }: Counts) => ({
  used: transactional,
  sent: transactional + marketing,
  received,
});

/** When the day and the month of `now` are over. */
function endsOf(now: number): { day: string; month: string } {
  const at = new Date(now);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  return {
    day: new Date(Date.UTC(year, month, day + 1)).toISOString(),
    month: new Date(Date.UTC(year, month + 1)).toISOString(),
  };
}
