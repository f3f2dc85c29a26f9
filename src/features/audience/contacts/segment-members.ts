import type { Ctx } from '../../../tenancy/access/index.ts';
import { removeMember, addMembers, liveSegments, membersAmong } from '../segments/segments.store.ts';
import {
  checkedFilter,
  declaredFor,
  loadSegmentFilter,
  loadSegmentFilters,
  listSegments,
} from '../segments/segments.ts';
import { contactNamed, segmentNamed, readContactName } from './find-contact.ts';
import { enrol, type Enrolment } from '../../../mail/events/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { ContactRow } from './contacts.store.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { audienceRows, countAudience, countAudiences } from './audience.store.ts';
import type { QueryOf } from '../../../contract/index.ts';

/** Makes a contact a member regardless of the segment's filter. */
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

/** Removes a contact that was added by hand; one that the filter matches remains a member. */
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

/**
 * Adds a contact to segments, and starts automation runs for each segment that it had not been added to before, whether
 * or not the filter matches the contact. `depth` is that of the automation run that causes it.
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
    if (isNew) enrolments.push(enrolMember(store, { teamId, contactId, segmentId, depth }));
  }
  await enrol(tx, store.ids, enrolments);
}

function enrolMember(
  { clock }: Store,
  { segmentId, ...member }: { teamId: string; contactId: string; segmentId: string; depth: number },
): Enrolment {
  const by = { type: 'contact.added_to_segment', segmentId } as const;
  return { ...member, by, payload: { segment_id: segmentId }, at: clock.now() };
}

/**
 * Adds different contacts of a team to segments, as `joinSegments` does, with a few statements. The transaction must have
 * locked the contacts, so that no other one can add them in between.
 */
export async function joinAll(
  store: Store,
  tx: Executor,
  joining: readonly { contact: ContactRow; segmentIds: readonly string[] }[],
): Promise<void> {
  const wanted = joining.flatMap(({ contact, segmentIds }) =>
    segmentIds.map((segmentId) => ({ contact, segmentId, key: `${segmentId} ${contact.id}` })),
  );
  if (wanted.length === 0) return;
  const ids = [...new Set(wanted.map(({ contact }) => contact.id))];
  const before = await membersAmong(tx, ids);
  const known = new Set(before.map(({ segment_id: segment, contact_id: contact }) => `${segment} ${contact}`));
  const fresh = [...new Map(wanted.map((one) => [one.key, one])).values()].filter(({ key }) => !known.has(key));
  await addMembers(
    tx,
    fresh.map(({ contact, segmentId }) => ({ segment_id: segmentId, contact_id: contact.id })),
  );
  const enrolments = fresh.map(({ contact: { id: contactId, team_id: teamId }, segmentId }) =>
    enrolMember(store, { teamId, contactId, segmentId, depth: 0 }),
  );
  await enrol(tx, store.ids, enrolments);
}

/** Returns a page of the contacts that match a filter now, with all columns, newest first. */
export const membersPage = (
  db: Executor,
  teamId: string,
  filter: Filter,
  page: { limit: number; after: string | undefined },
): Promise<ContactRow[]> => audienceRows<ContactRow>(db, teamId, { filter }, page, 'c.*');

export const countMembers = async (db: Executor, teamId: string, filter: Filter): Promise<number> =>
  (await countAudience(db, teamId, filter)).contacts;

export async function getSegmentMetrics({ store, teamId }: Ctx, id: string) {
  const segment = await segmentNamed(store.db, teamId, id);
  const filter = await loadSegmentFilter(store.db, segment, store.clock.now());
  const { contacts, unsubscribed } = await countAudience(store.db, teamId, filter);
  const subscribed = contacts - unsubscribed;
  return { object: 'segment_metrics' as const, segment_id: id, contacts, subscribed, unsubscribed };
}

/** Returns a page of segments, with their member counts if requested. */
export async function listSegmentsWith(ctx: Ctx, query: QueryOf<'listSegments'>, page: Page) {
  const list = await listSegments(ctx, query, page);
  if (query.include !== 'counts') return list;
  const { db, clock } = ctx.store;
  const ids = list.data.map(({ id }) => id);
  const segments = await liveSegments(db, ctx.teamId, ids);
  const filters = await loadSegmentFilters(db, segments, clock.now());
  const counted = await countAudiences(db, ctx.teamId, filters);
  const counts = new Map(segments.map(({ id }, at) => [id, counted[at]]));
  // A segment that was deleted meanwhile counts as empty.
  const data = list.data.map((segment) => {
    const { contacts, unsubscribed } = counts.get(segment.id) ?? { contacts: 0, unsubscribed: 0 };
    return { ...segment, counts: { contacts, subscribed: contacts - unsubscribed, unsubscribed } };
  });
  return { ...list, data };
}

/** Counts the contacts that match a filter without storing anything. */
export async function countFilter({ store, teamId }: Ctx, input: unknown) {
  const filter = checkedFilter(
    input,
    await declaredFor(store.db, teamId, { filters: [input], now: store.clock.now() }),
  );
  const { contacts } = await countAudience(store.db, teamId, filter);
  return { object: 'segment_preview' as const, contacts };
}
