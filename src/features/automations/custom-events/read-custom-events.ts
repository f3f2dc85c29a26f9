import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findCustomEvent, listCustomEventRows, type CustomEventRow } from './custom-events.store.ts';
import { readSchema } from './payload.ts';

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
  ...{ id, name, schema: readSchema(schema) },
  ...{ created_at: isoTime(created), updated_at: isoTime(updated) },
});
