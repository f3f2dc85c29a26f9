import { listKnownEventIds } from '../../mail/events/index.ts';
import { isDatabaseSetback, type Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import { isSoonAfterArrival, burstsAmong } from '../../protocol/machine-opens.ts';
import { emailRowsByIds, recordEmailEvents, type EmailEvent } from '../../mail/emails/index.ts';
import { isClick, toReadingEvent, type Click, type Engagement } from './engagement.ts';
import {
  emptyHistory,
  loadHistories,
  keepClicks,
  waitingAmong,
  clicksRecorded,
  oldestClickAt,
  removeClicks,
  takeClicks,
  loadWaitingClicks,
  type History,
  type Kind,
  type Sought,
} from './engagements.store.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/**
 * Limit of recorded openings and clicks of one email; the contract names it. A reader with a genuine address can fetch
 * it forever under new names, and each event costs the team disk and time. Each kind has its own limit, so that a flood
 * of openings hides no click, and machines hide no reader. Each node applies it to what it has seen itself.
 */
const OF_A_KIND_MAX = 1000;

/**
 * Remembers the histories of emails, since one with a thousand engagements would otherwise be counted again for each
 * batch.
 */
const REMEMBERED_MAX = 10_000;

/**
 * Records engagements. Clicks wait for other clicks in the same email (`createClickClassifier`), unless a machine is already
 * known to have clicked. Engagements that are recorded already change nothing; if another process records one of them
 * concurrently, this fails on its id, and a retry finds it.
 */
export function createRecordEngagements(world: World): (engagements: Engagement[]) => Promise<void> {
  const remembered = new BoundedMap<string, History>(REMEMBERED_MAX);
  return async (engagements) => {
    const commit = world.db.tx((tx) => recordEngagements(world, tx, engagements, remembered));
    // It is unknown whether the transaction was committed, so everything is counted again.
    const counted = await commit.catch((error: unknown) => {
      remembered.clear();
      throw error;
    });
    // An email may be delivered at any time, so its history is remembered only once it is.
    for (const [id, history] of counted) if (history.deliveredAt !== undefined) remembered.set(id, history);
  };
}

/** Records engagements; returns the histories of their emails as of the commit. */
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
  const standing = await listKnownIds(tx, engagements);
  const events: EmailEvent[] = [];
  const waiting: Click[] = [];
  for (const engagement of engagements) {
    // Written again after a crash; the history contains it.
    if (standing.has(engagement.id)) continue;
    const email = emails.get(engagement.emailId);
    const history = histories.get(engagement.emailId);
    // A removed email has no history to add to.
    if (!email || !history) continue;
    const arrival = { ...history, sentAt: history.sentAt ?? email.created_at };
    const isMachine = engagement.machine === true || isSoonAfterArrival(engagement.at, arrival, scannerSeconds * 1000);
    if (!hasRoom(world, history, engagement, isMachine)) continue;
    if (isClick(engagement) && !isMachine && burstSeconds > 0) waiting.push(engagement);
    else events.push({ email, ...toReadingEvent(engagement, isMachine) });
  }
  await keepClicks(tx, waiting);
  await recordEmailEvents(tx, world.ids, events);
  return histories;
}

/** Returns the ids that are known already: an earlier process may have recorded what this one took over. */
async function listKnownIds(tx: Executor, engagements: readonly Engagement[]): Promise<Set<string>> {
  const ids = engagements.map((engagement) => engagement.id);
  // Order matters: a click that is classified in between is found as an event.
  const waiting = await waitingAmong(tx, ids);
  return new Set([...waiting, ...(await listKnownEventIds(tx, ids))]);
}

/** Counts an engagement; returns false if the limit of its kind is reached. */
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

/**
 * Returns the histories, read from the database once and remembered from then on. They lack what other nodes record.
 */
async function recall(
  tx: Executor,
  emailIds: string[],
  remembered: ReadonlyMap<string, History>,
): Promise<Map<string, History>> {
  const histories = await loadHistories(
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

/** Time within which clicks of another node reach the database, unless that is down. */
const LAG_MS = 2000;
/** Interval for finding clicks of a node that has ended. */
const POLL_MS = 10_000;
/**
 * Emails per batch, which usually have a click or two, and clicks per batch, for one email that is scanned again and
 * again.
 */
const OLDEST_MAX = 64;
const BATCH_MAX = 1024;

/**
 * Separates clicks of people from bursts, in which a mail gateway follows every link. Waits until every click of a
 * burst must be known, then turns clicks into events, which never change. `allNotedUntil` is the time up to which this
 * process's clicks are in the table. Needs no lease: clicks are taken, recorded and removed in one transaction.
 */
export function createClickClassifier(world: World, allNotedUntil: () => number): WorkLoop<never> {
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
      const judged = await classifyOrGiveUp(until);
      return { items: [], left: judged ? 'more' : 'nothing', nextAt };
    },
    process: () => Promise.resolve(),
  });
  const stopListening = world.db.onCommit('tracked_clicks', () => loop.wake());
  const stop = loop.stop.bind(loop);
  return Object.assign(loop, {
    async stop(graceMs: number) {
      stopListening();
      await stop(graceMs);
    },
  });

  /** Returns when the next click can be classified; a new click wakes the loop. */
  async function nextAt(): Promise<number | undefined> {
    if (isHeldBack) return undefined;
    const oldest = await oldestClickAt(world.db);
    return oldest === undefined ? undefined : oldest + burstMs + LAG_MS;
  }

  /** Classifies a batch; returns whether there may be more. */
  async function classifyOrGiveUp(until: number): Promise<boolean> {
    try {
      const sought = { until, oldest: Math.min(OLDEST_MAX, batchMax), limit: batchMax };
      const count = await world.db.tx((tx) => classifyClicks(world, tx, sought));
      batchMax = BATCH_MAX;
      return count > 0;
    } catch (error) {
      if (isDatabaseSetback(error)) throw error;
      // Some click cannot be written: smaller and smaller batches find it.
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
    world.log.error({ err: error, emailId: click?.emailId }, 'an open or click could not be recorded');
  }
}

/** Turns clicks up to a time into events; returns how many it took. */
async function classifyClicks(world: World, tx: Executor, sought: Sought): Promise<number> {
  const taken = await takeClicks(tx, sought);
  const [first] = taken;
  if (!first) return 0;
  const { scanner_seconds: scannerSeconds, burst_seconds: burstSeconds } = world.config.tracking;
  const burstMs = burstSeconds * 1000;
  const ids = [...new Set(taken.map(({ emailId }) => emailId))];
  const emails = new Map((await emailRowsByIds(tx, ids)).map((row) => [row.id, row]));
  const histories = await loadHistories(tx, ids);
  // Order matters: what another node classifies in between is found as recorded.
  const waiting = await loadWaitingClicks(tx, ids);
  const recorded = await clicksRecorded(tx, ids, { from: first.at - burstMs, until: sought.until + burstMs });
  const bursts = new Map(
    ids.map((id) => [id, burstsAmong([...(waiting.get(id) ?? []), ...(recorded.get(id) ?? [])], burstMs)]),
  );
  const events = taken.flatMap((click): EmailEvent[] => {
    const email = emails.get(click.emailId);
    // The email was removed meanwhile.
    if (!email) return [];
    const arrival = histories.get(click.emailId) ?? emptyHistory();
    const isMachine =
      bursts.get(click.emailId)?.has(click.id) === true || isSoonAfterArrival(click.at, arrival, scannerSeconds * 1000);
    return [{ email, ...toReadingEvent(click, isMachine) }];
  });
  await removeClicks(
    tx,
    taken.map(({ id }) => id),
  );
  await recordEmailEvents(tx, world.ids, events);
  return taken.length;
}
