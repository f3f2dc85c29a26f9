import { enrol, type Enrolment } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { addMembers } from '../segments/index.ts';
import type { ContactRow } from './contacts.store.ts';

/**
 * Adds a contact to segments, and begins the runs that start at it for each that it had not been added to before; whether a
 * filter matches the contact is not asked. `depth` is that of an automation's run whose effect it is.
 */
export async function joinSegments(
  store: Store,
  tx: Executor,
  { id: contactId, team_id: teamId }: ContactRow,
  segmentIds: readonly string[],
  depth = 0,
): Promise<void> {
  const enrolments: Enrolment[] = [];
  for (const segmentId of segmentIds) {
    const isNew = (await addMembers(tx, [{ segment_id: segmentId, contact_id: contactId }])) === 1;
    if (!isNew) continue;
    const by = { type: 'contact.added_to_segment', segmentId } as const;
    const payload = { segment_id: segmentId };
    enrolments.push({ teamId, contactId, by, payload, at: store.clock.now(), depth });
  }
  await enrol(tx, store.ids, enrolments);
}
