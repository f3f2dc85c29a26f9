import type { Page } from '../../../platform/db/index.ts';

/** A page of a list that is known whole, newest first. */
export function pageAmong<Item extends { id: string }>(
  items: readonly Item[],
  { limit, after, before }: Page,
): { items: Item[]; hasMore: boolean } {
  if (before !== undefined) {
    const newer = items.filter((item) => item.id > before);
    return { items: newer.slice(-limit), hasMore: newer.length > limit };
  }
  const older = after === undefined ? items : items.filter((item) => item.id < after);
  return { items: older.slice(0, limit), hasMore: older.length > limit };
}
