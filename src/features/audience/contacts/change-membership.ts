import type { Ctx } from '../../../tenancy/access/index.ts';
import { removeMember } from '../segments/index.ts';
import { contactNamed, segmentNamed } from './find-contact.ts';
import { joinSegments } from './join-segments.ts';
import { readContactName } from './read-input.ts';

/** Makes a contact a member whatever the segment's filter says. */
export async function addContactToSegment({ store, teamId }: Ctx, name: string, segment: string) {
  readContactName(name);
  const membership = await store.db.tx(async (tx) => {
    const { id: segment_id } = await segmentNamed(tx, teamId, segment);
    const contact = await contactNamed(tx, teamId, name, true);
    await joinSegments(store, tx, contact, [segment_id]);
    return { contact_id: contact.id, segment_id };
  });
  return { object: 'contact_segment' as const, id: membership.segment_id, ...membership };
}

/** What the filter matches stays. */
export async function removeContactFromSegment({ store, teamId }: Ctx, name: string, segment: string) {
  readContactName(name);
  const membership = await store.db.tx(async (tx) => {
    const { id: segment_id } = await segmentNamed(tx, teamId, segment);
    const { id: contact_id } = await contactNamed(tx, teamId, name);
    await removeMember(tx, { segment_id, contact_id });
    return { contact_id, segment_id };
  });
  return { object: 'contact_segment' as const, id: membership.segment_id, ...membership, deleted: true as const };
}
