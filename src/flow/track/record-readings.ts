import { recordEventsOnce, type NewEvent } from '../../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { advanceLastEvent, emailRowsByIds } from '../../resources/emails/index.ts';
import { emptyHistory, historiesOf, type History } from './history.store.ts';
import type { Reading } from './reading.ts';

/**
 * Openings of one email, and clicks in it, that are recorded; the contract names the number. Whoever has a genuine
 * address can fetch it for ever under new names, and each event costs the team disk and time. Each kind has its own
 * limit, so that a flood of openings hides no click. Each node counts for itself what it has seen begin.
 */
const OF_A_KIND_MAX = 1000;

/** What is read often is counted once: an email with a thousand readings would be counted anew for each batch. */
const REMEMBERED_MAX = 10_000;

/**
 * Writes readings down; those written before change nothing. No commit waits for the disk, because the journal they come
 * from did not either: a killed process loses nothing, and a power cut takes back the last moments of both.
 */
export function createRecordReadings(world: World): (readings: Reading[]) => Promise<void> {
  const remembered = new Map<string, History>();
  return (readings) => world.db.txUnsynced((tx) => recordReadings(world, tx, readings, remembered));
}

async function recordReadings(
  world: World,
  tx: Executor,
  readings: Reading[],
  remembered: Map<string, History>,
): Promise<void> {
  const rows = await emailRowsByIds(tx, [...new Set(readings.map((reading) => reading.emailId))]);
  const emails = new Map(rows.map((row) => [row.id, row]));
  const histories = await recall(tx, [...emails.keys()], remembered);
  const events: (NewEvent & { id: string })[] = [];
  for (const reading of readings) {
    const email = emails.get(reading.emailId);
    const history = histories.get(reading.emailId);
    // An email that is gone has no history to add to.
    if (!email || !history) continue;
    if (isTooSoon(world, history.sentAt ?? email.created_at, reading)) continue;
    const kind = reading.link === undefined ? 'opened' : 'clicked';
    // One that stands already, written again after a crash, counts twice here and may take the place of the last ones.
    if (history[kind] >= OF_A_KIND_MAX) continue;
    history[kind]++;
    if (history[kind] === OF_A_KIND_MAX) {
      world.log.debug(
        { emailId: email.id, kind, max: OF_A_KIND_MAX },
        'further readings of this email are not recorded',
      );
    }
    events.push({
      id: reading.id,
      teamId: email.team_id,
      type: `email.${kind}`,
      subjectId: email.id,
      domainId: email.domain_id,
      data: dataOf(reading),
      at: reading.at,
    });
  }
  const idsOf = (type: NewEvent['type']): string[] => [
    ...new Set(events.filter((event) => event.type === type).map((event) => event.subjectId)),
  ];
  await recordEventsOnce(tx, world.ids, events);
  await advanceLastEvent(tx, idsOf('email.opened'), 'opened');
  await advanceLastEvent(tx, idsOf('email.clicked'), 'clicked');
}

/**
 * Counted from the database once and kept up to date from then on. A batch that could not be committed stays in the
 * count; the limit is then met that much earlier. What other nodes record is not in it.
 */
async function recall(
  tx: Executor,
  emailIds: string[],
  remembered: Map<string, History>,
): Promise<Map<string, History>> {
  const unknown = emailIds.filter((id) => !remembered.has(id));
  const histories = await historiesOf(tx, unknown);
  for (const id of emailIds) if (!histories.has(id)) histories.set(id, remembered.get(id) ?? emptyHistory());
  if (remembered.size + unknown.length > REMEMBERED_MAX) remembered.clear();
  // Until it is sent, every look may find that it has been.
  for (const [id, history] of histories) if (history.sentAt !== undefined) remembered.set(id, history);
  return histories;
}

/** Nobody reads that fast; a gateway that looks into a mail before it passes it on does. */
function isTooSoon(world: World, sentAt: number, reading: Reading): boolean {
  return reading.at - sentAt < world.config.tracking.scanner_seconds * 1000;
}

/** Without `to`: one message was composed for all, so nobody can say which of them has opened it. */
function dataOf({ ipAddress, userAgent, link, at }: Reading): Record<string, unknown> {
  const timestamp = isoTime(at);
  return link === undefined
    ? { open: { ipAddress, timestamp, userAgent } }
    : { click: { ipAddress, link, timestamp, userAgent } };
}
