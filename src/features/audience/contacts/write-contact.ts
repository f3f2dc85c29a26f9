import { enrol, recordEvents, type ContactData } from '../../../mail/events/index.ts';
import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { listChoices, writeChoices } from '../topics/topics.store.ts';
import type { Choice } from '../topics/topics.ts';
import { recordConsent, type Consent, type ConsentOrigin } from './consent.store.ts';
import { updateContactRows, type ContactRow } from './contacts.store.ts';
import {
  indexedValues,
  mergeValues,
  readPropertyValues,
  storedValues,
  listSegmentsOfContact,
  segmentsOfEach,
  type Values,
} from './find-contact.ts';
import { addValues, removeValues } from './values.store.ts';
import { creationTime } from '../../../platform/ids.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import { isoTime } from '../../../platform/clock.ts';

/** A change; undefined fields stay as they are. */
export interface ContactChange {
  email?: string | undefined;
  first_name?: string | null | undefined;
  last_name?: string | null | undefined;
  unsubscribed?: boolean | undefined;
  properties?: Readonly<Record<string, unknown>> | undefined;
}

interface Change {
  before: ContactRow;
  change: ContactChange;
}

interface Changing extends Change, ConsentOrigin {
  declared: readonly PropertyRow[];
}

/** Writes a change and its consequences: the index of its values, and the record of a decision. */
export async function writeChange(
  store: Store,
  tx: Executor,
  { before, change, declared, ...origin }: Changing,
): Promise<ContactRow> {
  const [after = before] = await writeChanges(store, tx, [{ before, change }], { declared, origin });
  return after;
}

/** Writes changes of different contacts, as `writeChange` does, and returns the contacts in the same order. */
export async function writeChanges(
  store: Store,
  tx: Executor,
  changes: readonly Change[],
  { declared, origin }: { declared: readonly PropertyRow[]; origin: ConsentOrigin },
): Promise<ContactRow[]> {
  if (changes.length === 0) return [];
  const written = changes.map(({ before, change }) => ({
    before,
    after: applyChange(store, before, change, declared),
  }));
  const rows = written.map(({ after }) => after);
  await updateContactRows(tx, rows).catch((error: unknown) => {
    throw isUniqueViolation(error) ? emailTaken() : error;
  });
  await reindex(tx, written, declared);
  const decided = written
    .filter(({ before, after }) => after.unsubscribed !== before.unsubscribed)
    .map(({ after }): Consent => ({
      contact: after,
      action: after.unsubscribed === 1 ? 'unsubscribed' : 'resubscribed',
    }));
  await recordConsent(store, tx, origin, decided);
  return rows;
}

function applyChange(
  store: Store,
  before: ContactRow,
  change: ContactChange,
  declared: readonly PropertyRow[],
): ContactRow {
  const fields = {
    email: change.email ?? before.email,
    first_name: change.first_name === undefined ? before.first_name : change.first_name,
    last_name: change.last_name === undefined ? before.last_name : change.last_name,
    unsubscribed: change.unsubscribed ?? before.unsubscribed === 1,
    values: mergeValues(readPropertyValues(before), change.properties ?? {}, declared),
  };
  return { ...before, ...toColumns(fields), updated_at: store.clock.now() };
}

const emailTaken = () =>
  refuse('validation_error', { status: 422, say: 'email belongs to another contact of this team.' });

/** Updates only index entries that differ: most changes leave most values as they are. */
async function reindex(
  tx: Executor,
  written: readonly { before: ContactRow; after: ContactRow }[],
  declared: readonly PropertyRow[],
): Promise<void> {
  const list = (rows: readonly ContactRow[]) =>
    rows.flatMap((row) => indexedValues(row.id, readPropertyValues(row), declared));
  const former = list(written.map(({ before }) => before));
  const latter = list(written.map(({ after }) => after));
  const toKey = ({ contactId, propertyId, value }: (typeof former)[number]) =>
    JSON.stringify([contactId, propertyId, value]);
  const had = new Set(former.map(toKey));
  const has = new Set(latter.map(toKey));
  await removeValues(
    tx,
    former.filter((entry) => !has.has(toKey(entry))),
  );
  await addValues(
    tx,
    latter.filter((entry) => !had.has(toKey(entry))),
  );
}

/** One contact's choice of one topic. */
export interface Decision {
  contact: ContactRow;
  choice: Choice;
}

/** Writes the choices of contacts, and records the new ones. */
export async function chooseTopics(
  store: Store,
  tx: Executor,
  decisions: readonly Decision[],
  origin: ConsentOrigin,
): Promise<void> {
  if (decisions.length === 0) return;
  // The later of two choices of a contact for the same topic wins.
  const last = new Map(decisions.map((one) => [`${one.contact.id} ${one.choice.id}`, one]));
  const standing = await listChoices(tx, [...new Set(decisions.map(({ contact }) => contact.id))]);
  const known = new Map(standing.map((row) => [`${row.contact_id} ${row.topic_id}`, row.subscription]));
  const fresh = [...last].filter(([key, { choice }]) => known.get(key) !== choice.subscription).map(([, one]) => one);
  await writeChoices(
    tx,
    fresh.map(({ contact, choice }) => ({
      contact_id: contact.id,
      topic_id: choice.id,
      subscription: choice.subscription,
    })),
  );
  const records = fresh.map(({ contact, choice }): Consent => ({
    contact,
    action: choice.subscription,
    topicId: choice.id,
  }));
  await recordConsent(store, tx, origin, records);
  // An import starts runs only if it asks for it. Opt-outs that are carried over were decided before and start none.
  if ((origin.source === 'import' && !origin.startsRuns) || origin.source === 'carried_over') return;
  const at = store.clock.now();
  const by = { type: 'contact.topic_changed' } as const;
  const enrolments = fresh.map(({ contact: { id: contactId, team_id: teamId }, choice }) => {
    const payload = { topic_id: choice.id, subscription: choice.subscription };
    return { teamId, contactId, by, payload, at, depth: origin.depth };
  });
  await enrol(tx, store.ids, enrolments);
}

/** Returns the same choices for each contact. */
export const decisionsFor = (rows: readonly ContactRow[], choices: readonly Choice[]): Decision[] =>
  rows.flatMap((contact) => choices.map((choice) => ({ contact, choice })));

interface ContactFields {
  email: string;
  /** Set if it is already known. */
  email_key?: string;
  first_name: string | null;
  last_name: string | null;
  unsubscribed: boolean;
  values: Values;
}

const foldedName = (name: string | null): string | null => (name === null ? null : foldText(name));

/** Returns the columns for the fields, including derived ones. */
function toColumns({ email, email_key, first_name, last_name, unsubscribed, values }: ContactFields) {
  return {
    email,
    email_key: email_key ?? normalizeAddress(email),
    first_name,
    last_name,
    first_name_key: foldedName(first_name),
    last_name_key: foldedName(last_name),
    unsubscribed: unsubscribed ? 1 : 0,
    ...storedValues(values),
  };
}

/**
 * Creates the row of a contact. Its time is that of its id, whose order lists and date filters follow, and is never
 * later than now.
 */
export function newContact(store: Store, teamId: string, fields: ContactFields): ContactRow {
  const id = store.ids.uuid();
  const at = creationTime(id, store.clock);
  return { team_id: teamId, id, ...toColumns(fields), created_at: at, updated_at: at, import_id: null };
}

/**
 * Records an event of a contact together with its current data; `depth` is that of the automation run that causes it.
 */
export const recordContactEvent = (
  store: Store,
  tx: Executor,
  type: 'contact.created' | 'contact.updated',
  row: ContactRow,
  depth = 0,
): Promise<void> => recordContactEvents(store, tx, [{ type, row }], depth);

/** Records events of different contacts of a team, each with the data of its contact. */
export async function recordContactEvents(
  store: Store,
  tx: Executor,
  events: readonly { type: 'contact.created' | 'contact.updated'; row: ContactRow }[],
  depth = 0,
): Promise<void> {
  const [first] = events;
  if (!first) return;
  const { team_id: teamId } = first.row;
  const at = store.clock.now();
  const data = await contactsData(tx, teamId, { rows: events.map(({ row }) => row), now: at });
  const recorded = events.map(({ type, row }) => {
    const known = data.get(row.id);
    if (!known) throw new Error(`data of the contact ${row.id} missing`);
    return { teamId, type, subjectId: row.id, data: known, at, depth };
  });
  await recordEvents(tx, store.ids, recorded);
}

export async function contactData(tx: Executor, row: ContactRow, now: number): Promise<ContactData> {
  return toContactData(row, await listSegmentsOfContact(tx, row, { now }));
}

/** Returns the event data of many contacts of a team, by contact id, with as many statements as for a few. */
export async function contactsData(
  tx: Executor,
  teamId: string,
  { rows, now }: { rows: readonly ContactRow[]; now: number },
): Promise<Map<string, ContactData>> {
  const inside = await segmentsOfEach(tx, teamId, { contacts: rows, now });
  return new Map(rows.map((row) => [row.id, toContactData(row, inside.get(row.id) ?? [])]));
}

function toContactData(row: ContactRow, segments: readonly { id: string }[]): ContactData {
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
