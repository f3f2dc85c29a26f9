import { isUniqueViolation } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { segmentNameTaken } from './create-segment.ts';
import { renameSegment } from './segments.store.ts';

export async function updateSegment({ store, teamId }: Ctx, id: string, { name }: { name: string }) {
  try {
    if (!(await store.db.tx((tx) => renameSegment(tx, teamId, id, name)))) throw notFound('Segment');
  } catch (error) {
    throw isUniqueViolation(error) ? segmentNameTaken(name) : error;
  }
  return { object: 'segment' as const, id };
}
