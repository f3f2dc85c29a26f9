import type { BodyOf } from '../../contract/index.ts';
import { isUniqueViolation, type Page } from '../../platform/db/index.ts';
import { notFound, refuse, type FieldFault } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  findCustomEvent,
  insertCustomEvent,
  markCustomEventDeleted,
  setPayloadSchema,
  listCustomEventRows,
  findCustomEventNamed,
  type CustomEventRow,
} from './custom-events.store.ts';
import { isoTime } from '../../platform/clock.ts';
import { enrol } from '../../mail/events/index.ts';
import { contactNamed, countCustomEvent } from '../audience/index.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';

type ValueType = 'string' | 'number' | 'boolean' | 'date';
type PayloadSchema = Readonly<Record<string, ValueType>>;

const PAYLOAD_BYTES_MAX = 16 * 1024;
const KEY_CHARS_SHOWN = 60;

const writeSchema = (schema: PayloadSchema | null): string | null => (schema === null ? null : JSON.stringify(schema));

const readSchema = (stored: string | null): PayloadSchema | null =>
  stored === null ? null : (JSON.parse(stored) as PayloadSchema);

/** Checks that a payload is small and, if its event declares keys, has no others and values of their types. */
function mustBePayload(payload: Readonly<Record<string, unknown>>, stored: string | null): void {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > PAYLOAD_BYTES_MAX) {
    throw refusePayload([
      { path: 'payload', message: `payload may have at most ${PAYLOAD_BYTES_MAX} bytes of JSON; got ${bytes}.` },
    ]);
  }
  const schema = readSchema(stored);
  if (schema === null) return;
  const faults = Object.entries(payload).flatMap(([key, value]) => {
    const says = Object.hasOwn(schema, key) ? typeFault(schema[key], value) : unknownKey(schema);
    const path = `payload.${key.length > KEY_CHARS_SHOWN ? `${key.slice(0, KEY_CHARS_SHOWN)}…` : key}`;
    return says === undefined ? [] : [{ path, message: `${path} ${says}` }];
  });
  if (faults.length > 0) throw refusePayload(faults);
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
  await store.db.tx(async (tx) => {
    const event = await findCustomEventNamed(tx, teamId, name);
    if (!event) throw notFound('Event');
    mustBePayload(payload ?? {}, event.payload_schema);
    // Locks the contact: if it were erased meanwhile, its run would be left over.
    const { id: contactId } = await contactNamed(tx, teamId, contact, true);
    const at = store.clock.now();
    await countCustomEvent(tx, { eventId: event.id, contactId, at });
    await enrol(tx, store.ids, [{ teamId, contactId, by: { eventId: event.id }, payload, at }]);
  });
  return { object: 'event' as const, event: name };
}

function readNamedContact({ contact_id: id, email }: BodyOf<'sendEvent'>): string {
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
