import { standingAmong } from '../../mail/events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { isSoonAfterArrival } from '../../protocol/machine-opens/index.ts';
import { emailRowsByIds, recordEmailEvents, type EmailEvent } from '../../mail/emails/index.ts';
import { isClick, type Click, type Engagement } from './engagement.ts';
import { emptyHistory, historiesOf, type History, type Kind } from './history.store.ts';
import { readingOf } from './reading.ts';
import { keepClicks, waitingAmong } from './tracked-clicks.store.ts';

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
 * Writes engagements down. Clicks wait for what else is clicked in the same email (`judge-clicks.ts`), unless it is known
 * already that a machine clicked. Those that stand already change nothing; another process that writes one of them at the
 * same time makes this fail on its id, and tried again it is found.
 */
export function createRecordEngagements(world: World): (engagements: Engagement[]) => Promise<void> {
  const remembered = new Map<string, History>();
  return async (engagements) => {
    const commit = world.db.tx((tx) => recordEngagements(world, tx, engagements, remembered));
    // It is not known whether it was committed, so everything is counted anew.
    const counted = await commit.catch((error: unknown) => {
      remembered.clear();
      throw error;
    });
    if (remembered.size + counted.size > REMEMBERED_MAX) remembered.clear();
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
