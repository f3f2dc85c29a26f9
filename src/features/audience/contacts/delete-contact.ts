import { eraseEventsOf, recordEvents } from '../../../mail/events/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { eraseRunsOf } from '../../automations/automation-runs/index.ts';
import { eraseRecipient } from '../../campaigns/broadcast-recipients/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { removeMemberships } from '../segments/index.ts';
import { removeChoicesOf, removeConfirmationsOf } from '../topics/index.ts';
import { erasePayloads } from '../../webhooks/endpoints/index.ts';
import { removeContactRow } from './contacts.store.ts';
import { addToContactCount } from '../../../tenancy/usage/index.ts';
import { contactNamed, contactOfSegment } from './find-contact.ts';
import { indexedValues, valuesOf } from './property-values.ts';
import { contactData } from './tell.ts';
import { removeValues } from './values.store.ts';

/**
 * Erases a contact: its row, its values, what it chose, what was recorded of it, and its address in the reports of
 * broadcasts. Its consent records, its rows there, and when its address was asked about a topic, stay, as they know a hash alone; the last event shows it to the team's endpoints as it was.
 */
export async function deleteContact({ store, teamId }: Ctx, name: string, segment?: string) {
  const id = await store.db.tx(async (tx) => {
    if (segment !== undefined) await contactOfSegment(tx, teamId, { segment, contact: name });
    const row = await contactNamed(tx, teamId, name, true);
    const data = await contactData(tx, row);
    if (!(await removeContactRow(tx, teamId, row.id))) throw notFound('Contact');
    await removeValues(tx, indexedValues(row.id, valuesOf(row), await declaredProperties(tx, teamId)));
    await removeMemberships(tx, row.id);
    await removeChoicesOf(tx, row.id);
    await removeConfirmationsOf(tx, row.id);
    await eraseRunsOf(tx, row.id, store.clock.now());
    await eraseRecipient(tx, teamId, row.email_key);
    await erasePayloads(tx, teamId, await eraseEventsOf(tx, row.id));
    await recordEvents(tx, store.ids, [
      { teamId, type: 'contact.deleted', subjectId: row.id, data, at: store.clock.now() },
    ]);
    await addToContactCount(tx, teamId, -1);
    return row.id;
  });
  return { object: 'contact' as const, id, contact: id, deleted: true as const };
}
