import { emailRowsByIds } from '../../../mail/emails/index.ts';
import type { DeliveryToContact } from '../../../mail/queue/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { mayMail } from '../../audience/index.ts';
import { contactsOfEmails } from './broadcast-recipients.store.ts';

/** Finds the emails among these deliveries whose contact has unsubscribed, opted out of their topic, or was deleted. */
export async function findOptedOutEmails(tx: Executor, rows: readonly DeliveryToContact[]): Promise<Set<string>> {
  const left = new Set<string>();
  const emails = await emailRowsByIds(tx, [...new Set(rows.map((row) => row.email_id))]);
  const contactByEmail = await findContacts(tx, rows);
  const groups = Map.groupBy(emails, ({ team_id: teamId, topic_id: topicId }) => `${teamId} ${topicId}`);
  for (const group of groups.values()) {
    const [first] = group;
    if (!first) continue;
    const contactIds = group.flatMap(({ id }) => contactByEmail.get(id) ?? []);
    const excluded = await mayMail(tx, first.team_id, { contactIds, topicId: first.topic_id });
    for (const { id } of group) {
      const why = excluded.get(contactByEmail.get(id) ?? '');
      // Suppressed recipients are found for all mail.
      if (why !== undefined && why !== 'suppressed') left.add(id);
    }
  }
  return left;
}

/** Returns the contact of each email. A delivery of an automation has it; for a broadcast, its report does. */
async function findContacts(tx: Executor, rows: readonly DeliveryToContact[]): Promise<Map<string, string>> {
  const ofBroadcasts = rows.filter((row) => row.broadcast_id !== null).map((row) => row.email_id);
  const contactByEmail =
    ofBroadcasts.length === 0 ? new Map<string, string>() : await contactsOfEmails(tx, ofBroadcasts);
  for (const row of rows) if (row.contact_id !== null) contactByEmail.set(row.email_id, row.contact_id);
  return contactByEmail;
}
