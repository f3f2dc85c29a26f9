import type { UsageObject } from '../../contract/index.ts';
import { monthlyLimitOf, type Plan } from '../../platform/config/index.ts';
import type { Ctx } from '../access/index.ts';
import { countDomains } from '../../mail/domains/index.ts';
import { countSegments } from '../../features/audience/segments/index.ts';
import { planOf } from './plan-of.ts';
import { storageOf } from './received-storage.store.ts';
import { contactCount, usageOf, type Counts } from './usage.store.ts';

/** How many broadcasts there are is the broadcasts' to say, and those know the plan. */
export async function getUsage(ctx: Ctx, { broadcasts }: { broadcasts: number }): Promise<UsageObject> {
  const { store, teamId } = ctx;
  const now = store.clock.now();
  const [plan, usage, domains, contacts, segments, stored] = await Promise.all([
    planOf(store, store.db, teamId),
    usageOf(store.db, teamId, now),
    countDomains(store.db, teamId),
    contactCount(store.db, teamId),
    countSegments(store.db, teamId),
    storageOf(store.db, teamId),
  ]);
  const { day, month } = endsOf(now);
  return {
    object: 'usage',
    emails: {
      daily: { limit: plan.daily_cap, ...emailsOf(usage.daily), resets_at: day },
      monthly: { limit: monthlyLimitOf(plan), ...emailsOf(usage.monthly), resets_at: month },
    },
    contacts: { used: contacts, limit: plan.contact_limit },
    segments: { used: segments, limit: null },
    broadcasts: { used: broadcasts, limit: null },
    ai_credits: aiCreditsOf(plan, usage.monthly, month),
    automation_runs: { used: usage.monthly.automation_run, limit: null, resets_at: month },
    domains: { used: domains, limit: plan.domain_limit },
    received_storage: { used: stored, limit: plan.received_storage_mb * 1024 * 1024 },
    rate_limit: { limit: store.config.rate_limit.requests_per_second, duration: '1s' },
  };
}

/** Where there are none to be had, none will be next month. */
const aiCreditsOf = ({ ai_credits: limit }: Plan, { ai_answer: used }: Counts, month: string) => ({
  ...{ used, limit },
  next_increase_at: limit === 0 ? null : month,
});

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
