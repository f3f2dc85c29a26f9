import type { QueryOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { mustBeAlone, type Page } from '../../../platform/db/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { declaredFor, filterOf, findSegment, presentSegment, type SegmentRow } from '../segments/index.ts';
import { audiencePage } from './audience.store.ts';
import { contactRowsEnding, listContactRows, type ContactRow, type ListedRow } from './contacts.store.ts';
import { contactNamed, contactOfSegment, segmentNamed, segmentsOf } from './find-contact.ts';
import { pageAmong } from './page-among.ts';
import { presentValues, valuesOf } from './property-values.ts';

export async function getContact(ctx: Ctx, name: string) {
  return presentContact(ctx, await contactNamed(ctx.store.db, ctx.teamId, name));
}

export async function getAudienceContact(ctx: Ctx, segment: string, contact: string) {
  return presentContact(ctx, await contactOfSegment(ctx.store.db, ctx.teamId, { segment, contact }));
}

async function presentContact({ store, teamId }: Ctx, row: ContactRow) {
  const properties = presentValues(valuesOf(row), await declaredProperties(store.db, teamId));
  return { object: 'contact' as const, ...present(row), properties };
}

/** This list alone has no `has_more`: an empty page is the end. */
export async function listContacts(ctx: Ctx, query: QueryOf<'listContacts'>, page: Page) {
  const { store, teamId } = ctx;
  const { segment_id: segmentId, search, id_end: end } = query;
  if (end !== undefined) {
    mustBeAlone(query);
    return listOf((await contactRowsEnding(store.db, teamId, end, page)).rows);
  }
  if (segmentId === undefined && search === undefined) return listOf(await listContactRows(store.db, teamId, page));
  if (segmentId === undefined) return listOf(await audiencePage(store.db, teamId, { filter: EVERYBODY, search }, page));
  const segment = await findSegment(store.db, teamId, segmentId);
  if (!segment) throw invalidField('segment_id', 'segment_id names no segment of this team.');
  return listOf(await membersOf(ctx, segment, search, page));
}

const EVERYBODY: Filter = { kind: 'all', of: [] };

export async function listSegmentContacts(
  ctx: Ctx,
  name: string,
  { search }: { search?: string | undefined },
  page: Page,
) {
  const segment = await segmentNamed(ctx.store.db, ctx.teamId, name);
  const found = await membersOf(ctx, segment, search, { ...page, limit: page.limit + 1 });
  const hasMore = found.length > page.limit;
  // Newest first, so that of a page backwards the one too many is the first.
  const rows = page.before === undefined ? found.slice(0, page.limit) : found.slice(-page.limit);
  return { ...listOf(rows), has_more: hasMore };
}

async function membersOf(
  { store, teamId }: Ctx,
  segment: SegmentRow,
  search: string | undefined,
  page: Page,
): Promise<ListedRow[]> {
  const filter = await filterOf(store.db, segment, await declaredFor(store.db, teamId));
  return audiencePage(store.db, teamId, { filter, search }, page);
}

const listOf = (rows: readonly ListedRow[]) => ({ object: 'list' as const, data: rows.map(present) });

const present = ({ id, email, first_name, last_name, created_at, unsubscribed }: ListedRow) => ({
  id,
  email,
  first_name,
  last_name,
  created_at: isoTime(created_at),
  unsubscribed: unsubscribed === 1,
});

/** The segments a contact is in now; few enough to be evaluated all. */
export async function listContactSegments({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { items, hasMore } = pageAmong(await segmentsOf(store.db, contact), page);
  return { object: 'list' as const, has_more: hasMore, data: items.map(presentSegment) };
}
