import type { Executor } from '../../../platform/db/index.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';
import { suppressionsAmong } from '../../../mail/suppressions/index.ts';
import { choicesOf, liveTopics } from '../topics/index.ts';
import { findContactsByIds } from './contacts.store.ts';

/** Why a mail to many may not go to a contact. */
export type Exclusion = 'deleted' | 'unsubscribed' | 'topic_opt_out' | 'suppressed';

export interface MailedContact {
  isUnsubscribed: boolean;
  /** To the topic of the mail: its own choice, else the topic's default; undefined where the mail has no topic. */
  subscription: Subscription | undefined;
  isSuppressed: boolean;
}

/** The one rule: the person's own word goes first, then what is known of the address. */
function whyNotMailed(contact: MailedContact | undefined): Exclusion | undefined {
  if (!contact) return 'deleted';
  if (contact.isUnsubscribed) return 'unsubscribed';
  if (contact.subscription === 'opt_out') return 'topic_opt_out';
  return contact.isSuppressed ? 'suppressed' : undefined;
}

/**
 * Which of these contacts a mail to many may not go to, and why; all others it may. A topic that is deleted is one that no contact
 * chose.
 */
export async function mayMail(
  db: Executor,
  teamId: string,
  { contactIds, topicId }: { contactIds: readonly string[]; topicId: string | null },
): Promise<Map<string, Exclusion>> {
  const contacts = new Map((await findContactsByIds(db, teamId, contactIds)).map((row) => [row.id, row]));
  const pairs = [...contacts.values()].map((row) => [teamId, row.email_key] as const);
  const suppressed = new Set((await suppressionsAmong(db, pairs)).map((row) => row.email_key));
  const topic = topicId === null ? undefined : (await liveTopics(db, teamId)).find(({ id }) => id === topicId);
  const choices = topic ? await choicesOf(db, contactIds) : [];
  const chosen = new Map(
    choices.filter((row) => row.topic_id === topicId).map((row) => [row.contact_id, row.subscription]),
  );
  const excluded = new Map<string, Exclusion>();
  for (const id of contactIds) {
    const row = contacts.get(id);
    const why = whyNotMailed(
      row && {
        isUnsubscribed: row.unsubscribed === 1,
        subscription: topicId === null ? undefined : (chosen.get(id) ?? topic?.default_subscription ?? 'opt_out'),
        isSuppressed: suppressed.has(row.email_key),
      },
    );
    if (why) excluded.set(id, why);
  }
  return excluded;
}
