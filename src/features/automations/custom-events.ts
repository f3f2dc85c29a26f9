import type { AnswerOf, BodyOf } from '../../contract/index.ts';
import { isUniqueViolation, type Executor, type Page } from '../../platform/db/index.ts';
import { notFound, refuse, Refusal, type FieldFault } from '../../platform/refusal.ts';
import { findRefusal, refuseBatch, toBatchError, type Ctx, type RefusedItem } from '../../tenancy/access/index.ts';
import {
  findCustomEvent,
  insertCustomEvent,
  markCustomEventDeleted,
  setPayloadSchema,
  listCustomEventRows,
  findCustomEventNamed,
  findCustomEventsNamed,
  type CustomEventRow,
} from './custom-events.store.ts';
import { isoTime } from '../../platform/clock.ts';
import { enrol, listStartingAtEvent, recordRefusals, type Enrolment } from '../../mail/events/index.ts';
import { contactNamed, countCustomEvents, lockContacts, readContactName, recordHistory } from '../audience/index.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';

type ValueType = 'string' | 'number' | 'boolean' | 'date';
type PayloadSchema = Readonly<Record<string, ValueType>>;

const PAYLOAD_BYTES_MAX = 16 * 1024;
const HISTORY_PAYLOAD_BYTES_MAX = 4096;
const KEY_CHARS_SHOWN = 60;

const writeSchema = (schema: PayloadSchema | null): string | null => (schema === null ? null : JSON.stringify(schema));

const readSchema = (stored: string | null): PayloadSchema | null =>
  stored === null ? null : (JSON.parse(stored) as PayloadSchema);

/**
 * Checks that a payload is small and, if its event declares keys, has no others and values of their types. Returns the
 * refusal of one that is not.
 */
export function findPayloadFault(
  payload: Readonly<Record<string, unknown>>,
  stored: string | null,
): Refusal | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > PAYLOAD_BYTES_MAX) {
    return refusePayload([
      { path: 'payload', message: `payload may have at most ${PAYLOAD_BYTES_MAX} bytes of JSON; got ${bytes}.` },
    ]);
  }
  const schema = readSchema(stored);
  if (schema === null) return undefined;
  const faults = Object.entries(payload).flatMap(([key, value]) => {
    const says = Object.hasOwn(schema, key) ? typeFault(schema[key], value) : unknownKey(schema);
    const path = `payload.${key.length > KEY_CHARS_SHOWN ? `${key.slice(0, KEY_CHARS_SHOWN)}…` : key}`;
    return says === undefined ? [] : [{ path, message: `${path} ${says}` }];
  });
  return faults.length > 0 ? refusePayload(faults) : undefined;
}

function typeFault(type: ValueType | undefined, value: unknown): string | undefined {
  if (type === 'date') {
    const isDate = typeof value === 'string' && parseIsoTime(value) !== undefined;
    return isDate ? undefined : 'must be an ISO 8601 date or time, as the schema of the event requires.';
  }
  return typeof value === type ? undefined : `must be a ${type}, as the schema of the event requires.`;
}

function unknownKey(schema: PayloadSchema): string {
  const keys = Object.keys(schema);
  const known = keys.length === 0 ? 'it declares none' : `declared are ${keys.slice(0, 10).join(', ')}`;
  return `is not in the schema of the event; ${known}${keys.length > 10 ? ` and ${keys.length - 10} more` : ''}.`;
}

function refusePayload(errors: FieldFault[]) {
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return refuse('validation_error', { status: 422, say: `${errors[0]?.message}${more}`, errors });
}

/** Prefix of the names of the platform's own events. */
export const RESERVED_PREFIX = 'rasket:';

export async function createCustomEvent({ store, teamId }: Ctx, { name, schema = null }: BodyOf<'createEvent'>) {
  if (name.startsWith(RESERVED_PREFIX)) {
    throw refuseName(
      `name: names that begin with ${RESERVED_PREFIX} are reserved for the platform; choose another name.`,
    );
  }
  const now = store.clock.now();
  const row: CustomEventRow = {
    id: store.ids.uuid(),
    team_id: teamId,
    name,
    payload_schema: writeSchema(schema),
    created_at: now,
    updated_at: now,
  };
  try {
    await store.db.tx((tx) => insertCustomEvent(tx, row));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refuseName(`name: an event named ${JSON.stringify(name)} already exists; choose another name.`);
  }
  return { object: 'event' as const, id: row.id };
}

/** Replaces the schema as a whole; the name is fixed. */
export async function updateCustomEvent({ store, teamId }: Ctx, name: string, { schema }: BodyOf<'updateEvent'>) {
  const id = await store.db.tx(async (tx) => {
    const row = await findCustomEvent(tx, teamId, name);
    const change = { schema: writeSchema(schema), at: store.clock.now() };
    return row && (await setPayloadSchema(tx, row.id, change)) ? row.id : undefined;
  });
  if (id === undefined) throw notFound('Event');
  return { object: 'event' as const, id };
}

export async function deleteCustomEvent({ store, teamId }: Ctx, name: string) {
  const id = await store.db.tx(async (tx) => {
    const row = await findCustomEvent(tx, teamId, name);
    return row && (await markCustomEventDeleted(tx, row.id, store.clock.now())) ? row.id : undefined;
  });
  if (id === undefined) throw notFound('Event');
  return { object: 'event' as const, id, deleted: true as const };
}

const refuseName = (say: string) =>
  refuse('validation_error', { status: 422, say, errors: [{ path: 'name', message: say }] });

/** Sends an event. When it returns, each automation that starts at it has a run for the contact. */
export async function sendCustomEvent({ store, teamId }: Ctx, input: BodyOf<'sendEvent'>) {
  const { event: name, payload } = input;
  const contact = readNamedContact(input);
  const at = store.clock.now();
  const refusal = await store.db.tx(async (tx) => {
    const event = await findCustomEventNamed(tx, teamId, name);
    if (!event) throw notFound('Event');
    const refused = findPayloadFault(payload ?? {}, event.payload_schema);
    if (refused) {
      await recordRefusedPayload(tx, { event, contact, at, detail: `The event was refused: ${refused.message}` });
      return refused;
    }
    // Locks the contact: if it were erased meanwhile, its run would be left over.
    const { id: contactId } = await contactNamed(tx, teamId, contact, true);
    await countCustomEvents(tx, [{ eventId: event.id, contactId, at }]);
    await recordHistory(tx, 'event', [
      { contactId, id: store.ids.uuid(), teamId, data: { name, payload: keepPayload(payload) } },
    ]);
    await enrol(tx, store.ids, [{ teamId, contactId, by: { eventId: event.id }, payload, at }]);
    return undefined;
  });
  if (refusal) throw refusal;
  return { object: 'event' as const, event: name };
}

/** Returns the payload for the history of the contact, which keeps no large ones. */
const keepPayload = (payload: object | undefined): object | null =>
  payload !== undefined && Buffer.byteLength(JSON.stringify(payload)) <= HISTORY_PAYLOAD_BYTES_MAX ? payload : null;

/** Records for each automation that the event would have started why it started none. A contact that is unknown has no record. */
async function recordRefusedPayload(
  tx: Executor,
  { event, contact, at, detail }: { event: CustomEventRow; contact: string; at: number; detail: string },
): Promise<void> {
  const automations = await listStartingAtEvent(tx, event.team_id, event.id);
  if (automations.length === 0) return;
  try {
    const { id: contactId } = await contactNamed(tx, event.team_id, contact, true);
    const reason = 'payload' as const;
    await recordRefusals(
      tx,
      automations.map((automationId) => ({ automationId, contactId, reason, at, detail })),
    );
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

interface BatchOptions {
  /** Items that break the contract, which `inputs` has gaps for. */
  refused: readonly RefusedItem[];
  /** False if one refused item refuses all. */
  isPermissive: boolean;
  /** Stores the response in the transaction. */
  keep(tx: Executor, answer: unknown): Promise<void>;
}

/** Sends many events, as `sendCustomEvent` does with each, in one transaction. */
export function sendCustomEvents(
  { store, teamId }: Ctx,
  inputs: readonly (BodyOf<'sendEvent'> | undefined)[],
  { refused: before, isPermissive, keep }: BatchOptions,
): Promise<AnswerOf<'sendEventBatch'>> {
  return store.db.tx(async (tx) => {
    const { accepted, refused } = await readEvents(tx, teamId, inputs);
    const [first, ...others] = [...before, ...refused].sort((a, b) => a.index - b.index);
    if (first && !isPermissive) throw refuseBatch('Event', [first, ...others]);
    const at = store.clock.now();
    const enrolments = accepted.map(({ contactId, eventId, input: { payload } }): Enrolment => {
      return { teamId, contactId, by: { eventId }, payload, at };
    });
    await countCustomEvents(
      tx,
      accepted.map(({ contactId, eventId }) => ({ contactId, eventId, at })),
    );
    const history = accepted.map(({ contactId, input: { event: name, payload } }) => {
      return { contactId, id: store.ids.uuid(), teamId, data: { name, payload: keepPayload(payload) } };
    });
    await recordHistory(tx, 'event', history);
    await enrol(tx, store.ids, enrolments);
    const data = accepted.map(({ index, input }) => ({ index, event: input.event }));
    const errors = first ? [first, ...others].map(toBatchError) : [];
    const answer = isPermissive ? { data, errors } : { data };
    await keep(tx, answer);
    return answer;
  });
}

interface AcceptedEvent {
  index: number;
  input: BodyOf<'sendEvent'>;
  eventId: string;
  contactId: string;
}

/** Finds what the events name, with as many statements as for one, locks their contacts, and refuses those at fault. */
async function readEvents(
  tx: Executor,
  teamId: string,
  inputs: readonly (BodyOf<'sendEvent'> | undefined)[],
): Promise<{ accepted: AcceptedEvent[]; refused: RefusedItem[] }> {
  const names = new Set(inputs.flatMap((input) => input?.event ?? []));
  const events = new Map((await findCustomEventsNamed(tx, teamId, [...names])).map((row) => [row.name, row]));
  const refused: RefusedItem[] = [];
  const named = inputs.flatMap((input, index) => {
    let contact: ReturnType<typeof readContactName> | undefined;
    const refusal =
      input &&
      findRefusal(() => {
        contact = readContactName(readNamedContact(input));
        mustBeSendable(events.get(input.event), input);
      });
    if (refusal) refused.push({ index, refusal });
    return input && contact && !refusal ? [{ index, input, contact }] : [];
  });
  const contacts = await lockContacts(tx, teamId, {
    ids: named.flatMap(({ contact }) => ('id' in contact ? [contact.id] : [])),
    emailKeys: named.flatMap(({ contact }) => ('emailKey' in contact ? [contact.emailKey] : [])),
  });
  const ids = new Set(contacts.map(({ id }) => id));
  const byAddress = new Map(contacts.map((row) => [row.email_key, row.id]));
  const accepted = named.flatMap(({ index, input, contact }): AcceptedEvent[] => {
    const found = 'id' in contact ? (ids.has(contact.id) ? contact.id : undefined) : byAddress.get(contact.emailKey);
    const eventId = events.get(input.event)?.id;
    if (found !== undefined && eventId !== undefined) return [{ index, input, eventId, contactId: found }];
    refused.push({ index, refusal: fieldNotFound('Contact', input.contact_id === undefined ? 'email' : 'contact_id') });
    return [];
  });
  return { accepted, refused };
}

function mustBeSendable(event: CustomEventRow | undefined, { payload }: BodyOf<'sendEvent'>): void {
  if (!event) throw fieldNotFound('Event', 'event');
  const fault = findPayloadFault(payload ?? {}, event.payload_schema);
  if (fault) throw fault;
}

const fieldNotFound = (what: string, path: string): Refusal => {
  const say = `${what} not found.`;
  return refuse('not_found', { say, errors: [{ path, message: say }] });
};

/** Returns the id or the address of the contact that a body names; throws if it names none or both. */
export function readNamedContact({ contact_id: id, email }: Pick<BodyOf<'sendEvent'>, 'contact_id' | 'email'>): string {
  if (id !== undefined && email !== undefined) {
    const say = 'contact_id and email cannot be used together; send only one of them.';
    throw refuse('validation_error', { status: 422, say, errors: [{ path: 'email', message: say }] });
  }
  const named = id ?? email;
  if (named === undefined) {
    throw refuse('missing_required_field', {
      say: 'Missing required field: contact_id or email. Send one of them.',
    });
  }
  return named;
}

export async function getCustomEvent({ store, teamId }: Ctx, name: string) {
  const row = await findCustomEvent(store.db, teamId, name);
  if (!row) throw notFound('Event');
  return { object: 'event' as const, ...present(row) };
}

export async function listCustomEvents({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listCustomEventRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

const present = ({ id, name, payload_schema: schema, created_at: created, updated_at: updated }: CustomEventRow) => ({
  id,
  name,
  schema: readSchema(schema),
  created_at: isoTime(created),
  updated_at: isoTime(updated),
});
