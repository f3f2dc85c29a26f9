import { emailRowsByIds } from '../../../mail/emails/index.ts';
import type { DeliveryToContact } from '../../../mail/queue/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { mayMail } from '../../audience/index.ts';

/** Finds the emails among these deliveries whose contact has unsubscribed, opted out of their topic, or was deleted. */
export async function findOptedOutEmails(tx: Executor, rows: readonly DeliveryToContact[]): Promise<Set<string>> {
  const left = new Set<string>();
  const emails = await emailRowsByIds(tx, [...new Set(rows.map((row) => row.email_id))]);
  const contactByEmail = new Map(rows.map((row) => [row.email_id, row.contact_id ?? '']));
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
