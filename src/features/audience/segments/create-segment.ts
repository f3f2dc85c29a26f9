import type { CreateSegmentRequest } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredFor } from './declared.ts';
import { checkedFilter } from './read-filter.ts';
import { insertSegment } from './segments.store.ts';

export async function createSegment({ store, teamId }: Ctx, { name, filter = null }: CreateSegmentRequest) {
  const id = store.ids.uuid();
  try {
    await store.db.tx(async (tx) => {
      if (filter !== null) checkedFilter(filter, await declaredFor(tx, teamId));
      const stored = filter === null ? null : JSON.stringify(filter);
      await insertSegment(tx, {
        id,
        team_id: teamId,
        name,
        filter: stored,
        lost_properties: null,
        created_at: store.clock.now(),
      });
    });
  } catch (error) {
    throw isUniqueViolation(error) ? segmentNameTaken(name) : error;
  }
  return { object: 'segment' as const, id, name };
}

export const segmentNameTaken = (name: string) =>
  refuse('invalid_parameter', {
    say: `name: there is a segment called ${JSON.stringify(name)} already; choose another.`,
  });
