import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { ReadRow } from '../../protocol/csv/index.ts';
import type { PropertyRow } from '../contact-properties/index.ts';
import { addMembers, liveSegments } from '../segments/index.ts';
import { liveTopics, type Choice } from '../topics/index.ts';
import { contactCount, countContacts, planOf } from '../usage/index.ts';
import { recordConsent } from './consent.store.ts';
import { findContactsByKeys, insertContacts, type ContactRow } from './contacts.store.ts';
import { newContact } from './new-contact.ts';
import { indexedValues, valuesOf } from './property-values.ts';
import { addValues } from './values.store.ts';
import { chooseTopics, decisionsFor, writeChange, type ContactChange, type Decision } from './write-change.ts';

export interface RowsToImport {
  teamId: string;
  rows: readonly { row: number; read: ReadRow }[];
  declared: readonly PropertyRow[];
  onConflict: 'upsert' | 'skip';
  segmentIds: readonly string[];
  topics: readonly Choice[];
}

export interface ImportedRows {
  created: number;
  updated: number;
  skipped: number;
  failures: { row: number; reason: string; value: string | null }[];
}

/** Somebody else made the same contact, or used up the plan, since the batch looked: it is done again. */
export class ImportRaced extends Error {}

/** Writes rows in the order in which they stand, so that of two with one address the first one creates. */
export async function importRows(store: Store, tx: Executor, batch: RowsToImport): Promise<ImportedRows> {
  const { teamId, rows } = batch;
  const keys = [...new Set(rows.map(({ read }) => read.emailKey))];
  const standing = new Map((await findContactsByKeys(tx, teamId, keys)).map((row) => [row.email_key, row]));
  const { contact_limit: limit } = await planOf(store, tx, teamId);
  const room = Math.max(0, limit - (await contactCount(tx, teamId)));
  const plan = planOfRows(store, batch, { standing, room, limit });
  await writeFresh(store, tx, batch, plan.fresh);
  const changed = await writeChanges(store, tx, batch, plan);
  const touched = [...plan.fresh, ...changed];
  const said = await saidByRows(tx, teamId, touched, plan.lists);
  const members = touched.flatMap(({ id }) =>
    batch.segmentIds.map((segment) => ({ segment_id: segment, contact_id: id })),
  );
  await addMembers(tx, [...members, ...said.members]);
  // What a row says of its contact goes before what the import says of all.
  await chooseTopics(store, tx, [...decisionsFor(touched, batch.topics), ...said.decisions], { source: 'import' });
  const { created, updated, skipped, failures } = plan;
  if (created > 0 && (await countContacts(tx, teamId, created)) > limit) throw new ImportRaced();
  return { created, updated, skipped, failures };
}

interface Plan extends ImportedRows {
  fresh: ContactRow[];
  /** By the address of a contact that stood before, what rows say of it, in their order. */
  changes: Map<string, ReadRow[]>;
  /** By address, what rows say of segments and topics. */
  lists: Map<string, NonNullable<ReadRow['lists']>[]>;
  standing: Map<string, ContactRow>;
}

function planOfRows(
  store: Store,
  { teamId, rows, declared, onConflict }: RowsToImport,
  { standing, room, limit }: { standing: Map<string, ContactRow>; room: number; limit: number },
): Plan {
  const plan: Plan = {
    created: 0,
    updated: 0,
    skipped: 0,
    failures: [],
    fresh: [],
    changes: new Map(),
    lists: new Map(),
    standing,
  };
  const slots = new Map(declared.map(({ key, slot }) => [key, slot]));
  const begun = new Map<string, ReadRow>();
  for (const { row, read } of rows) {
    const { emailKey } = read;
    const before = begun.get(emailKey);
    if (standing.has(emailKey) || before) {
      if (onConflict === 'skip') {
        plan.skipped++;
        continue;
      }
      plan.updated++;
      if (before) begun.set(emailKey, merged(before, read));
      else plan.changes.set(emailKey, [...(plan.changes.get(emailKey) ?? []), read]);
    } else if (plan.created < room) {
      plan.created++;
      begun.set(emailKey, read);
    } else {
      plan.failures.push({ row, reason: `the plan's limit of ${limit} contacts is reached`, value: read.email });
      continue;
    }
    if (read.lists) plan.lists.set(emailKey, [...(plan.lists.get(emailKey) ?? []), read.lists]);
  }
  plan.fresh = [...begun.values()].map((read) => contactOf(store, teamId, read, slots));
  return plan;
}

/** Memberships and choices that stand in the rows themselves, of what has not been deleted since they were written down. */
async function saidByRows(
  tx: Executor,
  teamId: string,
  touched: readonly ContactRow[],
  lists: Plan['lists'],
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

/** Of two rows with one address, what the later one says. */
function merged(before: ReadRow, after: ReadRow): ReadRow {
  return {
    ...before,
    first_name: after.first_name ?? before.first_name,
    last_name: after.last_name ?? before.last_name,
    unsubscribed: after.unsubscribed === true || before.unsubscribed === true ? true : before.unsubscribed,
    values: { ...before.values, ...after.values },
  };
}

function contactOf(store: Store, teamId: string, read: ReadRow, slots: ReadonlyMap<string, number>): ContactRow {
  const values: Record<string, ReadRow['values'][string]> = {};
  for (const key in read.values) {
    const [slot, value] = [slots.get(key), read.values[key]];
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

async function writeFresh(
  store: Store,
  tx: Executor,
  { declared }: RowsToImport,
  fresh: readonly ContactRow[],
): Promise<void> {
  if (fresh.length === 0) return;
  // In one order for everybody: two that import the same addresses would otherwise wait for each other for ever.
  const ordered = tx.dialect === 'pg' ? fresh.toSorted((a, b) => (a.email_key < b.email_key ? -1 : 1)) : fresh;
  if ((await insertContacts(tx, ordered)) < fresh.length) throw new ImportRaced();
  await addValues(
    tx,
    fresh.flatMap((row) => (row.properties === null ? [] : indexedValues(row.id, valuesOf(row), declared))),
  );
  const left = fresh.filter((row) => row.unsubscribed === 1);
  await recordConsent(
    store,
    tx,
    { source: 'import' },
    left.map((contact) => ({ contact, action: 'unsubscribed' as const })),
  );
}

async function writeChanges(
  store: Store,
  tx: Executor,
  { declared }: RowsToImport,
  { changes, standing }: Plan,
): Promise<ContactRow[]> {
  const known = new Set(declared.map(({ key }) => key));
  const written: ContactRow[] = [];
  for (const [emailKey, reads] of changes) {
    let before = standing.get(emailKey);
    for (const read of reads) {
      if (!before) break;
      const properties = Object.fromEntries(Object.entries(read.values).filter(([key]) => known.has(key)));
      const change: ContactChange = { first_name: read.first_name, last_name: read.last_name, properties };
      // An import never subscribes anybody again.
      if (read.unsubscribed === true) change.unsubscribed = true;
      before = await writeChange(store, tx, { before, change, declared, source: 'import' });
    }
    if (before) written.push(before);
  }
  return written;
}
