import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import { meetsFilter, type Declared, type FilteredContact } from '../../../protocol/contact-filter/index.ts';
import {
  declaredFor,
  filterOf,
  findSegment,
  liveSegments,
  membersAmong,
  membershipsOf,
  type SegmentRow,
} from '../segments/index.ts';
import { choicesOf } from '../topics/index.ts';
import { findContact, type ContactRow } from './contacts.store.ts';
import { foldedValuesOf } from './property-values.ts';
import { readContactName } from './read-input.ts';

export async function contactNamed(db: Executor, teamId: string, name: string, isHeld = false): Promise<ContactRow> {
  const row = await findContact(db, teamId, readContactName(name), isHeld);
  if (!row) throw notFound('Contact');
  return row;
}

export async function segmentNamed(db: Executor, teamId: string, id: string): Promise<SegmentRow> {
  const row = await findSegment(db, teamId, id);
  if (!row) throw notFound('Segment');
  return row;
}

/** A contact that is in a segment; one that is not there is not found. */
export async function contactOfSegment(
  db: Executor,
  teamId: string,
  { segment, contact }: { segment: string; contact: string },
): Promise<ContactRow> {
  const row = await segmentNamed(db, teamId, segment);
  const found = await contactNamed(db, teamId, contact);
  const inside = await segmentsOf(db, found, [row]);
  if (inside.length === 0) throw notFound('Contact');
  return found;
}

/** The segments a contact is in now, newest first, among all of its team unless some are given. */
export async function segmentsOf(
  db: Executor,
  contact: ContactRow,
  among?: readonly SegmentRow[],
): Promise<SegmentRow[]> {
  const segments = among ?? (await liveSegments(db, contact.team_id));
  if (segments.length === 0) return [];
  const declared = await declaredFor(db, contact.team_id);
  const seen = await filteredContact(db, contact);
  const inside: SegmentRow[] = [];
  for (const segment of segments) if (await isInside(db, segment, { declared, seen })) inside.push(segment);
  return inside;
}

/** The same for many contacts of a team, by their ids: each filter is read once. */
export async function segmentsOfEach(
  db: Executor,
  teamId: string,
  contacts: readonly ContactRow[],
): Promise<Map<string, SegmentRow[]>> {
  const segments = await liveSegments(db, teamId);
  if (segments.length === 0 || contacts.length === 0) return new Map();
  const declared = await declaredFor(db, teamId);
  const ids = contacts.map(({ id }) => id);
  const choices = Map.groupBy(await choicesOf(db, ids), (row) => row.contact_id);
  const members = Map.groupBy(await membersAmong(db, ids), (row) => row.contact_id);
  const inside = new Map<string, SegmentRow[]>(ids.map((id) => [id, []]));
  const seen = contacts.map((row) => {
    const memberOf = new Set((members.get(row.id) ?? []).map((one) => one.segment_id));
    return { id: row.id, ...seenBy(row, choices.get(row.id) ?? [], memberOf) };
  });
  for (const segment of segments) {
    const filter = segment.filter === null ? undefined : await filterOf(db, segment, declared);
    for (const { id, ...one } of seen) {
      if (one.memberOf.has(segment.id) || (filter && meetsFilter(filter, one))) inside.get(id)?.push(segment);
    }
  }
  return inside;
}

async function isInside(
  db: Executor,
  segment: SegmentRow,
  { declared, seen }: { declared: Declared; seen: FilteredContact },
): Promise<boolean> {
  if (seen.memberOf.has(segment.id)) return true;
  if (segment.filter === null) return false;
  return meetsFilter(await filterOf(db, segment, declared), seen);
}

/** One contact as filters see it. */
export async function filteredContact(db: Executor, row: ContactRow): Promise<FilteredContact> {
  return seenBy(row, await choicesOf(db, [row.id]), await membershipsOf(db, row.id));
}

function seenBy(
  row: ContactRow,
  choices: Awaited<ReturnType<typeof choicesOf>>,
  memberOf: Set<string>,
): FilteredContact {
  return {
    emailKey: row.email_key,
    firstNameKey: row.first_name_key,
    lastNameKey: row.last_name_key,
    unsubscribed: row.unsubscribed === 1,
    createdAt: row.created_at,
    values: foldedValuesOf(row),
    topics: Object.fromEntries(choices.map((choice) => [choice.topic_id, choice.subscription])),
    memberOf,
  };
}
