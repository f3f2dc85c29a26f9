import { isDatabaseSetback, type Executor } from '../../platform/db/index.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import type { World } from '../../platform/world/index.ts';
import { burstsAmong, isSoonAfterArrival } from '../../protocol/machine-opens/index.ts';
import { emailRowsByIds, recordEmailEvents, type EmailEvent } from '../../mail/emails/index.ts';
import { clicksRecorded, emptyHistory, historiesOf } from './history.store.ts';
import { readingOf } from './reading.ts';
import { oldestClickAt, removeClicks, takeClicks, waitingClicksOf, type Sought } from './tracked-clicks.store.ts';

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
    ...{ name: 'clicks', clock: world.clock, log: world.log, pollMs: POLL_MS },
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
