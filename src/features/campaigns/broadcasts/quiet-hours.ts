import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import type { TimeZone } from '../../../protocol/time-zone.ts';
import type { QuietDelivery, QuietTime } from '../../../mail/queue/index.ts';
import { emailRowsByIds } from '../../../mail/emails/index.ts';
import {
  declaredProperties,
  findContactsByIds,
  quietTopics,
  readPropertyValues,
  type ContactRow,
  type QuietTopic,
} from '../../audience/index.ts';
import { propertyNamed } from './merge-values.ts';
import { zoneNamed } from './send-time.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Hours of the day by the clocks of a contact; those that end before they begin go past midnight. */
type Hours = Pick<QuietTopic, 'quiet_from' | 'quiet_to'>;

const UTC = { name: 'UTC', offsetMs: () => 0, toMoment: (local: number) => local };

const readMinutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** Returns the moment at which the quiet hours end that a time zone has now; undefined if it has none now. */
export function findQuietEnd(hours: Hours, zone: Pick<TimeZone, 'offsetMs' | 'toMoment'>, now: number) {
  const from = readMinutes(hours.quiet_from) * MINUTE_MS;
  const to = readMinutes(hours.quiet_to) * MINUTE_MS;
  const local = now + zone.offsetMs(now);
  const midnight = Math.floor(local / DAY_MS) * DAY_MS;
  const time = local - midnight;
  const isQuiet = from < to ? time >= from && time < to : time >= from || time < to;
  if (!isQuiet) return undefined;
  const localEnd = midnight + to + (time >= to ? DAY_MS : 0);
  const end = zone.toMoment(localEnd);
  // Clocks that were set back show the end twice, and the first time is over.
  return end > now ? end : now + (localEnd - local);
}

/** Returns a function that finds the end of the quiet hours that a contact has now. */
async function readContactClocks(db: Executor, teamId: string) {
  const property = propertyNamed(await declaredProperties(db, teamId), 'timezone');
  const read = (value: unknown): TimeZone | undefined =>
    typeof value === 'string' ? zoneNamed(foldText(value)) : undefined;
  const fallback = property?.type === 'string' ? read(JSON.parse(property.fallback_value ?? 'null')) : undefined;
  return (hours: Hours, contact: ContactRow, now: number): number | undefined => {
    const own = property?.type === 'string' ? read(readPropertyValues(contact)[property.slot]) : undefined;
    return findQuietEnd(hours, own ?? fallback ?? UTC, now);
  };
}

const describeQuietTime = ({ name, quiet_from: from, quiet_to: to }: QuietTopic, until: number): QuietTime => ({
  until,
  reason: `the topic ${JSON.stringify(name)} has quiet hours from ${from} to ${to} where the contact is, which end at ${isoTime(until)}`,
});

/** Returns the quiet hours that a topic has now for a contact; undefined if it has none. */
export async function findQuietTime(
  db: Executor,
  { contact, topicId }: { contact: ContactRow; topicId: string | null },
  now: number,
): Promise<QuietTime | undefined> {
  const topic = (await quietTopics(db, [contact.team_id])).find(({ id }) => id === topicId);
  if (!topic) return undefined;
  const until = (await readContactClocks(db, contact.team_id))(topic, contact, now);
  return until === undefined ? undefined : describeQuietTime(topic, until);
}

/**
 * Returns a function that finds the end of the quiet hours that the topic of a broadcast has for a contact; undefined if
 * it has none at all.
 */
export async function readQuietHours(
  db: Executor,
  { team_id: teamId, topic_id: topicId }: { team_id: string; topic_id: string | null },
): Promise<((contact: ContactRow, now: number) => number | undefined) | undefined> {
  if (topicId === null) return undefined;
  const topic = (await quietTopics(db, [teamId])).find(({ id }) => id === topicId);
  if (!topic) return undefined;
  const findEnd = await readContactClocks(db, teamId);
  return (contact, now) => findEnd(topic, contact, now);
}

/** Finds the emails among these deliveries of marketing mail whose topic has quiet hours now where their contact is. */
export async function findQuietEmails(
  db: Executor,
  rows: readonly QuietDelivery[],
  now: number,
): Promise<Map<string, QuietTime>> {
  const found = new Map<string, QuietTime>();
  const topics = new Map(
    (await quietTopics(db, [...new Set(rows.map((row) => row.team_id))])).map((one) => [one.id, one]),
  );
  if (topics.size === 0) return found;
  const contactByEmail = new Map(rows.map((row) => [row.email_id, row.contact_id ?? '']));
  const emails = (await emailRowsByIds(db, [...contactByEmail.keys()])).filter(({ topic_id: id }) =>
    topics.has(id ?? ''),
  );
  for (const [teamId, group] of Map.groupBy(emails, (email) => email.team_id)) {
    const findEnd = await readContactClocks(db, teamId);
    const ids = group.flatMap(({ id }) => contactByEmail.get(id) ?? []);
    const contacts = new Map((await findContactsByIds(db, teamId, ids)).map((contact) => [contact.id, contact]));
    for (const { id, topic_id: topicId } of group) {
      const topic = topics.get(topicId ?? '');
      const contact = contacts.get(contactByEmail.get(id) ?? '');
      const until = topic && contact && findEnd(topic, contact, now);
      if (topic && until !== undefined) found.set(id, describeQuietTime(topic, until));
    }
  }
  return found;
}
