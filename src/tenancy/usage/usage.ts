import type { UsageObject } from '../../contract/index.ts';
import { computeMonthlyLimit, planNamed, type Plan } from '../../platform/config/index.ts';
import type { Ctx } from '../access/index.ts';
import { loadStorageBytes, contactCount, loadUsage, findPlanCode, type Counts } from './usage.store.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { suspendedAmong } from '../teams/index.ts';

/** Counts of a team that other modules provide. */
export interface CountsOfOthers {
  broadcasts: number;
  domains: number;
  segments: number;
}

export async function getUsage(ctx: Ctx, { broadcasts, domains, segments }: CountsOfOthers): Promise<UsageObject> {
  const { store, teamId } = ctx;
  const now = store.clock.now();
  const [plan, usage, contacts, stored] = await Promise.all([
    loadPlan(store, store.db, teamId),
    loadUsage(store.db, teamId, now),
    contactCount(store.db, teamId),
    loadStorageBytes(store.db, teamId),
  ]);
  const { day, month } = computeEnds(now);
  return {
    object: 'usage',
    emails: {
      daily: { limit: plan.daily_cap, ...presentEmails(usage.daily), resets_at: day },
      monthly: { limit: computeMonthlyLimit(plan), ...presentEmails(usage.monthly), resets_at: month },
    },
    contacts: { used: contacts, limit: plan.contact_limit },
    segments: { used: segments, limit: null },
    broadcasts: { used: broadcasts, limit: null },
    ai_credits: presentAiCredits(plan, usage.monthly, month),
    automation_runs: { used: usage.monthly.automation_run, limit: null, resets_at: month },
    domains: { used: domains, limit: plan.domain_limit },
    received_storage: { used: stored, limit: plan.received_storage_mb * 1024 * 1024 },
    rate_limit: { limit: store.config.rate_limit.requests_per_second, duration: '1s' },
  };
}

/** A plan without credits has no next increase. */
const presentAiCredits = ({ ai_credits: limit }: Plan, { ai_answer: used }: Counts, month: string) => ({
  used,
  limit,
  next_increase_at: limit === 0 ? null : month,
});

/** Presents the use of emails. The two limits are those of transactional mail; marketing has a quota of its own. */
const presentEmails = ({ transactional, marketing, received }: Counts) => ({
  used: transactional,
  sent: transactional + marketing,
  received,
});

/** Returns when the day and the month of `now` end. */
function computeEnds(now: number): { day: string; month: string } {
  const at = new Date(now);
  const year = at.getUTCFullYear();
  const month = at.getUTCMonth();
  const day = at.getUTCDate();
  return {
    day: new Date(Date.UTC(year, month, day + 1)).toISOString(),
    month: new Date(Date.UTC(year, month + 1)).toISOString(),
  };
}

/**
 * Returns this month's emails if they exceed the plan, for instance after a change to a smaller plan; otherwise
 * undefined.
 */
export async function isAboveQuota(
  { store, teamId }: Pick<Ctx, 'store' | 'teamId'>,
  db: Executor = store.db,
): Promise<{ used: number; included: number } | undefined> {
  const included = computeMonthlyLimit(await loadPlan(store, db, teamId));
  const used = (await loadUsage(db, teamId, store.clock.now())).monthly.transactional;
  return used > included ? { used, included } : undefined;
}

/** Refuses to show the content of emails to a team above its quota. */
export async function mustBeWithinQuota(ctx: Ctx, db: Executor = ctx.store.db): Promise<void> {
  const above = await isAboveQuota(ctx, db);
  if (!above) return;
  throw refuse('email_above_quota', {
    say: `This team has sent ${above.used} of the ${above.included} emails its plan includes this month; content is shown again when it is within its quota.`,
  });
}

/** Reports whether shared links show anything: not if the team is above its quota or suspended. */
export async function mayShowContent(store: Store, teamId: string): Promise<boolean> {
  if ((await suspendedAmong(store.db, [teamId])).length > 0) return false;
  return (await isAboveQuota({ store, teamId })) === undefined;
}

/** Returns the plan of a team, from the config. */
export async function loadPlan(store: Store, db: Executor, teamId: string): Promise<Plan> {
  return planNamed(store.config, await findPlanCode(db, teamId)).plan;
}
