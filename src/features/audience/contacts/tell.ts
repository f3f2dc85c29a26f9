import { recordEvents, type ContactData } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { ContactRow } from './contacts.store.ts';
import { segmentsOf, segmentsOfEach } from './find-contact.ts';

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
  return dataOf(row, await segmentsOf(tx, row));
}

/** The same for many of a team, by their ids, with as many statements as for a few. */
export async function contactsData(
  tx: Executor,
  teamId: string,
  rows: readonly ContactRow[],
): Promise<Map<string, ContactData>> {
  const inside = await segmentsOfEach(tx, teamId, rows);
  return new Map(rows.map((row) => [row.id, dataOf(row, inside.get(row.id) ?? [])]));
}

function dataOf(row: ContactRow, segments: readonly { id: string }[]): ContactData {
  const segmentIds = segments.map((segment) => segment.id).toReversed();
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
