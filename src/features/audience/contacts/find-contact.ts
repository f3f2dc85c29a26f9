import type { Executor } from '../../../platform/db/index.ts';
import { notFound, invalidField, invalidFields, refuse } from '../../../platform/refusal.ts';
import {
  meetsFilter,
  foldText,
  listNeededFacts,
  readValue,
  type Filter,
  type FilteredContact,
  type PropertyValue,
} from '../../../protocol/contact-filter/index.ts';
import { loadSegmentFilters } from '../segments/segments.ts';
import { findSegment, liveSegments, membersAmong, type SegmentRow } from '../segments/segments.store.ts';
import { listChoices } from '../topics/topics.store.ts';
import { findContact, type ContactRow } from './contacts.store.ts';
import { loadFacts, type Facts } from './engagement.store.ts';
import type { PropertyRow } from '../contact-properties/contact-properties.store.ts';
import type { IndexedValue } from './values.store.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';

/** Reads a bare address from a body. */
export function readEmail(text: string): string {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw invalidFields([{ path: 'email', message: `email: ${parsed.fault}` }]);
  if (parsed.mailbox.name !== '') {
    throw invalidFields([{ path: 'email', message: 'email must be an address without a name.' }]);
  }
  return parsed.mailbox.address;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Reads the id or the address of a contact in a path. */
export function readContactName(text: string): { id: string } | { emailKey: string } {
  if (UUID.test(text)) return { id: text.toLowerCase() };
  const parsed = parseMailbox(text);
  if (parsed.ok && parsed.mailbox.name === '') return { emailKey: normalizeAddress(parsed.mailbox.address) };
  throw refuse('invalid_parameter', { say: 'Identify a contact by its id or its email address.' });
}

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

/** Returns a contact in a segment; throws if the contact is not in it. */
export async function contactOfSegment(
  db: Executor,
  teamId: string,
  { segment, contact, now }: { segment: string; contact: string; now: number },
): Promise<ContactRow> {
  const row = await segmentNamed(db, teamId, segment);
  const found = await contactNamed(db, teamId, contact);
  const inside = await listSegmentsOfContact(db, found, { now, among: [row] });
  if (inside.length === 0) throw notFound('Contact');
  return found;
}

/** Returns the segments that a contact is in now, newest first, out of all segments of its team or the given ones. */
export async function listSegmentsOfContact(
  db: Executor,
  contact: ContactRow,
  { now, among }: { now: number; among?: readonly SegmentRow[] },
): Promise<SegmentRow[]> {
  const inside = await segmentsOfEach(db, contact.team_id, { contacts: [contact], now, among });
  return inside.get(contact.id) ?? [];
}

/** Like `listSegmentsOfContact`, for many contacts of a team, by contact id: each filter is read once. */
export async function segmentsOfEach(
  db: Executor,
  teamId: string,
  { contacts, now, among }: { contacts: readonly ContactRow[]; now: number; among?: readonly SegmentRow[] | undefined },
): Promise<Map<string, SegmentRow[]>> {
  const segments = contacts.length === 0 ? [] : (among ?? (await liveSegments(db, teamId)));
  if (segments.length === 0) return new Map();
  const filters = await loadSegmentFilters(db, segments, now);
  const seen = await filteredContacts(db, contacts, filters);
  const inside = new Map<string, SegmentRow[]>(contacts.map(({ id }) => [id, []]));
  for (const [at, segment] of segments.entries()) {
    const filter = filters[at];
    for (const [id, contact] of seen) {
      const isInside = contact.memberOf.has(segment.id) || (filter !== undefined && meetsFilter(filter, contact));
      if (isInside) inside.get(id)?.push(segment);
    }
  }
  return inside;
}

/** Returns contacts of a team as these filters see them, by their ids. */
export async function filteredContacts(
  db: Executor,
  contacts: readonly ContactRow[],
  filters: readonly Filter[],
): Promise<Map<string, FilteredContact>> {
  const [first] = contacts;
  if (!first) return new Map();
  const ids = contacts.map(({ id }) => id);
  const choices = Map.groupBy(await listChoices(db, ids), (row) => row.contact_id);
  const members = Map.groupBy(await membersAmong(db, ids), (row) => row.contact_id);
  const readFacts = await loadFacts(db, { teamId: first.team_id, ids }, listNeededFacts(filters));
  return new Map(
    contacts.map((row) => {
      const memberOf = new Set((members.get(row.id) ?? []).map((one) => one.segment_id));
      return [row.id, seenBy(row, { choices: choices.get(row.id) ?? [], memberOf, facts: readFacts(row.id) })];
    }),
  );
}

function seenBy(
  row: ContactRow,
  {
    choices,
    memberOf,
    facts,
  }: { choices: Awaited<ReturnType<typeof listChoices>>; memberOf: Set<string>; facts: Facts },
): FilteredContact {
  return {
    emailKey: row.email_key,
    firstNameKey: row.first_name_key,
    lastNameKey: row.last_name_key,
    unsubscribed: row.unsubscribed === 1,
    createdAt: row.created_at,
    values: readFoldedValues(row),
    topics: Object.fromEntries(choices.map((choice) => [choice.topic_id, choice.subscription])),
    memberOf,
    ...facts,
  };
}

/** Values by the slots of properties. */
export type Values = Record<string, PropertyValue | undefined>;

export function readPropertyValues({ properties }: Pick<ContactRow, 'properties'>): Values {
  if (properties === null) return {};
  return (typeof properties === 'string' ? JSON.parse(properties) : properties) as Values;
}

/** Returns the values as filters see them. */
function readFoldedValues(row: Pick<ContactRow, 'properties' | 'folded'>): Values {
  return { ...readPropertyValues(row), ...(row.folded === null ? {} : readPropertyValues({ properties: row.folded })) };
}

/** Returns the two columns that hold values. Folded values are stored separately only if they differ. */
export function storedValues(values: Values): { properties: string | null; folded: string | null } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  if (kept.length === 0) return { properties: null, folded: null };
  let isSame = true;
  const folded: Record<string, string> = {};
  for (const [slot, value] of kept) {
    if (typeof value !== 'string') continue;
    const text = foldText(value);
    folded[slot] = text;
    isSame &&= text === value;
  }
  return { properties: JSON.stringify(Object.fromEntries(kept)), folded: isSame ? null : JSON.stringify(folded) };
}

/** Returns the entries of these values for the index of contacts by property. */
export function indexedValues(contactId: string, values: Values, declared: readonly PropertyRow[]): IndexedValue[] {
  const entries: IndexedValue[] = [];
  for (const { id: propertyId, slot } of declared) {
    const value = values[slot];
    if (value === undefined || value === null) continue;
    entries.push({ propertyId, contactId, value: typeof value === 'string' ? foldText(value) : Number(value) });
  }
  return entries;
}

export function presentValues(values: Values, declared: readonly PropertyRow[]): Record<string, PropertyValue> {
  const shown: Record<string, PropertyValue> = {};
  for (const { key, slot } of declared.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const value = values[slot];
    if (value !== undefined && value !== null) shown[key] = value;
  }
  return shown;
}

/** Merges values of a body into existing ones; null removes a value. */
export function mergeValues(
  before: Values,
  given: Readonly<Record<string, unknown>>,
  declared: readonly PropertyRow[],
): Values {
  const after: Values = { ...before };
  for (const [key, value] of Object.entries(given)) {
    const property = declared.find((one) => one.key === key);
    if (!property) throw invalidField('properties', unknownKey(key, declared));
    if (value === null) {
      delete after[property.slot];
      continue;
    }
    const read = readValue(property.type, value);
    if (!read.ok) throw invalidField(`properties.${key}`, `properties.${key} ${read.fault}.`);
    after[property.slot] = read.value;
  }
  return after;
}

function unknownKey(key: string, declared: readonly PropertyRow[]): string {
  const near = declared.find((one) => one.key_folded === key.toLowerCase());
  const shown = JSON.stringify(key.slice(0, 60));
  if (near) return `properties has the key ${shown}, but the property is called ${near.key}; keys are case-sensitive.`;
  return `properties has the key ${shown}, which is not a declared property; create it first.`;
}
