import { monthlyLimitOf } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { countUsage, planOf, usageOf, type UsageKind } from '../../tenancy/usage/index.ts';

/** Emails that count towards a team's quota. */
export interface Counted {
  teamId: string;
  kind: Exclude<UsageKind, 'received'> | 'notice';
  emails: readonly unknown[];
}

/**
 * Counts the emails that are being accepted, and refuses those beyond the quota. They are counted first and given back
 * after: counting locks the counter's row, so nodes that accept at the same time cannot exceed a limit together.
 */
export async function refuseOverQuota<Item extends Counted>(
  world: World,
  tx: Executor,
  items: readonly Item[],
  now: number,
): Promise<Map<Item, Refusal>> {
  const refusals = new Map<Item, Refusal>();
  // In one order everywhere: two nodes that locked two teams' counters in opposite orders would deadlock.
  const groups = [...Map.groupBy(items, ({ teamId, kind }) => `${teamId} ${kind}`)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  for (const [, group] of groups) {
    const first = group[0];
    const count = sizeOf(group);
    if (!first || count === 0) continue;
    const { teamId, kind } = first;
    if (kind === 'notice') continue;
    const limits = await limitsOf(world, tx, teamId, kind);
    const used = await countUsage(tx, { teamId, kind, at: now, count });
    const before = { daily: used.daily - count, monthly: used.monthly - count };
    let taken = 0;
    for (const item of group) {
      const full = limits.find(({ period, max }) => before[period] + taken + item.emails.length > max);
      if (!full) taken += item.emails.length;
      else refusals.set(item, quotaUsedUp(full, before[full.period] + taken, item.emails.length));
    }
    if (taken < count) await countUsage(tx, { teamId, kind, at: now, count: taken - count });
  }
  return refusals;
}

/** Refuses a request that is beyond the quota already, before its expensive work. Counts nothing. */
export async function mustBeWithinQuota(world: World, teamId: string, count: number): Promise<void> {
  const used = await usageOf(world.db, teamId, world.clock.now());
  for (const limit of await limitsOf(world, world.db, teamId, 'transactional')) {
    const before = used[limit.period].transactional;
    if (before + count > limit.max) throw quotaUsedUp(limit, before, count);
  }
}

const sizeOf = (items: readonly Counted[]): number => items.reduce((sum, item) => sum + item.emails.length, 0);

interface Limit {
  name: 'daily_quota_exceeded' | 'monthly_quota_exceeded' | 'marketing_quota_exceeded';
  period: 'daily' | 'monthly';
  max: number;
  what: string;
}

/** The month comes first: when both are used up, waiting until tomorrow would not help. */
async function limitsOf(
  world: World,
  tx: Executor,
  teamId: string,
  kind: Exclude<Counted['kind'], 'notice'>,
): Promise<Limit[]> {
  const plan = await planOf(world, tx, teamId);
  if (kind === 'marketing') {
    return [
      {
        name: 'marketing_quota_exceeded',
        period: 'monthly',
        max: plan.marketing_emails,
        what: 'marketing emails a month',
      },
    ];
  }
  const charged = plan.overage_emails > 0 ? ` (${plan.overage_emails} of them charged by 1,000)` : '';
  const limits: Limit[] = [
    {
      name: 'monthly_quota_exceeded',
      period: 'monthly',
      max: monthlyLimitOf(plan),
      what: `emails a month${charged}`,
    },
  ];
  if (plan.daily_cap !== null) {
    limits.push({ name: 'daily_quota_exceeded', period: 'daily', max: plan.daily_cap, what: 'emails a day' });
  }
  return limits;
}

function quotaUsedUp({ name, max, what }: Limit, used: number, wanted: number): Refusal {
  const more = wanted === 1 ? '' : `; this request has ${wanted}`;
  return refuse(name, { say: `The plan of this team includes ${max} ${what} and ${used} are used${more}.` });
}
