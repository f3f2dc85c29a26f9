import { enrol, numberBatch, type Enrolment } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { ReadRow } from '../../../protocol/csv/index.ts';
import type { PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { addMembers, liveSegments, membersAmong, type MemberRow } from '../segments/segments.store.ts';
import { liveTopics } from '../topics/topics.store.ts';
import type { Choice } from '../topics/topics.ts';
import { contactCount, addToContactCount, loadPlan } from '../../../tenancy/usage/index.ts';
import { recordConsent } from './consent.store.ts';
import { recordHistory } from './contact-history.store.ts';
import { findContactsByKeys, insertContacts, type ContactRow } from './contacts.store.ts';
import {
  newContact,
  contactsData,
  chooseTopics,
  decisionsFor,
  writeChange,
  type ContactChange,
  type Decision,
} from './write-contact.ts';
import { applyErasedOptOuts, withoutTopicsLeft } from './consent.ts';
import { indexedValues, readPropertyValues } from './find-contact.ts';
import { addValues } from './values.store.ts';

export interface RowsToImport {
  teamId: string;
  /** The import that they belong to. */
  importId: string;
  rows: readonly { row: number; read: ReadRow }[];
  /** Returns the properties of the team. Called only if a contact is created or updated: it may declare some. */
  declare(): Promise<readonly PropertyRow[]>;
  onConflict: 'upsert' | 'skip';
  segmentIds: readonly string[];
  topics: readonly Choice[];
  /** True if rows start automation runs, as if each row had come through the API. */
  startAutomations: boolean;
}

export interface ImportedRows {
  created: number;
  updated: number;
  skipped: number;
  failures: { row: number; reason: string; value: string | null }[];
  /** Numbers of the rows that created or updated a contact. */
  taken: ReadonlySet<number>;
}

/**
 * Another request created one of the contacts, or used up the plan, after this batch had read them: the batch is
 * written again.
 */
export class ImportRaced extends Error {}

/**
 * Writes rows in their order, so that the first of two with the same address creates the contact. Records neither
 * `contact.created` nor `contact.updated`: webhooks are not notified of rows. Automations start if the import asks for
 * it.
 */
export async function importRows(store: Store, tx: Executor, batch: RowsToImport): Promise<ImportedRows> {
  const { teamId, rows } = batch;
  const keys = [...new Set(rows.map(({ read }) => read.emailKey))];
  const existing = new Map((await findContactsByKeys(tx, teamId, keys)).map((row) => [row.email_key, row]));
  const { contact_limit: limit } = await loadPlan(store, tx, teamId);
  const room = Math.max(0, limit - (await contactCount(tx, teamId)));
  const plan = planRows(batch, { existing, room, limit });
  const declared = plan.taken.size > 0 ? await batch.declare() : [];
  const fresh = buildContacts(store, batch, plan.toCreate, declared);
  const created = await createPlanned(store, tx, fresh, declared);
  const changed = await writeChanges(store, tx, batch, { ...plan, declared });
  await recordImport(store, tx, batch, { changed, existing });
  const touched = [...created, ...changed];
  const fromRows = await namedByRows(tx, teamId, touched, plan.lists);
  const members = touched.flatMap(({ id }) =>
    batch.segmentIds.map((segment) => ({ segment_id: segment, contact_id: id })),
  );
  await join(store, tx, batch, { touched, members: [...members, ...fromRows.members] });
  // The topics of the import come first in this list, those of the rows after them: the later choice for a topic wins,
  // so a row overrides the import. A file does not know who has left a topic since it was written.
  const decisions = await withoutTopicsLeft(tx, [...decisionsFor(touched, batch.topics), ...fromRows.decisions]);
  await chooseTopics(store, tx, decisions, {
    source: 'import',
    by: { kind: 'import', id: batch.importId },
    startsRuns: batch.startAutomations,
  });
  if (batch.startAutomations) await beginRuns(store, tx, batch, { touched, starts: plan.starts });
  if (plan.created > 0 && (await addToContactCount(tx, teamId, plan.created)) > limit) throw new ImportRaced();
  const { created: createdCount, updated, skipped, failures, taken } = plan;
  return { created: createdCount, updated, skipped, failures, taken };
}

/** Records in the history of existing contacts that this import changed them. */
async function recordImport(
  store: Store,
  tx: Executor,
  { teamId, importId }: RowsToImport,
  { changed, existing }: { changed: readonly ContactRow[]; existing: ReadonlyMap<string, ContactRow> },
): Promise<void> {
  const isChanged = (row: ContactRow): boolean => {
    const before = existing.get(row.email_key);
    return before !== undefined && describeFields(before) !== describeFields(row);
  };
  const data = { import_id: importId };
  const entries = changed.filter(isChanged).map(({ id }) => ({ contactId: id, id: store.ids.uuid(), teamId, data }));
  await recordHistory(tx, 'import', entries);
}

const describeFields = (row: ContactRow): string =>
  JSON.stringify([row.first_name, row.last_name, row.unsubscribed, readPropertyValues(row)]);

interface PlannedRows extends ImportedRows {
  taken: Set<number>;
  /** One row for each new contact, by its address. */
  toCreate: Map<string, ReadRow>;
  /** Rows that change an existing contact, by its address and in their order. */
  changes: Map<string, ReadRow[]>;
  /** Segments and topics in the rows, by address. */
  lists: Map<string, NonNullable<ReadRow['lists']>[]>;
  existing: Map<string, ContactRow>;
  /** Events that may start an automation, row by row. */
  starts: { emailKey: string; type: 'contact.created' | 'contact.updated' }[];
}

function planRows(
  { rows, onConflict }: RowsToImport,
  { existing, room, limit }: { existing: Map<string, ContactRow>; room: number; limit: number },
): PlannedRows {
  const plan: PlannedRows = {
    created: 0,
    updated: 0,
    skipped: 0,
    failures: [],
    taken: new Set(),
    toCreate: new Map(),
    changes: new Map(),
    lists: new Map(),
    existing,
    starts: [],
  };
  for (const { row, read } of rows) {
    const { emailKey } = read;
    const before = plan.toCreate.get(emailKey);
    if (existing.has(emailKey) || before) {
      if (onConflict === 'skip') {
        plan.skipped++;
        continue;
      }
      plan.updated++;
      plan.starts.push({ emailKey, type: 'contact.updated' });
      if (before) plan.toCreate.set(emailKey, merged(before, read));
      else plan.changes.set(emailKey, [...(plan.changes.get(emailKey) ?? []), read]);
    } else if (plan.created < room) {
      plan.created++;
      plan.starts.push({ emailKey, type: 'contact.created' });
      plan.toCreate.set(emailKey, read);
    } else {
      plan.failures.push({ row, reason: `the plan's limit of ${limit} contacts is reached`, value: read.email });
      continue;
    }
    plan.taken.add(row);
    if (read.lists) plan.lists.set(emailKey, [...(plan.lists.get(emailKey) ?? []), read.lists]);
  }
  return plan;
}

/** Adds contacts to segments. If the import asks for it, automations start for those who were not members before. */
async function join(
  store: Store,
  tx: Executor,
  { teamId, importId, startAutomations }: RowsToImport,
  { touched, members }: { touched: readonly ContactRow[]; members: readonly MemberRow[] },
): Promise<void> {
  const toKey = ({ segment_id: segment, contact_id: contact }: MemberRow): string => `${segment} ${contact}`;
  // The insert or update has locked the contacts, so no other transaction can add them in between.
  const ids = touched.map(({ id }) => id);
  const before = new Set(startAutomations && members.length > 0 ? (await membersAmong(tx, ids)).map(toKey) : []);
  await addMembers(tx, members);
  if (!startAutomations) return;
  const distinct = new Map(members.map((one) => [toKey(one), one]));
  const at = store.clock.now();
  const batch = numberBatch(importId);
  const enrolments = [...distinct]
    .filter(([key]) => !before.has(key))
    .map(([, { segment_id: segmentId, contact_id: contactId }]): Enrolment => {
      const by = { type: 'contact.added_to_segment', segmentId } as const;
      return { teamId, contactId, by, payload: { segment_id: segmentId }, at, batch };
    });
  await enrol(tx, store.ids, enrolments);
}

/**
 * Starts automation runs for contacts that were created or updated: one per row, with the contact as it is after the
 * batch.
 */
async function beginRuns(
  store: Store,
  tx: Executor,
  { teamId, importId }: RowsToImport,
  { touched, starts }: { touched: readonly ContactRow[]; starts: PlannedRows['starts'] },
): Promise<void> {
  const at = store.clock.now();
  const data = await contactsData(tx, teamId, { rows: touched, now: at });
  const ids = new Map(touched.map(({ email_key: key, id }) => [key, id]));
  const batch = numberBatch(importId);
  const enrolments = starts.flatMap(({ emailKey, type }): Enrolment[] => {
    const contactId = ids.get(emailKey);
    return contactId === undefined
      ? []
      : [{ teamId, contactId, by: { type }, payload: data.get(contactId), at, batch }];
  });
  await enrol(tx, store.ids, enrolments);
}

/**
 * Returns the memberships and choices in the rows themselves, without segments and topics that were deleted since the
 * file was written.
 */
async function namedByRows(
  tx: Executor,
  teamId: string,
  touched: readonly ContactRow[],
  lists: PlannedRows['lists'],
): Promise<{ members: { segment_id: string; contact_id: string }[]; decisions: Decision[] }> {
  if (lists.size === 0) return { members: [], decisions: [] };
  const segments = new Set((await liveSegments(tx, teamId)).map(({ id }) => id));
  const topics = new Set((await liveTopics(tx, teamId)).map(({ id }) => id));
  const all = touched.flatMap((contact) => (lists.get(contact.email_key) ?? []).map((said) => ({ contact, said })));
  const members = all.flatMap(({ contact, said: { segment_ids: ids = [] } }) =>
    ids.filter((id) => segments.has(id)).map((id) => ({ segment_id: id, contact_id: contact.id })),
  );
  const decisions = all.flatMap(({ contact, said }) =>
    [
      ...(said.opted_in_topic_ids ?? []).map((id): Choice => ({ id, subscription: 'opt_in' })),
      ...(said.opted_out_topic_ids ?? []).map((id): Choice => ({ id, subscription: 'opt_out' })),
    ]
      .filter(({ id }) => topics.has(id))
      .map((choice) => ({ contact, choice })),
  );
  return { members, decisions };
}

/** Merges two rows with the same address; the later one takes precedence, but an opt-out in either stays. */
function merged(before: ReadRow, after: ReadRow): ReadRow {
  return {
    ...before,
    first_name: after.first_name ?? before.first_name,
    last_name: after.last_name ?? before.last_name,
    unsubscribed: after.unsubscribed === true || before.unsubscribed === true ? true : before.unsubscribed,
    values: { ...before.values, ...after.values },
  };
}

function buildContacts(
  store: Store,
  { teamId, importId }: RowsToImport,
  rows: PlannedRows['toCreate'],
  declared: readonly PropertyRow[],
): ContactRow[] {
  const slots = new Map(declared.map(({ key, slot }) => [key, slot]));
  return [...rows.values()].map((read) => ({ ...buildContact(store, teamId, read, slots), import_id: importId }));
}

function buildContact(store: Store, teamId: string, read: ReadRow, slots: ReadonlyMap<string, number>): ContactRow {
  const values: Record<string, ReadRow['values'][string]> = {};
  for (const key in read.values) {
    const slot = slots.get(key);
    const value = read.values[key];
    if (slot !== undefined && value !== undefined) values[slot] = value;
  }
  return newContact(store, teamId, {
    email: read.email,
    email_key: read.emailKey,
    first_name: read.first_name ?? null,
    last_name: read.last_name ?? null,
    unsubscribed: read.unsubscribed ?? false,
    values,
  });
}

async function createPlanned(
  store: Store,
  tx: Executor,
  contacts: readonly ContactRow[],
  declared: readonly PropertyRow[],
): Promise<ContactRow[]> {
  if (contacts.length === 0) return [];
  // Every transaction inserts in the same order, so that two imports of the same addresses cannot deadlock.
  const ordered = tx.dialect === 'pg' ? contacts.toSorted((a, b) => (a.email_key < b.email_key ? -1 : 1)) : contacts;
  if ((await insertContacts(tx, ordered)) < contacts.length) throw new ImportRaced();
  await addValues(
    tx,
    contacts.flatMap((row) =>
      row.properties === null ? [] : indexedValues(row.id, readPropertyValues(row), declared),
    ),
  );
  const left = contacts.filter((row) => row.unsubscribed === 1);
  await recordConsent(
    store,
    tx,
    { source: 'import', by: { kind: 'import', id: contacts[0]?.import_id ?? null } },
    left.map((contact) => ({ contact, action: 'unsubscribed' as const })),
  );
  // An import never subscribes a contact again, whatever its rows contain.
  return applyErasedOptOuts(store, tx, contacts, { hasConsent: false });
}

async function writeChanges(
  store: Store,
  tx: Executor,
  { importId }: RowsToImport,
  { changes, existing, declared }: PlannedRows & { declared: readonly PropertyRow[] },
): Promise<ContactRow[]> {
  const known = new Set(declared.map(({ key }) => key));
  const written: ContactRow[] = [];
  for (const [emailKey, reads] of changes) {
    let before = existing.get(emailKey);
    for (const read of reads) {
      if (!before) break;
      const properties = Object.fromEntries(Object.entries(read.values).filter(([key]) => known.has(key)));
      const change: ContactChange = { first_name: read.first_name, last_name: read.last_name, properties };
      // An import never subscribes a contact again.
      if (read.unsubscribed === true) change.unsubscribed = true;
      const by = { kind: 'import', id: importId };
      before = await writeChange(store, tx, { before, change, declared, source: 'import', by });
    }
    if (before) written.push(before);
  }
  return written;
}
