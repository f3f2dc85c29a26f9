import { recordEventsOnce, type NewEvent } from '../../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import { advanceLastEvent, emailRowsByIds, type EmailRow } from '../../resources/emails/index.ts';
import type { Reading } from './reading.ts';

/** Writes readings down, together with whatever else is committed just then. Those written before change nothing. */
export function createRecordReadings(world: World): (readings: Reading[]) => Promise<boolean> {
  return world.commits.lane<Reading[], boolean>(async (tx, items) => {
    await recordReadings(world, tx, items.flat());
    return items.map(() => true);
  });
}

async function recordReadings(world: World, tx: Executor, readings: Reading[]): Promise<void> {
  const rows = await emailRowsByIds(tx, [...new Set(readings.map((reading) => reading.emailId))]);
  const emails = new Map(rows.map((row) => [row.id, row]));
  const recipients = new Map(rows.map((row) => [row.id, recipientsOf(row)]));
  const events: (NewEvent & { id: string })[] = [];
  for (const reading of readings) {
    const email = emails.get(reading.emailId);
    // An email that is gone has no history to add to.
    if (!email || isTooSoon(world, email, reading)) continue;
    events.push({
      id: reading.id,
      teamId: email.team_id,
      type: reading.link === undefined ? 'email.opened' : 'email.clicked',
      subjectId: email.id,
      domainId: email.domain_id,
      data: { to: recipients.get(email.id), ...dataOf(reading) },
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

/** Nobody reads that fast; a gateway that looks into a mail before it passes it on does. */
function isTooSoon(world: World, email: EmailRow, reading: Reading): boolean {
  const sentAt = email.scheduled_at ?? email.created_at;
  return reading.at - sentAt < world.config.tracking.scanner_seconds * 1000;
}

function dataOf({ ipAddress, userAgent, link, at }: Reading): Record<string, unknown> {
  const timestamp = isoTime(at);
  return link === undefined
    ? { open: { ipAddress, timestamp, userAgent } }
    : { click: { ipAddress, link, timestamp, userAgent } };
}

/** All of them: one message was composed for all, so nobody can say which of them has opened it. */
function recipientsOf(email: EmailRow): string[] {
  const lists = [email.to_list, email.cc_list, email.bcc_list];
  const texts = lists.flatMap((list) => (list === null ? [] : (JSON.parse(list) as string[])));
  return [...new Set(texts.map((text) => addressIn(text)))];
}

function addressIn(text: string): string {
  const parsed = parseMailbox(text);
  return parsed.ok ? parsed.mailbox.address : text;
}
