import type { QueryOf } from '../../../contract/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { checkedFilter, declaredFor, filterOf, filtersOf, listSegments, liveSegments } from '../segments/index.ts';
import { countAudience, countAudiences } from './audience.store.ts';
import { segmentNamed } from './find-contact.ts';

export async function getSegmentMetrics({ store, teamId }: Ctx, id: string) {
  const segment = await segmentNamed(store.db, teamId, id);
  const filter = await filterOf(store.db, segment, await declaredFor(store.db, teamId));
  const { contacts, unsubscribed } = await countAudience(store.db, teamId, filter);
  const subscribed = contacts - unsubscribed;
  return { object: 'segment_metrics' as const, segment_id: id, contacts, subscribed, unsubscribed };
}

/** A page of segments, each with who is in it where that is asked for. */
export async function listSegmentsWith(ctx: Ctx, query: QueryOf<'listSegments'>, page: Page) {
  const list = await listSegments(ctx, query, page);
  if (query.include !== 'counts') return list;
  const { db } = ctx.store;
  const ids = list.data.map(({ id }) => id);
  const segments = await liveSegments(db, ctx.teamId, ids);
  const filters = await filtersOf(db, segments, await declaredFor(db, ctx.teamId));
  const counted = await countAudiences(db, ctx.teamId, filters);
  const counts = new Map(segments.map(({ id }, at) => [id, counted[at]]));
  // One that was deleted meanwhile counts as empty.
  const data = list.data.map((segment) => {
    const { contacts, unsubscribed } = counts.get(segment.id) ?? { contacts: 0, unsubscribed: 0 };
    return { ...segment, counts: { contacts, subscribed: contacts - unsubscribed, unsubscribed } };
  });
  return { ...list, data };
}

/** Stores nothing. */
export async function countFilter({ store, teamId }: Ctx, input: unknown) {
  const filter = checkedFilter(input, await declaredFor(store.db, teamId));
  const { contacts } = await countAudience(store.db, teamId, filter);
  return { object: 'segment_preview' as const, contacts };
}
