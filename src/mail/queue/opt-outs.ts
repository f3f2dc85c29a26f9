import type { Executor } from '../../platform/db/index.ts';
import { contactsOfEmails } from '../../features/campaigns/broadcast-recipients/index.ts';
import { mayMail } from '../../features/audience/contacts/index.ts';
import { emailRowsByIds } from '../emails/index.ts';
import type { DeliveryRow } from './deliveries.store.ts';

/**
 * The emails of broadcasts and of automations among these deliveries whose contact has left since they were accepted: unsubscribed,
 * opted out of the topic, or deleted. A queue may be hours deep, and a contact that has left gets nothing any more.
 */
export async function leftSince(tx: Executor, rows: readonly DeliveryRow[]): Promise<Set<string>> {
  const toContacts = rows.filter((row) => row.broadcast_id !== null || row.contact_id !== null);
  const left = new Set<string>();
  if (toContacts.length === 0) return left;
  const emails = await emailRowsByIds(tx, [...new Set(toContacts.map((row) => row.email_id))]);
  const contactOf = await contactsOf(tx, toContacts);
  const groups = Map.groupBy(emails, ({ team_id: teamId, topic_id: topicId }) => `${teamId} ${topicId}`);
  for (const group of groups.values()) {
    const [first] = group;
    if (!first) continue;
    const contactIds = group.flatMap(({ id }) => contactOf.get(id) ?? []);
    const excluded = await mayMail(tx, first.team_id, { contactIds, topicId: first.topic_id });
    for (const { id } of group) {
      const why = excluded.get(contactOf.get(id) ?? '');
      // What is suppressed is found for all mail.
      if (why !== undefined && why !== 'suppressed') left.add(id);
    }
  }
  return left;
}

/** By email, whom it goes to: the delivery of an automation says so itself, the report of a broadcast for all of its own. */
async function contactsOf(tx: Executor, rows: readonly DeliveryRow[]): Promise<Map<string, string>> {
  const ofBroadcasts = rows.filter((row) => row.broadcast_id !== null).map((row) => row.email_id);
  const contactOf = ofBroadcasts.length === 0 ? new Map<string, string>() : await contactsOfEmails(tx, ofBroadcasts);
  for (const row of rows) if (row.contact_id !== null) contactOf.set(row.email_id, row.contact_id);
  return contactOf;
}
