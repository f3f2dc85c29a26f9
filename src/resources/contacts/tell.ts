import { recordEvents, type ContactData } from '../../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { ContactRow } from './contacts.store.ts';
import { segmentsOf } from './find-contact.ts';

/** Records what became of a contact, with the contact as it stands; `depth` is that of an automation's run whose effect it is. */
export async function tellOf(
  store: Store,
  tx: Executor,
  type: 'contact.created' | 'contact.updated',
  row: ContactRow,
  depth = 0,
): Promise<void> {
  const data = await contactData(tx, row);
  const at = store.clock.now();
  await recordEvents(tx, store.ids, [{ teamId: row.team_id, type, subjectId: row.id, data, at, depth }]);
}

export async function contactData(tx: Executor, row: ContactRow): Promise<ContactData> {
  const segmentIds = (await segmentsOf(tx, row)).map((segment) => segment.id).toReversed();
  return {
    id: row.id,
    segment_ids: segmentIds,
    audience_id: segmentIds[0] ?? null,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    email: row.email,
    first_name: row.first_name,
    last_name: row.last_name,
    unsubscribed: row.unsubscribed === 1,
  };
}
