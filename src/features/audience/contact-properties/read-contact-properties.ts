import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findProperty, listPropertyRows, type PropertyRow } from './contact-properties.store.ts';

export async function getContactProperty({ store, teamId }: Ctx, id: string) {
  const row = await findProperty(store.db, teamId, id);
  if (!row) throw notFound('Contact property');
  return { object: 'contact_property' as const, ...present(row) };
}

export async function listContactProperties({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listPropertyRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

function present({ id, key, type, fallback_value: fallback, created_at: at }: PropertyRow) {
  const value = fallback === null ? null : (JSON.parse(fallback) as string | number);
  return { id, key, type, fallback_value: value, created_at: isoTime(at) };
}
