import type { BodyOf } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findCustomEvent,
  insertCustomEvent,
  markCustomEventDeleted,
  setPayloadSchema,
  type CustomEventRow,
} from './custom-events.store.ts';
import { writeSchema } from './payload.ts';

/** How the names of the platform's own events begin. */
export const RESERVED_PREFIX = 'rasket:';

export async function createCustomEvent({ store, teamId }: Ctx, { name, schema = null }: BodyOf<'createEvent'>) {
  if (name.startsWith(RESERVED_PREFIX)) {
    throw refused(`name: names that begin with ${RESERVED_PREFIX} are the platform's; choose another.`);
  }
  const now = store.clock.now();
  const row: CustomEventRow = {
    ...{ id: store.ids.uuid(), team_id: teamId, name, payload_schema: writeSchema(schema) },
    ...{ created_at: now, updated_at: now },
  };
  try {
    await store.db.tx((tx) => insertCustomEvent(tx, row));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refused(`name: there is an event called ${JSON.stringify(name)} already; choose another.`);
  }
  return { object: 'event' as const, id: row.id };
}

/** The schema is replaced as a whole; the name is fixed. */
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

const refused = (say: string) =>
  refuse('validation_error', { status: 422, say, errors: [{ path: 'name', message: say }] });
