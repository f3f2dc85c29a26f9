import { defineHook } from '../../platform/hook.ts';
import { refuse, Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';
import { isSimulatorDomain, computeMonthlyLimit } from '../../platform/config/index.ts';
import { beyond, BeyondUnapproved, type Ctx } from '../../tenancy/access/index.ts';
import type { DomainRow } from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { countUsage, loadPlan, loadUsage, type UsageKind } from '../../tenancy/usage/index.ts';
import { isoTime } from '../../platform/clock.ts';

const DAY_MS = 24 * 3_600_000;

/** An app that acts for a person in a team. All its grants are counted together: authorizing it again gives it no more. */
export interface AppOfPerson {
  teamId: string;
  userId: string;
  clientId: string;
}

/** Adds to the recipients that an app wrote to on a day, and returns their number. */
export const countAppSends =
  defineHook<(tx: Executor, app: AppOfPerson, add: { day: number; count: number }) => Promise<number>>('countAppSends');

/** An app with a daily limit of sends, or of sends without approval. */
export interface CountedApp extends AppOfPerson {
  max: number;
  unapprovedMax: number;
}

export function findCountedApp({ actor, teamId }: Pick<Ctx, 'actor' | 'teamId'>): CountedApp | undefined {
  if (actor.kind !== 'oauth_grant') return undefined;
  const { emailsPerDay, approval, approvalAbove } = actor.limits;
  if (emailsPerDay === null && approval !== 'broadcasts') return undefined;
  const unapprovedMax = approval === 'broadcasts' ? approvalAbove : Infinity;
  const { userId, clientId } = actor;
  return { teamId, userId, clientId, max: emailsPerDay ?? Infinity, unapprovedMax };
}

/** Refuses recipients outside the team's verified domains and the simulator, if the grant limits the app to those. */
export async function mustBeWithinRecipients(
  { actor, store }: Ctx,
  draft: EmailDraft,
  find: (name: string) => Promise<DomainRow | undefined>,
): Promise<void> {
  if (actor.kind !== 'oauth_grant' || actor.limits.recipients === 'any') return;
  for (const { address, domain: name } of draft.recipients) {
    if (isSimulatorDomain(store.config, name) || ((await find(name))?.verified_at ?? null) !== null) continue;
    const why = `it may only send to the verified domains of the team and the simulator, not to ${address}`;
    throw beyond('recipients', why);
  }
}

interface Item {
  app?: CountedApp | undefined;
  emails: readonly { recipients: number }[];
}

const writeKey = ({ app }: Item): string => `${app?.teamId} ${app?.userId} ${app?.clientId}`;

const recipientsIn = ({ emails }: Item): number => emails.reduce((sum, { recipients }) => sum + recipients, 0);

/**
 * Counts what apps send, and refuses what exceeds their daily limit. Counts first and subtracts the refused ones
 * afterwards, as for quotas: counting locks the count of the app, so nodes that accept at the same time cannot exceed the
 * limit together.
 */
export async function refuseBeyondApps<One extends Item>(
  tx: Executor,
  items: readonly One[],
  now: number,
): Promise<Map<One, Refusal>> {
  const refusals = new Map<One, Refusal>();
  const day = Math.floor(now / DAY_MS);
  const counted = items.filter(({ app }) => app !== undefined);
  // Apps are locked in the same order everywhere, as teams are, to avoid deadlocks.
  const groups = [...Map.groupBy(counted, writeKey)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, group] of groups) {
    const app = group[0]?.app;
    if (!app) continue;
    const count = group.reduce((sum, item) => sum + recipientsIn(item), 0);
    const before = (await countAppSends.call(tx, app, { day, count })) - count;
    let taken = 0;
    for (const item of group) {
      const wanted = recipientsIn(item);
      const { max = 0, unapprovedMax = 0 } = item.app ?? {};
      const all = before + taken + wanted;
      if (all <= max && all <= unapprovedMax) taken += wanted;
      else if (all <= max) refusals.set(item, new BeyondUnapproved(unapprovedMax));
      else refusals.set(item, tooMany({ max, used: before + taken, wanted, until: (day + 1) * DAY_MS }));
    }
    if (taken < count) await countAppSends.call(tx, app, { day, count: taken - count });
  }
  return refusals;
}

/** Uncounts requests that were counted and are refused for another reason. */
export async function uncountItems(tx: Executor, items: readonly Item[], now: number): Promise<void> {
  const day = Math.floor(now / DAY_MS);
  for (const item of items) {
    if (item.app) await countAppSends.call(tx, item.app, { day, count: -recipientsIn(item) });
  }
}

/**
 * Makes a call of an app that may start mail to `count` people, and counts them as recipients, without those whose items
 * are refused. Throws without making it if the app has reached a limit.
 */
export async function countAsRecipients<T>(ctx: Ctx, count: number, make: () => Promise<T>): Promise<T> {
  const { store } = ctx;
  const app = findCountedApp(ctx);
  if (!app) return make();
  const item = { app, emails: [{ recipients: count }] };
  const now = store.clock.now();
  const refusals = await store.db.tx((tx) => refuseBeyondApps(tx, [item], now));
  const refusal = refusals.get(item);
  if (refusal) throw refusal;
  const uncount = async (recipients: number): Promise<void> => {
    // On a new day the count has begun anew.
    const isSameDay = Math.floor(store.clock.now() / DAY_MS) === Math.floor(now / DAY_MS);
    const refused = { app, emails: [{ recipients }] };
    if (isSameDay && recipients > 0) await store.db.tx((tx) => uncountItems(tx, [refused], now));
  };
  try {
    const made = await make();
    await uncount(countRefused(made));
    return made;
  } catch (error) {
    if (error instanceof Refusal) await uncount(count);
    throw error;
  }
}

/** Counts the items that a permissive batch has refused. */
const countRefused = (made: unknown): number => {
  const { errors } = (typeof made === 'object' && made !== null ? made : {}) as { errors?: unknown };
  return Array.isArray(errors) ? errors.length : 0;
};

const tooMany = ({ max, used, wanted, until }: { max: number; used: number; wanted: number; until: number }): Refusal =>
  refuse('daily_quota_exceeded', {
    say: `This app is limited by emails_per_day of its grant: it may send to ${max} recipients a day, ${used} are used, and this request has ${wanted}. It may send again from ${isoTime(until)}, or when the person who authorized it, or an admin of the team, raises the limit.`,
  });

/** Emails that count towards a team's quota. */
export interface Counted {
  teamId: string;
  kind: Exclude<UsageKind, 'received'> | 'notice';
  emails: readonly unknown[];
}

/**
 * Counts the emails that are being accepted, and refuses those beyond the quota. They are counted first and subtracted
 * afterwards: counting locks the counter's row, so nodes that accept at the same time cannot exceed a limit together.
 */
export async function refuseOverQuota<Item extends Counted>(
  world: World,
  tx: Executor,
  items: readonly Item[],
  now: number,
): Promise<Map<Item, Refusal>> {
  const refusals = new Map<Item, Refusal>();
  // The order is the same everywhere: two nodes that locked two teams' counters in opposite orders would deadlock.
  const groups = [...Map.groupBy(items, ({ teamId, kind }) => `${teamId} ${kind}`)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  for (const [, group] of groups) {
    const first = group[0];
    const count = countEmails(group);
    if (!first || count === 0) continue;
    const { teamId, kind } = first;
    if (kind === 'notice') continue;
    const limits = await loadLimits(world, tx, teamId, kind);
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
  const used = await loadUsage(world.db, teamId, world.clock.now());
  for (const limit of await loadLimits(world, world.db, teamId, 'transactional')) {
    const before = used[limit.period].transactional;
    if (before + count > limit.max) throw quotaUsedUp(limit, before, count);
  }
}

const countEmails = (items: readonly Counted[]): number => items.reduce((sum, item) => sum + item.emails.length, 0);

interface Limit {
  name: 'daily_quota_exceeded' | 'monthly_quota_exceeded' | 'marketing_quota_exceeded';
  period: 'daily' | 'monthly';
  max: number;
  what: string;
}

/** Lists the limits. The month comes first: when both are used up, waiting until tomorrow would not help. */
async function loadLimits(
  world: World,
  tx: Executor,
  teamId: string,
  kind: Exclude<Counted['kind'], 'notice'>,
): Promise<Limit[]> {
  const plan = await loadPlan(world, tx, teamId);
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
  const charged = plan.overage_emails > 0 ? ` (${plan.overage_emails} of them charged per 1,000)` : '';
  const limits: Limit[] = [
    {
      name: 'monthly_quota_exceeded',
      period: 'monthly',
      max: computeMonthlyLimit(plan),
      what: `emails a month${charged}`,
    },
  ];
  if (plan.daily_cap !== null) {
    limits.push({ name: 'daily_quota_exceeded', period: 'daily', max: plan.daily_cap, what: 'emails a day' });
  }
  return limits;
}

function quotaUsedUp({ name, max, what }: Limit, used: number, wanted: number): Refusal {
  const more = wanted === 1 ? '' : `; this request needs ${wanted}`;
  return refuse(name, { say: `The plan of this team includes ${max} ${what}, and ${used} are used${more}.` });
}

/**
 * Refuses recipients that the sandbox of a region does not allow: it sends only to the team's own verified domains and
 * to the mailbox simulator.
 */
export async function mustBeAllowedBySandbox(
  { store: { config } }: Ctx,
  send: { draft: EmailDraft; domain: DomainRow; find(name: string): Promise<DomainRow | undefined> },
): Promise<void> {
  const { draft, domain, find } = send;
  if (!config.regions[domain.region]?.sandbox) return;
  for (const { address, domain: name } of draft.recipients) {
    if (isSimulatorDomain(config, name) || ((await find(name))?.verified_at ?? null) !== null) continue;
    throw refuse('validation_error', {
      status: 403,
      say: `The region ${domain.region} is sandboxed and does not send to ${address} yet.`,
      details: {
        recipient: address,
        region: domain.region,
        allowed: ['verified_identity', 'verified_domain', 'simulator'],
      },
    });
  }
}

/** Throws the refusal while the operator has switched sending off. */
export function createSendingGate(world: World): () => Promise<void> {
  const sendSwitch = createSendSwitch(world);
  return async () => {
    const { isOn, reason } = await sendSwitch();
    if (isOn) return;
    const why = reason === null ? '' : ` (${reason})`;
    throw refuse('service_unavailable', {
      say: `Sending is switched off on this installation${why}; try again later.`,
      details: { reason: 'sending_off' },
    });
  };
}
