import { listPropertyKeys } from '../../../protocol/contact-filter/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { getContactProperty } from '../../audience/contact-properties/index.ts';
import { liveSegments } from '../../audience/segments/index.ts';
import { broadcastsWaitingOn } from './broadcasts.store.ts';

/** Lists the segments whose filter names a property, and their broadcasts that are waiting or being sent. */
export async function listPropertyUsers(ctx: Ctx, propertyId: string) {
  const { store, teamId } = ctx;
  const { key } = await getContactProperty(ctx, propertyId);
  const naming = (await liveSegments(store.db, teamId)).filter(
    ({ filter }) => filter !== null && listPropertyKeys(JSON.parse(filter)).has(key),
  );
  const ids = naming.map(({ id }) => id);
  return {
    key,
    segments: naming.map(({ id, name }) => ({ id, name })),
    broadcasts: ids.length === 0 ? [] : await broadcastsWaitingOn(store.db, teamId, ids),
  };
}
