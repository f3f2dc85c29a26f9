import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { choicesOf, liveTopics } from '../topics/index.ts';
import { optOutsAmong, recordConsent, type Consent, type ConsentOrigin } from './consent.store.ts';
import { unsubscribeContactRows, type ContactRow } from './contacts.store.ts';
import { chooseTopics } from './write-change.ts';

/**
 * What an address is out of holds for the address, also when its contact is erased: the consent records know a hash of it.
 * `hasConsent` is a team's own statement that an address wants its mail again.
 */
export async function carryOptOuts(
  store: Store,
  tx: Executor,
  contacts: readonly ContactRow[],
  { hasConsent }: { hasConsent: boolean },
): Promise<ContactRow[]> {
  const [first] = contacts;
  if (!first) return [];
  // Behind the insert: an opt-out from before it is found.
  const keys = contacts.map((row) => row.email_key);
  const found = await optOutsAmong(tx, first.team_id, keys);
  if (found.size === 0) return [...contacts];
  const isOut = ({ email_key: key }: ContactRow): boolean => found.get(key)?.all ?? false;
  if (hasConsent)
    await recordConsent(store, tx, { source: 'api' }, contacts.filter(isOut).map(decision('resubscribed')));
  const leaving = hasConsent ? [] : contacts.filter((row) => isOut(row) && row.unsubscribed === 0);
  if (leaving.length > 0) await unsubscribe(store, tx, first.team_id, leaving);
  await leaveTopics(store, tx, contacts, found);
  const left = new Set(leaving);
  return contacts.map((row) => (left.has(row) ? { ...row, unsubscribed: 1 } : row));
}

const CARRIED: ConsentOrigin = { source: 'carried_over' };

const decision =
  (action: Consent['action']) =>
  (contact: ContactRow): Consent => ({ contact, action });

async function unsubscribe(store: Store, tx: Executor, teamId: string, rows: readonly ContactRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await unsubscribeContactRows(tx, teamId, ids);
  await recordConsent(store, tx, CARRIED, rows.map(decision('unsubscribed')));
}

async function leaveTopics(
  store: Store,
  tx: Executor,
  contacts: readonly ContactRow[],
  found: Awaited<ReturnType<typeof optOutsAmong>>,
): Promise<void> {
  const all = contacts.flatMap((contact) =>
    (found.get(contact.email_key)?.topicIds ?? []).map((id) => ({ contact, id })),
  );
  const [first] = all;
  if (!first) return;
  const live = new Set((await liveTopics(tx, first.contact.team_id)).map(({ id }) => id));
  const decisions = all
    .filter(({ id }) => live.has(id))
    .map(({ contact, id }) => ({ contact, choice: { id, subscription: 'opt_out' as const } }));
  await chooseTopics(store, tx, decisions, CARRIED);
}

/** The contact has another address now: what it had left is noted for that one too, and it leaves what that one had left. */
export async function carryToAddress(
  store: Store,
  tx: Executor,
  contact: ContactRow,
  { hasConsent }: { hasConsent: boolean },
): Promise<ContactRow> {
  const known = (await optOutsAmong(tx, contact.team_id, [contact.email_key])).get(contact.email_key);
  const left = (await choicesOf(tx, [contact.id])).filter(({ subscription }) => subscription === 'opt_out');
  await recordConsent(store, tx, CARRIED, [
    ...(contact.unsubscribed === 1 && !known?.all ? [{ contact, action: 'unsubscribed' as const }] : []),
    ...left
      .filter(({ topic_id: id }) => !known?.topicIds.includes(id))
      .map(({ topic_id: id }): Consent => ({ contact, action: 'opt_out', topicId: id })),
  ]);
  const [carried = contact] = await carryOptOuts(store, tx, [contact], { hasConsent });
  return carried;
}

/** An opt-out of an address that is no contact's: the next contact of that address starts unsubscribed. */
export async function leaveWithoutContact(
  store: Store,
  tx: Executor,
  leaving: Consent,
  origin: ConsentOrigin,
): Promise<void> {
  const { contact, topicId } = leaving;
  const known = (await optOutsAmong(tx, contact.team_id, [contact.email_key])).get(contact.email_key);
  if (topicId === undefined ? known?.all : known?.topicIds.includes(topicId)) return;
  await recordConsent(store, tx, origin, [leaving]);
}
