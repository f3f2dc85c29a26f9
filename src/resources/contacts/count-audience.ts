import type { Ctx } from '../access/index.ts';
import { checkedFilter, declaredFor, filterOf } from '../segments/index.ts';
import { countAudience } from './audience.store.ts';
import { segmentNamed } from './find-contact.ts';

export async function getSegmentMetrics({ store, teamId }: Ctx, id: string) {
  const segment = await segmentNamed(store.db, teamId, id);
  const filter = await filterOf(store.db, segment, await declaredFor(store.db, teamId));
  const { contacts, unsubscribed } = await countAudience(store.db, teamId, filter);
  const subscribed = contacts - unsubscribed;
  return { object: 'segment_metrics' as const, segment_id: id, contacts, subscribed, unsubscribed };
}

/** Stores nothing. */
export async function countFilter({ store, teamId }: Ctx, input: unknown) {
  const filter = checkedFilter(input, await declaredFor(store.db, teamId));
  const { contacts } = await countAudience(store.db, teamId, filter);
  return { object: 'segment_preview' as const, contacts };
}
