import { defineHook } from '../../../platform/hook.ts';
import type { UpdateContactRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  declaredProperties,
  forgetProperty,
  nextDeletedProperty,
} from '../contact-properties/contact-properties.store.ts';
import { removeMemberships, removeMembersOfDeleted } from '../segments/segments.store.ts';
import { removeChoices } from '../topics/topics.store.ts';
import { removeConfirmations } from '../topics/confirmations.store.ts';
import { addToContactCount } from '../../../tenancy/usage/index.ts';
import { askAnew, copyToAddress, readDecider } from './consent.ts';
import { eraseHistory } from './contact-history.store.ts';
import { removeContactRow } from './contacts.store.ts';
import { indexedValues, readEmail, contactNamed, contactOfSegment, readPropertyValues } from './find-contact.ts';
import { removeCountsOfDeletedEvents, removeEngagement } from './engagement.store.ts';
import { recordContactEvent, writeChange, contactData } from './write-contact.ts';
import { removeValues, removeSomeValues } from './values.store.ts';
import { eraseEvents, recordEvents } from '../../../mail/events/index.ts';
import { nextTurn } from '../../../platform/clock.ts';

/** Few enough that the work waiting for a batch does not notice the delay. */
const BATCH = 500;
/** A million at a time takes a quarter of an hour; all readers have ignored the values since the deletion. */
const BATCHES_MAX = 150;

/** Removes the remains of deleted properties, segments and custom events, in small batches. */
export async function clearDeleted(store: Store): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const isDone = await store.db.tx(async (tx) => {
      const property = await nextDeletedProperty(tx);
      if (!property) {
        const removed = (await removeMembersOfDeleted(tx, BATCH)) + (await removeCountsOfDeletedEvents(tx, BATCH));
        return removed === 0;
      }
      if ((await removeSomeValues(tx, property, BATCH)) === 0) await forgetProperty(tx, property.id);
      return false;
    });
    if (isDone) return;
    await nextTurn();
  }
}

/** How many rows of each table an erasure removed, or removed data from. */
export type ErasedRows = Record<string, number>;

/** Erases a contact from the data of other features. */
export const eraseContactElsewhere =
  defineHook<
    (tx: Executor, contact: { teamId: string; contactId: string; emailKey: string; at: number }) => Promise<ErasedRows>
  >('eraseContactElsewhere');

export async function deleteContact(ctx: Ctx, name: string, segment?: string) {
  const { id } = await eraseContact(ctx, name, segment);
  return { object: 'contact' as const, id, contact: id, deleted: true as const };
}

/**
 * Erases a contact: its row, its values, its choices, its engagement, its events, and its address in the reports of broadcasts. Its
 * consent records, its rows in those reports, and the times at which its address was asked about a topic remain,
 * because they contain only a hash. The last event shows the contact as it was to the team's endpoints.
 */
export function eraseContact(
  { store, teamId }: Ctx,
  name: string,
  segment?: string,
): Promise<{ id: string; erased: ErasedRows }> {
  return store.db.tx(async (tx) => {
    if (segment !== undefined) await contactOfSegment(tx, teamId, { segment, contact: name, now: store.clock.now() });
    const row = await contactNamed(tx, teamId, name, true);
    const data = await contactData(tx, row, store.clock.now());
    if (!(await removeContactRow(tx, teamId, row.id))) throw notFound('Contact');
    const values = indexedValues(row.id, readPropertyValues(row), await declaredProperties(tx, teamId));
    const contact = { teamId, contactId: row.id, emailKey: row.email_key, at: store.clock.now() };
    const erased: ErasedRows = {
      contacts: 1,
      ...(await removeValues(tx, values)),
      segment_members: await removeMemberships(tx, row.id),
      contact_topics: await removeChoices(tx, row.id),
      topic_confirmations: await removeConfirmations(tx, row.id),
      contact_history: await eraseHistory(tx, row.id),
      ...(await removeEngagement(tx, teamId, row.id)),
      ...(await eraseContactElsewhere.call(tx, contact)),
      events: await eraseEvents(tx, teamId, row.id),
    };
    await recordEvents(tx, store.ids, [
      { teamId, type: 'contact.deleted', subjectId: row.id, data, at: store.clock.now() },
    ]);
    await addToContactCount(tx, teamId, -1);
    return { id: row.id, erased };
  });
}

/** Updates a contact. With `segment`, only a contact in that segment is found. */
export async function updateContact(
  { store, teamId, actor }: Ctx,
  name: string,
  input: UpdateContactRequest,
  segment?: string,
) {
  const { email, ...change } = input;
  const by = readDecider(actor);
  const address = email === undefined ? undefined : readEmail(email);
  const id = await store.db.tx(async (tx) => {
    if (segment !== undefined) await contactOfSegment(tx, teamId, { segment, contact: name, now: store.clock.now() });
    const before = await contactNamed(tx, teamId, name, true);
    if (Object.values(input).every((value) => value === undefined)) return before.id;
    const declared = await declaredProperties(tx, teamId);
    let after = await writeChange(store, tx, {
      before,
      change: { ...change, email: address },
      declared,
      source: 'api',
      by,
    });
    if (after.email_key !== before.email_key) {
      after = await copyToAddress(store, tx, after, { hasConsent: input.unsubscribed === false, by });
      await askAnew(store, tx, after, by);
    }
    await recordContactEvent(store, tx, 'contact.updated', after);
    return before.id;
  });
  return { object: 'contact' as const, id };
}
