import { standingAmong, type Happening } from '../../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { emailRowsByIds, recordEmailEvents, type EmailEvent } from '../../resources/emails/index.ts';
import { emptyHistory, historiesOf, type History } from './history.store.ts';
import type { Engagement } from './engagement.ts';

/**
 * Openings of one email, and clicks in it, that are recorded; the contract names the number. Whoever has a genuine
 * address can fetch it for ever under new names, and each event costs the team disk and time. Each kind has its own
 * limit, so that a flood of openings hides no click. Each node counts for itself what it has seen begin.
 */
const OF_A_KIND_MAX = 1000;

/** What is read often is counted once: an email with a thousand engagements would be counted anew for each batch. */
const REMEMBERED_MAX = 10_000;

/**
 * Writes engagements down. Those that stand already change nothing; another process that writes one of them at the same time
 * makes this fail on its id, and tried again it is found.
 */
export function createRecordEngagements(world: World): (engagements: Engagement[]) => Promise<void> {
  const remembered = new Map<string, History>();
  return async (engagements) => {
    const commit = world.db.tx((tx) => recordEngagements(world, tx, engagements, remembered));
    // Whether it was committed nobody knows, so everything is counted anew.
    const counted = await commit.catch((error: unknown) => {
      remembered.clear();
      throw error;
    });
    if (remembered.size + counted.size > REMEMBERED_MAX) remembered.clear();
    // Until it is sent, every look may find that it has been.
    for (const [id, history] of counted) if (history.sentAt !== undefined) remembered.set(id, history);
  };
}

/** Answers the histories of their emails as they are when this is committed. */
async function recordEngagements(
  world: World,
  tx: Executor,
  engagements: Engagement[],
  remembered: ReadonlyMap<string, History>,
): Promise<Map<string, History>> {
  const rows = await emailRowsByIds(tx, [...new Set(engagements.map((engagement) => engagement.emailId))]);
  const emails = new Map(rows.map((row) => [row.id, row]));
  const histories = await recall(tx, [...emails.keys()], remembered);
  const events: EmailEvent[] = [];
  const standing = await standingAmong(
    tx,
    engagements.map((engagement) => engagement.id),
  );
  for (const engagement of engagements) {
    // Written again after a crash; the history has it.
    if (standing.has(engagement.id)) continue;
    const email = emails.get(engagement.emailId);
    const history = histories.get(engagement.emailId);
    // An email that is gone has no history to add to.
    if (!email || !history) continue;
    if (isTooSoon(world, history.sentAt ?? email.created_at, engagement)) continue;
    const kind = engagement.link === undefined ? 'opened' : 'clicked';
    if (history[kind] >= OF_A_KIND_MAX) continue;
    history[kind]++;
    if (history[kind] === OF_A_KIND_MAX) {
      world.log.debug(
        { emailId: email.id, kind, max: OF_A_KIND_MAX },
        'further readings of this email are not recorded',
      );
    }
    events.push({ id: engagement.id, email, ...happeningOf(engagement), at: engagement.at });
  }
  await recordEmailEvents(tx, world.ids, events);
  return histories;
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
  for (const id of emailIds) if (!histories.has(id)) histories.set(id, { ...emptyHistory(), ...remembered.get(id) });
  return histories;
}

/** Nobody reads that fast; a gateway that looks into a mail before it passes it on does. */
function isTooSoon(world: World, sentAt: number, engagement: Engagement): boolean {
  return engagement.at - sentAt < world.config.tracking.scanner_seconds * 1000;
}

/** Without `to`: one message was composed for all, so nobody can say which of them has opened it. */
function happeningOf({ ipAddress, userAgent, link, at }: Engagement): Happening<'email.opened' | 'email.clicked'> {
  const timestamp = isoTime(at);
  return link === undefined
    ? { type: 'email.opened', data: { open: { ipAddress, timestamp, userAgent } } }
    : { type: 'email.clicked', data: { click: { ipAddress, link, timestamp, userAgent } } };
}
