import { nextTurn } from '../../../platform/clock/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import {
  AUDIENCE_GROWN,
  failBroadcast,
  holdBroadcast,
  pauseBroadcast,
  type BroadcastRow,
  type Obstacle,
} from '../broadcasts/index.ts';
import { judgeBroadcasts } from './judge-broadcasts.ts';
import type { Pass } from './pass.ts';
import { endPass, readPass, startPass } from './passes.ts';
import { readRoute, type Route } from './read-route.ts';
import { AudienceGrown, PAGE_MAX, sendPage, TakenOver, TopicGone } from './send-page.ts';
import { createWhyWaits } from './why-waits.ts';

const HOUR_MS = 3_600_000;
/** After so many pages others have their turn. */
const PAGES_A_TURN = 8;
/** How long it is put back when something keeps it from moving: the queue drains fast, and a person takes longer. */
const PAUSE_MS: Record<Obstacle, number> = {
  queue: 250,
  rate: 1000,
  hold: 5000,
  sending_off: 5000,
  marketing_off: 5000,
  team_suspended: 5000,
  domain_unverified: 30_000,
};

interface Parts {
  owner: string;
  wakeQueue(): void;
}

/** Carries a broadcast for a turn: from where it stands, page by page, until it is done, waits, is held, or others have their turn. */
export function createCarryBroadcast(
  world: World,
  { owner, wakeQueue }: Parts,
): (broadcast: BroadcastRow, signal: AbortSignal) => Promise<void> {
  const { db, clock } = world;
  const whyWaits = createWhyWaits(world);

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
      const pass = await readPass(world, broadcast, route.filter);
      if (isPassOverdue(world, broadcast, pass)) {
        await db.tx((tx) => holdBroadcast(tx, { ...held, reason: 'overdue', at: clock.now() }));
        return;
      }
      const started = await startPass(world, { broadcast, owner, pass }, route.filter);
      if (started) await carry(started, { ...route, filter: pass.filter }, pass, signal);
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
      // Any other refusal passes, such as of a database that is busy: the next look tries again.
      if (!(error instanceof Refusal) || error.errorName !== 'marketing_quota_exceeded') throw error;
      // What is accepted goes out; the rest waits for another plan, or for the next month.
      await db.tx((tx) => holdBroadcast(tx, { ...held, reason: 'quota', at: clock.now() }));
    }
  };

  async function carry(broadcast: BroadcastRow, route: Route, pass: Pass, signal: AbortSignal): Promise<void> {
    let cursor = broadcast.cursor_id ?? undefined;
    let recipients = Number(broadcast.recipients);
    const pause = (until: number, reason: Obstacle | undefined): Promise<void> =>
      pauseBroadcast(db, { id: broadcast.id, owner, until, reason });
    for (let page = 0; page < PAGES_A_TURN; page++) {
      if (signal.aborted || (await judgeBroadcasts(world, [broadcast.id])).size > 0) return;
      const reason = await whyWaits(broadcast, route);
      if (reason) return pause(clock.now() + PAUSE_MS[reason], reason);
      const limit = pageSize(broadcast.rate_per_minute);
      const sent = await sendPage(world, { broadcast, route, owner, recipients, cursor, limit });
      if (sent.accepted > 0) wakeQueue();
      if (sent.isLast) {
        return endPass(world, { broadcast, owner, pass });
      }
      cursor = sent.cursor;
      recipients += sent.accepted;
      if (broadcast.rate_per_minute !== null && sent.accepted > 0) {
        return pause(clock.now() + Math.ceil((sent.accepted * 60_000) / broadcast.rate_per_minute), 'rate');
      }
      await nextTurn();
    }
    // Behind all that wait longer.
    await pause(clock.now(), undefined);
  }
}

/** Before it begins, the number is that of its segment; after that, of the contacts that it would have reached. */
function describeGrowth({ status, approved_contacts: approved }: BroadcastRow, { contacts }: AudienceGrown): string {
  const now =
    status === 'sending'
      ? `it would be sent to ${contacts} contacts or more`
      : `${contacts} contacts of its segment are subscribed`;
  return `${now}; ${approved} ${approved === 1 ? 'was' : 'were'} approved`;
}

/** A server that was down, or a copy that was restored later: what should have gone out long ago is asked about first. */
function isOverdue(world: World, broadcast: BroadcastRow): boolean {
  const { status, scheduled_at: scheduledAt, updated_at: sentOrResumedAt, local_at: localAt } = broadcast;
  if (status === 'queued') return isLongAgo(world, sentOrResumedAt);
  return status === 'scheduled' && localAt === null && scheduledAt !== null && isLongAgo(world, scheduledAt);
}

/** It was looked at since the contacts before were done. */
const isPassOverdue = (world: World, { next_at: nextAt }: BroadcastRow, { at }: Pass): boolean =>
  nextAt !== null && at !== null && isLongAgo(world, Math.max(nextAt, at));

const isLongAgo = ({ config, clock }: World, at: number): boolean =>
  clock.now() - at > config.broadcasts.overdue_hours * HOUR_MS;

/** Small pages make a rate even: some five seconds' worth. */
const pageSize = (perMinute: number | null): number =>
  perMinute === null ? PAGE_MAX : Math.max(1, Math.min(PAGE_MAX, Math.round(perMinute / 12)));
