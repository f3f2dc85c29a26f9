import { createLeasedLoop, createLeases, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import {
  claimDueBroadcasts,
  nextBroadcastAt,
  failBroadcast,
  holdBroadcast,
  releaseUntil,
} from '../broadcasts/leases.store.ts';
import {
  AUDIENCE_GROWN,
  AUDIENCE_REPLACED,
  holdForOutcome,
  judgeable,
  type BroadcastRow,
  type Obstacle,
  type HeldForOutcome,
  type RateRow,
} from '../broadcasts/broadcasts.store.ts';
import { isCleared } from '../broadcasts/reviews.ts';
import { broadcastsInQueue, isTeamHeld, waitingOfBroadcast } from '../../../mail/queue/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import { BulkSize } from '../../../platform/loop-delay.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { endPass, readPass, startPass, type Pass } from './passes.ts';
import {
  readRoute,
  AudienceGrown,
  AudienceReplaced,
  PAGE_MAX,
  sendPage,
  TakenOver,
  TopicGone,
  type Route,
} from './send-page.ts';
import { loadRateCounts, type RateCounts } from '../broadcast-recipients/outcomes.store.ts';
import { readRateLimits, sumStream, type RateLimits } from '../../../mail/stream-rates/index.ts';
import { isMarketingPaused } from '../../../mail/breakers/index.ts';
import { maySend } from '../../../mail/domains/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { suspendedAmong } from '../../../tenancy/teams/index.ts';

const HOUR_MS = 3_600_000;
/** Number of pages after which other broadcasts have their turn. */
const PAGES_A_TURN = 8;
/** Each page costs a commit, so that much smaller ones would cost more than they let others go first. */
const PAGE_MIN = 50;
/** Waits by obstacle: the queue drains fast, and a person takes longer. */
const WAIT_MS: Record<Obstacle, number> = {
  queue: 250,
  rate: 1000,
  hold: 5000,
  sending_off: 5000,
  marketing_off: 5000,
  sending_limited: 5000,
  team_suspended: 5000,
  domain_unverified: 30_000,
  review: 5000,
};

interface Parts {
  owner: string;
  wakeQueue(): void;
}

/** Returns a function that sends pages of a broadcast until it is finished, waits or is held, or its turn is over. */
function createBroadcastProcessor(
  world: World,
  { owner, wakeQueue }: Parts,
): (broadcast: BroadcastRow, signal: AbortSignal) => Promise<void> {
  const { db, clock } = world;
  const whyWaits = createWaitReason(world);
  const pageSize = new BulkSize({ min: PAGE_MIN, max: PAGE_MAX }, world.loopDelay, () => clock.steady());

  return async (broadcast, signal) => {
    const held = { id: broadcast.id, owner };
    try {
      if (isOverdue(world, broadcast)) {
        await db.tx((tx) => holdBroadcast(tx, { ...held, reason: 'overdue', at: clock.now() }));
        return;
      }
      const route = await readRoute(world, broadcast);
      if ('failed' in route) {
        await db.tx((tx) => failBroadcast(tx, { ...held, reason: route.failed, at: clock.now() }));
        return;
      }
      // Only before it begins: a decision that comes later cannot take mail back.
      if (broadcast.started_at === null && !(await isCleared(db, broadcast))) {
        await releaseUntil(db, { ...held, until: clock.now() + WAIT_MS.review, reason: 'review' });
        return;
      }
      const pass = await readPass(world, broadcast, route.audience.filter);
      if (isPassOverdue(world, broadcast, pass)) {
        await db.tx((tx) => holdBroadcast(tx, { ...held, reason: 'overdue', at: clock.now() }));
        return;
      }
      const started = await startPass(world, { broadcast, owner, pass }, route.audience);
      if (started) await sendPages(started, route, pass, signal);
    } catch (error) {
      if (error instanceof TakenOver) return;
      if (error instanceof TopicGone) {
        await db.tx((tx) => failBroadcast(tx, { ...held, reason: 'topic_deleted', at: clock.now() }));
        return;
      }
      if (error instanceof AudienceGrown) {
        const detail = describeGrowth(broadcast, error);
        await db.tx((tx) => holdBroadcast(tx, { ...held, reason: AUDIENCE_GROWN, detail, at: clock.now() }));
        return;
      }
      if (error instanceof AudienceReplaced) {
        const detail = 'contacts that were approved have been replaced by others';
        await db.tx((tx) => holdBroadcast(tx, { ...held, reason: AUDIENCE_REPLACED, detail, at: clock.now() }));
        return;
      }
      // Any other refusal is temporary, for example a busy database: the next poll tries again.
      if (!(error instanceof Refusal) || error.errorName !== 'marketing_quota_exceeded') throw error;
      // Accepted mail is still sent; the remaining recipients wait for another plan or the next month.
      await db.tx((tx) => holdBroadcast(tx, { ...held, reason: 'quota', at: clock.now() }));
    }
  };

  async function sendPages(broadcast: BroadcastRow, route: Route, pass: Pass, signal: AbortSignal): Promise<void> {
    let cursor = broadcast.cursor_id ?? undefined;
    let recipients = Number(broadcast.recipients);
    const release = (until: number, reason: Obstacle | undefined): Promise<void> =>
      releaseUntil(db, { id: broadcast.id, owner, until, reason });
    for (let page = 0; page < PAGES_A_TURN; page++) {
      if (signal.aborted || (await holdExcessiveBroadcasts(world, [broadcast.id])).size > 0) return;
      const reason = await whyWaits(broadcast, route);
      if (reason) return release(clock.now() + WAIT_MS[reason], reason);
      const limit = Math.min(pageSize.adjust().current, computePageMax(broadcast.rate_per_minute));
      const sent = await sendPage(world, { broadcast, route, filter: pass.filter, owner, recipients, cursor, limit });
      if (sent.accepted > 0) wakeQueue();
      if (sent.isLast) {
        return endPass(world, { broadcast, owner, pass });
      }
      cursor = sent.cursor;
      recipients += sent.accepted;
      if (broadcast.rate_per_minute !== null && sent.accepted > 0) {
        return release(clock.now() + Math.ceil((sent.accepted * 60_000) / broadcast.rate_per_minute), 'rate');
      }
      await nextTurn();
    }
    // Puts it in line after all broadcasts that have waited longer.
    await release(clock.now(), undefined);
  }
}

/**
 * Describes the growth of the audience. Before sending begins, the number is that of subscribed contacts in the
 * segment; after that, of the contacts it would have reached.
 */
function describeGrowth({ status, approved_contacts: approved }: BroadcastRow, { contacts }: AudienceGrown): string {
  const now =
    status === 'sending'
      ? `it would be sent to at least ${contacts} contacts`
      : `${contacts} contacts of its segment are subscribed`;
  return `${now}; ${approved} ${approved === 1 ? 'was' : 'were'} approved`;
}

/**
 * Reports whether a broadcast should have been sent long ago, for example because the server was down or a backup was
 * restored late; a person must confirm it first.
 */
function isOverdue(world: World, broadcast: BroadcastRow): boolean {
  const { status, scheduled_at: scheduledAt, updated_at: sentOrResumedAt, local_at: localAt } = broadcast;
  if (status === 'queued') return isLongAgo(world, sentOrResumedAt);
  return status === 'scheduled' && localAt === null && scheduledAt !== null && isLongAgo(world, scheduledAt);
}

/** Reports whether a pass should have begun long ago, counted from the end of the pass before if that is later. */
const isPassOverdue = (
  world: World,
  { next_at: nextAt, waiting_reason: reason }: BroadcastRow,
  { at }: Pass,
): boolean =>
  nextAt !== null && (at !== null || reason === 'quiet_hours') && isLongAgo(world, Math.max(nextAt, at ?? 0));

const isLongAgo = ({ config, clock }: World, at: number): boolean =>
  clock.now() - at > config.broadcasts.overdue_hours * HOUR_MS;

/** Returns a page size of about five seconds' worth of mail: small pages keep a rate even. */
const computePageMax = (perMinute: number | null): number =>
  perMinute === null ? PAGE_MAX : Math.max(1, Math.min(PAGE_MAX, Math.round(perMinute / 12)));

export type Broadcasts = LeasedLoop;

/**
 * Creates the work loop of broadcasts, woken by the commit that sends or resumes one. It claims a broadcast with a
 * lease, sends some pages from where it stopped, and releases it, so that broadcasts take turns. `wakeQueue` is called
 * when mail was accepted.
 */
export function createBroadcastLoop(world: World, wakeQueue: () => void): Broadcasts {
  const { db, config, ids } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.broadcasts;
  const owner = ids.uuid();
  return createLeasedLoop<BroadcastRow>(world, {
    name: 'broadcasts',
    wakeOn: ['broadcasts'],
    pollMs,
    atOnceMax,
    describe: ({ id }) => ({ broadcastId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: createLeases(db, 'broadcasts') },
    async claim({ limit }, lease) {
      // Before the claim, once per poll: most broadcasts have all their emails in the queue before the first of them
      // bounces.
      await holdExcessiveBroadcasts(world, await broadcastsInQueue(db));
      const items = await db.tx((tx) => claimDueBroadcasts(tx, { ...lease, limit }));
      const nextAt = (): Promise<number | undefined> => nextBroadcastAt(db, lease.now);
      return { items, left: items.length === limit ? 'more' : 'nothing', nextAt };
    },
    process: createBroadcastProcessor(world, { owner, wakeQueue }),
  });
}

/**
 * Creates the check that runs before each page and returns the obstacle, if any, that stops a broadcast until it passes
 * or an operator removes it.
 */
function createWaitReason(world: World): (broadcast: BroadcastRow, route: Route) => Promise<Obstacle | undefined> {
  const { db, config } = world;
  // A few pages: cancels, holds and a full disk stay cheap, and the queue never becomes empty.
  const queuedMax = config.broadcasts.queued_max;
  const sending = createSendSwitch(world);
  const marketing = createSendSwitch(world, 'sending.marketing');
  return async ({ id, team_id: teamId }, { domain }) => {
    if (!(await sending()).isOn) return 'sending_off';
    if (!(await marketing()).isOn) return 'marketing_off';
    if ((await suspendedAmong(db, [teamId])).length > 0) return 'team_suspended';
    if (await isTeamHeld(db, teamId)) return 'hold';
    if (!maySend(domain)) return 'domain_unverified';
    // Emails in the queue would lose a part of their time for retries.
    if (await isMarketingPaused(db, { teamId, domainId: domain.id })) return 'sending_limited';
    return (await waitingOfBroadcast(db, id, queuedMax)) < queuedMax ? undefined : 'queue';
  };
}

type Fault = Omit<HeldForOutcome, 'at'>;

/** One of the two rates that a broadcast is held for. */
interface Rate {
  reason: Fault['reason'];
  bad: number;
  of: number;
  floor: number;
  max: number;
  what: string;
}

/** Lists the bounce and complaint rates, complaints first. */
function listRates({ delivered, bounced, complained }: RateCounts, limits: RateLimits): Rate[] {
  return [
    {
      reason: 'complaints',
      bad: complained,
      of: delivered,
      floor: limits.complaintFloor,
      max: limits.complaintPercent,
      what: 'were reported as spam',
    },
    {
      reason: 'bounces',
      bad: bounced,
      of: delivered + bounced,
      floor: limits.bounceFloor,
      max: limits.bouncePercent,
      what: 'bounced',
    },
  ];
}

/** Reports whether the broadcast's own share is too high, however few emails it has. */
const isSuspect = ({ bad, of, max }: Rate, { several }: RateLimits): boolean => bad >= several && bad * 100 > max * of;

const describe = ({ bad, of, what }: Rate): string => `${bad} of ${of} emails ${what} (${formatShare(bad, of)} %)`;

const formatShare = (bad: number, of: number): string => `${Math.min(100, Math.round((bad * 10_000) / of) / 100)}`;

/** Finds the rate at which the broadcast's own emails are enough to judge it. */
function findOwnFault(own: readonly Rate[], limits: RateLimits): Fault | undefined {
  const rate = own.find((one) => isSuspect(one, limits) && one.of >= one.floor);
  return rate && { reason: rate.reason, detail: `${describe(rate)}; the limit is ${rate.max} %` };
}

/**
 * Finds a rate that is too high both in the broadcast itself and in all broadcasts of its team within 24 hours. This
 * holds neither a clean broadcast after a bad one, nor a small broadcast on its own figures.
 */
function findSharedFault(own: readonly Rate[], stream: readonly Rate[], limits: RateLimits): Fault | undefined {
  for (const rate of own) {
    const all = stream.find(({ reason }) => reason === rate.reason);
    if (!all || !isSuspect(rate, limits) || !isSuspect(all, limits) || all.of < all.floor) continue;
    const shared = `of all broadcasts of the team within 24 hours ${all.bad} of ${all.of} (${formatShare(all.bad, all.of)} %)`;
    return { reason: rate.reason, detail: `${describe(rate)}, ${shared}; the limit is ${rate.max} %` };
  }
  return undefined;
}

/**
 * Holds those of these broadcasts whose mail bounces or is reported as spam. The broadcast's own figures since the last
 * resume decide if they reach the floor; otherwise the figures of all broadcasts of the team within 24 hours count too.
 * Returns the ids of the broadcasts it held.
 */
async function holdExcessiveBroadcasts(
  { db, clock, config, log }: World,
  ids: readonly string[],
): Promise<Set<string>> {
  const held = new Set<string>();
  if (ids.length === 0) return held;
  const limits = readRateLimits(config);
  const counts = await loadRateCounts(db, ids);
  const suspect = [...counts].filter(([, seen]) => Math.max(seen.bounced, seen.complained) >= limits.several);
  if (suspect.length === 0) return held;
  const rows = await judgeable(
    db,
    suspect.map(([id]) => id),
  );
  const streams = new Map<string, readonly Rate[]>();
  for (const row of rows) {
    const seen = counts.get(row.id);
    if (!seen) continue;
    const own = listRates(subtractResumed(seen, row), limits);
    if (!own.some((rate) => isSuspect(rate, limits))) continue;
    const fault = findOwnFault(own, limits) ?? (await findWithStream(row, own));
    if (!fault || !(await db.tx((tx) => holdForOutcome(tx, row.id, { ...fault, at: clock.now() })))) continue;
    held.add(row.id);
    log.warn({ broadcastId: row.id, reason: fault.reason, detail: fault.detail }, 'a broadcast is on hold');
  }
  return held;

  /**
   * Includes the team's other broadcasts unless somebody resumed this one: they knew the figures of the day, so only
   * its own count from then on.
   */
  async function findWithStream(row: RateRow, own: readonly Rate[]): Promise<Fault | undefined> {
    if (row.resumed_bounced > 0 || row.resumed_complained > 0) return undefined;
    const stream =
      streams.get(row.team_id) ?? listRates(await sumStream(db, row.team_id, 'broadcast', clock.now()), limits);
    streams.set(row.team_id, stream);
    return findSharedFault(own, stream, limits);
  }
}

const subtractResumed = (seen: RateCounts, row: RateRow): RateCounts => ({
  delivered: seen.delivered - row.resumed_delivered,
  bounced: seen.bounced - row.resumed_bounced,
  complained: seen.complained - row.resumed_complained,
});
