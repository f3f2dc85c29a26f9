import type { CreateContactBatch, CreateContactRequest } from '../../../contract/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { findRefusal, refuseBatch, toBatchError, type Ctx, type RefusedItem } from '../../../tenancy/access/index.ts';
import { addToContactCount, contactCount, loadPlan } from '../../../tenancy/usage/index.ts';
import { chooseBatch } from '../../../mail/events/index.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { findKnownSegments, pickSegmentIds, type NamedSegment } from '../segments/segments.ts';
import { liveTopics, type TopicRow } from '../topics/topics.store.ts';
import { readChoices, type Choice } from '../topics/topics.ts';
import { applyErasedOptOuts, chooseAllByApi, readDecider, withoutTopicsLeft } from './consent.ts';
import { recordConsent, type Decider } from './consent.store.ts';
import { findContactsByKeys, insertContacts, type ContactRow } from './contacts.store.ts';
import { indexedValues, mergeValues, readEmail, readPropertyValues, segmentNamed } from './find-contact.ts';
import { joinAll } from './segment-members.ts';
import { decisionsFor, newContact, recordContactEvents, writeChanges } from './write-contact.ts';
import { addValues } from './values.store.ts';

export const createContact = (ctx: Ctx, input: CreateContactRequest) => createOne(ctx, input, undefined);

export const createAudienceContact = (ctx: Ctx, segment: string, input: CreateContactRequest) =>
  createOne(ctx, input, segment);

async function createOne({ store, teamId, actor }: Ctx, input: CreateContactRequest, segment: string | undefined) {
  const id = await inTransaction(store, async (tx) => {
    if (segment !== undefined) await segmentNamed(tx, teamId, segment);
    const segments = segment === undefined ? input.segments : [segment];
    const read = await readItems(store, tx, teamId, [{ ...input, ...(segments ? { segments } : {}) }]);
    const plan = await planItems(store, tx, teamId, { ...read, by: readDecider(actor) });
    for (const { refusal } of plan.refused) throw refusal;
    const [written] = await writePlanned(store, tx, teamId, plan);
    if (!written) throw new Error('contact row missing after insert');
    return written.row.id;
  });
  return { object: 'contact' as const, id };
}

interface BatchOptions {
  /** Items that break the contract, which `inputs` has gaps for. */
  refused: readonly RefusedItem[];
  /** False if one refused item refuses all. */
  isPermissive: boolean;
  /** Stores the response in the transaction. */
  keep(tx: Executor, answer: unknown): Promise<void>;
}

/** Creates or updates many contacts, as `createContact` does with each, in one transaction. */
export function createContactBatch(
  { store, teamId, actor }: Ctx,
  inputs: readonly (CreateContactRequest | undefined)[],
  { refused: malformed, isPermissive, keep }: BatchOptions,
): Promise<CreateContactBatch> {
  return inTransaction(store, async (tx) => {
    const read = await readItems(store, tx, teamId, inputs);
    const batch = chooseBatch(store.ids, read.wanted.length);
    const plan = await planItems(store, tx, teamId, { ...read, by: readDecider(actor), batch });
    const [first, ...others] = [...malformed, ...plan.refused].sort((a, b) => a.index - b.index);
    if (first && !isPermissive) throw refuseBatch('Contact', [first, ...others]);
    const written = await writePlanned(store, tx, teamId, plan);
    const data = written.map(({ index, row, before }) => ({
      index,
      id: row.id,
      status: before ? ('updated' as const) : ('created' as const),
    }));
    const errors = first ? [first, ...others].map(toBatchError) : [];
    const answer: CreateContactBatch = isPermissive ? { data, errors } : { data };
    await keep(tx, answer);
    return answer;
  });
}

/** Another request created one of the contacts, or used up the plan, after they were read: they are written again. */
class Raced extends Error {}

const RACES_MAX = 5;

async function inTransaction<T>(store: Store, work: (tx: Executor) => Promise<T>): Promise<T> {
  for (let race = 1; ; race++) {
    try {
      return await store.db.tx(work);
    } catch (error) {
      if (!(error instanceof Raced) || race >= RACES_MAX) throw error;
    }
  }
}

interface Wanted {
  /** Position in the request. */
  index: number;
  input: CreateContactRequest;
  /** The contact as it is if there is none with its address. */
  fresh: ContactRow;
  segmentIds: string[];
  choices: Choice[];
}

interface Known {
  declared: readonly PropertyRow[];
  live: readonly TopicRow[];
  /** The caller, who decides for the contacts. */
  by: Decider;
  /** The batch of the automation runs that the items start, if they are many. */
  batch?: number | undefined;
}

interface ReadItems {
  declared: readonly PropertyRow[];
  live: readonly TopicRow[];
  wanted: Wanted[];
  refused: RefusedItem[];
}

/** Reads the items, with as many statements as for one. Refuses those at fault, and those that repeat an address. */
async function readItems(
  store: Store,
  tx: Executor,
  teamId: string,
  inputs: readonly (CreateContactRequest | undefined)[],
): Promise<ReadItems> {
  const declared = await declaredProperties(tx, teamId);
  const live = inputs.some((input) => input?.topics) ? await liveTopics(tx, teamId) : [];
  const named = inputs.flatMap((input): readonly NamedSegment[] => input?.segments ?? []);
  const known = await findKnownSegments(tx, teamId, named);
  const places = new Map<string, number>();
  const read: ReadItems = { wanted: [], refused: [], declared, live };
  for (const [index, input] of inputs.entries()) {
    if (!input) continue;
    const refusal = findRefusal(() => {
      const fresh = buildContact(store, teamId, input, declared);
      const segmentIds = pickSegmentIds(input.segments ?? [], known);
      const choices = readChoices(input.topics ?? [], live);
      const earlier = places.get(fresh.email_key);
      if (earlier !== undefined) throw repeated(earlier);
      places.set(fresh.email_key, index);
      read.wanted.push({ index, input, fresh, segmentIds, choices });
    });
    if (refusal) read.refused.push({ index, refusal });
  }
  return read;
}

function repeated(index: number): Refusal {
  const message = `email is the address of item ${index} too; send each address once in a batch.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'email', message }] });
}

function buildContact(
  store: Store,
  teamId: string,
  input: CreateContactRequest,
  declared: readonly PropertyRow[],
): ContactRow {
  return newContact(store, teamId, {
    email: readEmail(input.email),
    first_name: input.first_name ?? null,
    last_name: input.last_name ?? null,
    unsubscribed: input.unsubscribed ?? false,
    values: mergeValues({}, input.properties ?? {}, declared),
  });
}

interface PlannedItem extends Wanted {
  /** The contact with the address of the item; undefined if the item creates it. */
  before: ContactRow | undefined;
}

interface PlannedItems extends Known {
  items: PlannedItem[];
  created: number;
  refused: RefusedItem[];
  limit: number;
}

/** Decides which items create a contact and which update one, and refuses new contacts beyond the plan of the team. */
async function planItems(store: Store, tx: Executor, teamId: string, read: ReadItems & Known): Promise<PlannedItems> {
  const keys = read.wanted.map(({ fresh }) => fresh.email_key);
  const existing = new Map((await findContactsByKeys(tx, teamId, keys)).map((row) => [row.email_key, row]));
  const { contact_limit: limit } = await loadPlan(store, tx, teamId);
  const room = existing.size < keys.length ? limit - (await contactCount(tx, teamId)) : 0;
  const plan: PlannedItems = { ...read, items: [], created: 0, refused: [...read.refused], limit };
  for (const item of read.wanted) {
    const before = existing.get(item.fresh.email_key);
    if (!before && plan.created >= room) {
      plan.refused.push({ index: item.index, refusal: beyondPlan(limit) });
      continue;
    }
    plan.items.push({ ...item, before });
    if (!before) plan.created++;
  }
  return plan;
}

const beyondPlan = (limit: number): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: `The plan's limit of ${limit} contacts is reached; delete some or choose a larger plan.`,
  });

interface WrittenItem extends PlannedItem {
  row: ContactRow;
}

/** Few enough that writing them takes a few milliseconds, and many enough for statements that write many. */
const ITEMS_A_TURN = 200;

/** Runs `work` on some items after the other, and lets other requests run in between. */
async function inTurns<Item>(items: readonly Item[], work: (some: readonly Item[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += ITEMS_A_TURN) {
    if (from > 0) await nextTurn();
    await work(items.slice(from, from + ITEMS_A_TURN));
  }
}

/** Writes the items in the order of the request, and returns them in this order. */
async function writePlanned(store: Store, tx: Executor, teamId: string, plan: PlannedItems): Promise<WrittenItem[]> {
  const fresh = plan.items.filter(({ before }) => !before).map((item) => item.fresh);
  // Every transaction inserts in the same order, so that two of them with the same addresses cannot deadlock.
  const ordered = tx.dialect === 'pg' ? fresh.toSorted((a, b) => (a.email_key < b.email_key ? -1 : 1)) : fresh;
  await inTurns(ordered, async (some) => {
    if ((await insertContacts(tx, some)) < some.length) throw new Raced();
  });
  const written: WrittenItem[] = [];
  await inTurns(plan.items, async (some) => void written.push(...(await writeItems(store, tx, some, plan))));
  if (fresh.length > 0 && (await addToContactCount(tx, teamId, fresh.length)) > plan.limit) throw new Raced();
  return written;
}

/** Writes what follows from new contacts, and changes the others, with as many statements as for a few. */
async function writeItems(
  store: Store,
  tx: Executor,
  items: readonly PlannedItem[],
  { declared, live, by, batch }: Known,
): Promise<WrittenItem[]> {
  const begun = await beginContacts(store, tx, items, { declared, by });
  const changed = await changeContacts(store, tx, items, { declared, by });
  const rows = new Map([...begun, ...changed].map((row) => [row.id, row]));
  const written = items.map((item) => ({ ...item, row: rows.get((item.before ?? item.fresh).id) ?? item.fresh }));
  const joining = written.map(({ row, segmentIds }) => ({ contact: row, segmentIds }));
  await joinAll(store, tx, joining, batch);
  await chooseAllByApi(store, tx, await listChoosing(tx, written, live), { live, by, batch });
  const events = written.map(({ row, before }) => {
    return { type: before ? ('contact.updated' as const) : ('contact.created' as const), row };
  });
  await recordContactEvents(store, tx, events, { batch });
  return written;
}

/**
 * Returns the contacts with what they choose. A contact that existed is not opted in again to a topic that it has left
 * itself, unless the topic asks it to confirm.
 */
async function listChoosing(
  tx: Executor,
  written: readonly WrittenItem[],
  live: readonly TopicRow[],
): Promise<{ contact: ContactRow; choices: Choice[] }[]> {
  const asking = new Set(live.filter(({ confirmation }) => confirmation === 'required').map(({ id }) => id));
  const known = written.filter(({ before }) => before);
  const wanted = known.flatMap(({ row, choices }) => decisionsFor([row], choices));
  const kept = new Set((await withoutTopicsLeft(tx, wanted)).map(({ choice }) => choice));
  return written.map(({ row, before, choices }) => ({
    contact: row,
    choices: before ? choices.filter((choice) => kept.has(choice) || asking.has(choice.id)) : choices,
  }));
}

/** Writes the index, the consent and the earlier opt-outs of contacts that were just inserted. */
async function beginContacts(
  store: Store,
  tx: Executor,
  items: readonly PlannedItem[],
  { declared, by }: Pick<Known, 'declared' | 'by'>,
): Promise<ContactRow[]> {
  const fresh = items.filter(({ before }) => !before);
  const rows = fresh.map((item) => item.fresh);
  await addValues(
    tx,
    rows.flatMap((row) => indexedValues(row.id, readPropertyValues(row), declared)),
  );
  const left = rows.filter((row) => row.unsubscribed === 1);
  const decisions = left.map((contact) => ({ contact, action: 'unsubscribed' as const }));
  await recordConsent(store, tx, { source: 'api', by }, decisions);
  const begun: ContactRow[] = [];
  for (const hasConsent of [true, false]) {
    const some = fresh.filter(({ input }) => (input.unsubscribed === false) === hasConsent);
    const contacts = some.map((item) => item.fresh);
    begun.push(...(await applyErasedOptOuts(store, tx, contacts, { hasConsent, by })));
  }
  return begun;
}

/** Changes the contacts that exist. An address that already has a contact is never subscribed again. */
function changeContacts(
  store: Store,
  tx: Executor,
  items: readonly PlannedItem[],
  { declared, by }: Pick<Known, 'declared' | 'by'>,
): Promise<ContactRow[]> {
  const changes = items.flatMap(({ before, input }) => {
    const { first_name, last_name, properties, unsubscribed } = input;
    const change = { first_name, last_name, properties, ...(unsubscribed === true ? { unsubscribed } : {}) };
    return before ? [{ before, change }] : [];
  });
  return writeChanges(store, tx, changes, { declared, origin: { source: 'api', by } });
}

/** Counts a new contact. Throws if it exceeds the limit of the plan. */
export async function mustHaveRoom(store: Store, tx: Executor, teamId: string): Promise<void> {
  const { contact_limit: limit } = await loadPlan(store, tx, teamId);
  if ((await addToContactCount(tx, teamId, 1)) <= limit) return;
  throw beyondPlan(limit);
}
