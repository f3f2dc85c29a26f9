import { standingAmong } from '../../mail/events/index.ts';
import { isDatabaseSetback, type Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import { isSoonAfterArrival, burstsAmong } from '../../protocol/machine-opens.ts';
import { emailRowsByIds, recordEmailEvents, type EmailEvent } from '../../mail/emails/index.ts';
import { isClick, readingOf, type Click, type Engagement } from './engagement.ts';
import {
  emptyHistory,
  historiesOf,
  keepClicks,
  waitingAmong,
  clicksRecorded,
  oldestClickAt,
  removeClicks,
  takeClicks,
  waitingClicksOf,
  type History,
  type Kind,
  type Sought,
} from './engagements.store.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/**
 * Openings of one email, and clicks in it, that are recorded; the contract names the number. A reader with a genuine
 * address can fetch it for ever under new names, and each event costs the team disk and time. Each kind has its own
 * limit, so that a flood of openings hides no click, and machines hide no reader. Each node counts for itself what it has
 * seen begin.
 */
const OF_A_KIND_MAX = 1000;

/** What is read often is counted once: an email with a thousand engagements would be counted anew for each batch. */
const REMEMBERED_MAX = 10_000;

/**
 * Writes engagements down. Clicks wait for what else is clicked in the same email (`createClickJudge`), unless it is known
 * already that a machine clicked. Those that stand already change nothing; another process that writes one of them at the
 * same time makes this fail on its id, and tried again it is found.
 */
export function createRecordEngagements(world: World): (engagements: Engagement[]) => Promise<void> {
  const remembered = new BoundedMap<string, History>(REMEMBERED_MAX);
  return async (engagements) => {
    const commit = world.db.tx((tx) => recordEngagements(world, tx, engagements, remembered));
    // It is not known whether it was committed, so everything is counted anew.
    const counted = await commit.catch((error: unknown) => {
      remembered.clear();
      throw error;
    });
    // Until it is delivered, every look may find that it has been.
    for (const [id, history] of counted) if (history.deliveredAt !== undefined) remembered.set(id, history);
  };
}

/** Answers the histories of their emails as they are when this is committed. */
async function recordEngagements(
  world: World,
  tx: Executor,
  engagements: Engagement[],
  remembered: ReadonlyMap<string, History>,
): Promise<Map<string, History>> {
  const { scanner_seconds: scannerSeconds, burst_seconds: burstSeconds } = world.config.tracking;
  const rows = await emailRowsByIds(tx, [...new Set(engagements.map((engagement) => engagement.emailId))]);
  const emails = new Map(rows.map((row) => [row.id, row]));
  const histories = await recall(tx, [...emails.keys()], remembered);
  const standing = await standingOrWaiting(tx, engagements);
  const events: EmailEvent[] = [];
  const waiting: Click[] = [];
  for (const engagement of engagements) {
    // Written again after a crash; the history has it.
    if (standing.has(engagement.id)) continue;
    const email = emails.get(engagement.emailId);
    const history = histories.get(engagement.emailId);
    // An email that is gone has no history to add to.
    if (!email || !history) continue;
    const arrival = { ...history, sentAt: history.sentAt ?? email.created_at };
    const isMachine = engagement.machine === true || isSoonAfterArrival(engagement.at, arrival, scannerSeconds * 1000);
    if (!hasRoom(world, history, engagement, isMachine)) continue;
    if (isClick(engagement) && !isMachine && burstSeconds > 0) waiting.push(engagement);
    else events.push({ email, ...readingOf(engagement, isMachine) });
  }
  await keepClicks(tx, waiting);
  await recordEmailEvents(tx, world.ids, events);
  return histories;
}

/** What was taken over from an earlier process may have been recorded by it. */
async function standingOrWaiting(tx: Executor, engagements: readonly Engagement[]): Promise<Set<string>> {
  const ids = engagements.map((engagement) => engagement.id);
  // In this order: a click that is judged in between stands as an event.
  const waiting = await waitingAmong(tx, ids);
  return new Set([...waiting, ...(await standingAmong(tx, ids))]);
}

/** Counts it, unless there are enough of its kind. */
function hasRoom(world: World, { counts }: History, engagement: Engagement, isMachine: boolean): boolean {
  const kind: Kind = `${isMachine ? 'machine_' : ''}${isClick(engagement) ? 'clicked' : 'opened'}`;
  if (counts[kind] >= OF_A_KIND_MAX) return false;
  counts[kind]++;
  if (counts[kind] === OF_A_KIND_MAX) {
    const { emailId } = engagement;
    world.log.debug({ emailId, kind, max: OF_A_KIND_MAX }, 'further readings of this email are not recorded');
  }
  return true;
}

/** Counted from the database once, and remembered from then on. What other nodes record is not in it. */
async function recall(
  tx: Executor,
  emailIds: string[],
  remembered: ReadonlyMap<string, History>,
): Promise<Map<string, History>> {
  const histories = await historiesOf(
    tx,
    emailIds.filter((id) => !remembered.has(id)),
  );
  for (const id of emailIds) {
    if (histories.has(id)) continue;
    const known = remembered.get(id) ?? emptyHistory();
    histories.set(id, { ...known, counts: { ...known.counts } });
  }
  return histories;
}

/** What another node has noted reaches the database within this time, unless that is down. */
const LAG_MS = 2000;
/** What a node left behind that is no more. */
const POLL_MS = 10_000;
/** Emails with a click or two, as usual, or the many of one that is scanned again and again. */
const OLDEST_MAX = 64;
const BATCH_MAX = 1024;

/**
 * Tells clicks of people from a burst, as a mail gateway makes that follows every link, once whatever belongs to the burst
 * must be known; then they become events, which are never changed. `allNotedUntil` is the time up to which this
 * process's clicks are in the table. It takes no lease: what is judged is taken, recorded and removed in one transaction.
 */
export function createClickJudge(world: World, allNotedUntil: () => number): WorkLoop<never> {
  const burstMs = world.config.tracking.burst_seconds * 1000;
  let batchMax = BATCH_MAX;
  let isHeldBack = false;
  const loop = createWorkLoop<never>({
    name: 'clicks',
    clock: world.clock,
    log: world.log,
    pollMs: POLL_MS,
    async claim() {
      const now = world.clock.now() - burstMs - LAG_MS;
      const until = Math.min(now, allNotedUntil() - burstMs);
      isHeldBack = until < now;
      const judged = await judgeOrGiveUp(until);
      return { items: [], left: judged ? 'more' : 'nothing', nextAt };
    },
    carry: () => Promise.resolve(),
  });
  const stopListening = world.db.onCommit('tracked_clicks', () => loop.wake());
  const stop = loop.stop.bind(loop);
  return Object.assign(loop, {
    async stop(graceMs: number) {
      stopListening();
      await stop(graceMs);
    },
  });

  /** What is noted meanwhile wakes the loop. */
  async function nextAt(): Promise<number | undefined> {
    if (isHeldBack) return undefined;
    const oldest = await oldestClickAt(world.db);
    return oldest === undefined ? undefined : oldest + burstMs + LAG_MS;
  }

  /** Answers whether there may be more. */
  async function judgeOrGiveUp(until: number): Promise<boolean> {
    try {
      const sought = { until, oldest: Math.min(OLDEST_MAX, batchMax), limit: batchMax };
      const count = await world.db.tx((tx) => judge(world, tx, sought));
      batchMax = BATCH_MAX;
      return count > 0;
    } catch (error) {
      if (isDatabaseSetback(error)) throw error;
      // Some click cannot be written: smaller and smaller batches find out which.
      if (batchMax > 1) batchMax >>= 1;
      else await giveUp(until, error);
      return true;
    }
  }

  async function giveUp(until: number, error: unknown): Promise<void> {
    batchMax = BATCH_MAX;
    const [click] = await world.db.tx(async (tx) => {
      const taken = await takeClicks(tx, { until, oldest: 1, limit: 1 });
      await removeClicks(
        tx,
        taken.map(({ id }) => id),
      );
      return taken;
    });
    world.log.error({ err: error, emailId: click?.emailId }, 'a reading could not be recorded');
  }
}

/** Makes events of clicks up to a time; answers how many it took. */
async function judge(world: World, tx: Executor, sought: Sought): Promise<number> {
  const taken = await takeClicks(tx, sought);
  const [first] = taken;
  if (!first) return 0;
  const { scanner_seconds: scannerSeconds, burst_seconds: burstSeconds } = world.config.tracking;
  const burstMs = burstSeconds * 1000;
  const ids = [...new Set(taken.map(({ emailId }) => emailId))];
  const emails = new Map((await emailRowsByIds(tx, ids)).map((row) => [row.id, row]));
  const histories = await historiesOf(tx, ids);
  // In this order: what another node judges in between is recorded.
  const waiting = await waitingClicksOf(tx, ids);
  const recorded = await clicksRecorded(tx, ids, { from: first.at - burstMs, until: sought.until + burstMs });
  const bursts = new Map(
    ids.map((id) => [id, burstsAmong([...(waiting.get(id) ?? []), ...(recorded.get(id) ?? [])], burstMs)]),
  );
  const events = taken.flatMap((click): EmailEvent[] => {
    const email = emails.get(click.emailId);
    // It is gone meanwhile.
    if (!email) return [];
    const arrival = histories.get(click.emailId) ?? emptyHistory();
    const isMachine =
      bursts.get(click.emailId)?.has(click.id) === true || isSoonAfterArrival(click.at, arrival, scannerSeconds * 1000);
    return [{ email, ...readingOf(click, isMachine) }];
  });
  await removeClicks(
    tx,
    taken.map(({ id }) => id),
  );
  await recordEmailEvents(tx, world.ids, events);
  return taken.length;
}
