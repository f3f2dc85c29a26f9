import type { QueryOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { mustBeAlone, type Executor, type Page } from '../../../platform/db/index.ts';
import { invalidField } from '../../../platform/refusal.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import { findSuppressions, type SuppressionRow } from '../../../mail/suppressions/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { loadSegmentFilter, presentSegment } from '../segments/segments.ts';
import { findSegment, type SegmentRow } from '../segments/segments.store.ts';
import { audiencePage } from './audience.store.ts';
import { contactRowsEnding, listContactRows, type ContactRow, type ListedRow } from './contacts.store.ts';
import {
  contactNamed,
  contactOfSegment,
  segmentNamed,
  listSegmentsOfContact,
  presentValues,
  readPropertyValues,
} from './find-contact.ts';

export async function getContact(ctx: Ctx, name: string) {
  return presentContact(ctx, await contactNamed(ctx.store.db, ctx.teamId, name));
}

export async function getAudienceContact(ctx: Ctx, segment: string, contact: string) {
  return presentContact(
    ctx,
    await contactOfSegment(ctx.store.db, ctx.teamId, { segment, contact, now: ctx.store.clock.now() }),
  );
}

async function presentContact({ store, teamId }: Ctx, row: ContactRow) {
  const properties = presentValues(readPropertyValues(row), await declaredProperties(store.db, teamId));
  const suppressions = await presentSuppressions(store.db, teamId, [row.email_key]);
  const suppression = suppressions.get(row.email_key) ?? null;
  return { object: 'contact' as const, ...present(row, suppression), properties };
}

/** Lists contacts. Unlike other lists it has no `has_more`: an empty page is the end. */
export async function listContacts(ctx: Ctx, query: QueryOf<'listContacts'>, page: Page) {
  const { store, teamId } = ctx;
  const { segment_id: segmentId, search, id_end: end } = query;
  if (end !== undefined) {
    mustBeAlone(query);
    return presentList(ctx, (await contactRowsEnding(store.db, teamId, end, page)).rows);
  }
  if (segmentId === undefined && search === undefined)
    return presentList(ctx, await listContactRows(store.db, teamId, page));
  if (segmentId === undefined)
    return presentList(ctx, await audiencePage(store.db, teamId, { filter: EVERYBODY, search }, page));
  const segment = await findSegment(store.db, teamId, segmentId);
  if (!segment) throw invalidField('segment_id', 'segment_id does not match a segment of this team.');
  return presentList(ctx, await listSegmentMembers(ctx, segment, search, page));
}

const EVERYBODY: Filter = { kind: 'all', of: [] };

export async function listSegmentContacts(
  ctx: Ctx,
  name: string,
  { search }: { search?: string | undefined },
  page: Page,
) {
  const segment = await segmentNamed(ctx.store.db, ctx.teamId, name);
  const found = await listSegmentMembers(ctx, segment, search, { ...page, limit: page.limit + 1 });
  const hasMore = found.length > page.limit;
  // The rows are newest first, so the surplus row of a page backwards is the first one.
  const rows = page.before === undefined ? found.slice(0, page.limit) : found.slice(-page.limit);
  return { ...(await presentList(ctx, rows)), has_more: hasMore };
}

async function listSegmentMembers(
  { store, teamId }: Ctx,
  segment: SegmentRow,
  search: string | undefined,
  page: Page,
): Promise<ListedRow[]> {
  const filter = await loadSegmentFilter(store.db, segment, store.clock.now());
  return audiencePage(store.db, teamId, { filter, search }, page);
}

async function presentList({ store, teamId }: Ctx, rows: readonly ListedRow[]) {
  const keys = rows.map(({ email }) => normalizeAddress(email));
  const suppressions = await presentSuppressions(store.db, teamId, keys);
  const data = rows.map((row, at) => present(row, suppressions.get(keys[at] ?? '') ?? null));
  return { object: 'list' as const, data };
}

type Suppression = Pick<SuppressionRow, 'id' | 'origin' | 'source_id'> & { created_at: string };

/** Returns the suppressions of those of the addresses that are suppressed. */
export async function presentSuppressions(
  db: Executor,
  teamId: string,
  emailKeys: readonly string[],
): Promise<Map<string, Suppression>> {
  const rows = emailKeys.length === 0 ? [] : await findSuppressions(db, teamId, [...emailKeys]);
  return new Map(
    rows.map(({ id, origin, source_id, created_at: at, email_key: key }) => [
      key,
      { id, origin, source_id, created_at: isoTime(at) },
    ]),
  );
}

const present = (
  { id, email, first_name, last_name, created_at, unsubscribed }: ListedRow,
  suppression: Suppression | null,
) => ({
  id,
  email,
  first_name,
  last_name,
  created_at: isoTime(created_at),
  unsubscribed: unsubscribed === 1,
  suppression,
});

/** Lists the segments that a contact is in now; they are few enough to evaluate all. */
export async function listContactSegments({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { items, hasMore } = pageAmong(
    await listSegmentsOfContact(store.db, contact, { now: store.clock.now() }),
    page,
  );
  return { object: 'list' as const, has_more: hasMore, data: items.map(presentSegment) };
}

/** Returns a page of a complete list, newest first. */
function pageAmong<Item extends { id: string }>(
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
