import type { QueryOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findSegment, listSegmentRows, type ListedSegment } from './segments.store.ts';

export async function getSegment({ store, teamId }: Ctx, id: string) {
  const row = await findSegment(store.db, teamId, id);
  if (!row) throw notFound('Segment');
  const filter = row.filter === null ? null : (JSON.parse(row.filter) as Record<string, unknown>);
  return { object: 'segment' as const, ...presentSegment(row), filter };
}

export async function listSegments({ store, teamId }: Ctx, { search }: QueryOf<'listSegments'>, page: Page) {
  const { rows, hasMore } = await listSegmentRows(store.db, teamId, search, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentSegment) };
}

export const presentSegment = ({ id, name, created_at }: ListedSegment) => ({
  id,
  name,
  created_at: isoTime(created_at),
});
