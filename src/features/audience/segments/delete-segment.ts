import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { markSegmentDeleted } from './segments.store.ts';

export async function deleteSegment({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx((tx) => markSegmentDeleted(tx, teamId, id, store.clock.now()));
  if (!isDone) throw notFound('Segment');
  return { object: 'segment' as const, id, deleted: true as const };
}
