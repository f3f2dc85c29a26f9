import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';

export interface SegmentRow {
  id: string;
  team_id: string;
  name: string;
  /** JSON. */
  filter: string | null;
  /**
   * JSON: keys that the filter names and whose properties were deleted since. A new property with such a key is a
   * different one.
   */
  lost_properties: string | null;
  created_at: number;
}

export type ListedSegment = Pick<SegmentRow, 'id' | 'name' | 'created_at'>;

const COLUMNS = ['id', 'team_id', 'name', 'filter', 'lost_properties', 'created_at'] as const;
const LIVE = 'team_id = ? and deleted_at is null';

export async function insertSegment(tx: Executor, row: SegmentRow): Promise<void> {
  await tx.insertMany('segments', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export function findSegment(db: Executor, teamId: string, id: string): Promise<SegmentRow | undefined> {
  return db.get<SegmentRow>(`select ${COLUMNS.join(', ')} from segments where ${LIVE} and id = ?`, [teamId, id]);
}

/** Returns all segments that are not deleted, or those of the given ids; newest first. */
export function liveSegments(db: Executor, teamId: string, ids?: readonly string[]): Promise<SegmentRow[]> {
  const select = `select ${COLUMNS.join(', ')} from segments where ${LIVE}`;
  if (ids === undefined) return db.all<SegmentRow>(`${select} order by id desc`, [teamId]);
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<SegmentRow>(`${select} and ${among.sql} order by id desc`, [teamId, among.value]);
}

export async function countSegments(db: Executor, teamId: string): Promise<number> {
  return (await db.get<{ n: number }>(`select count(*) as n from segments where ${LIVE}`, [teamId]))?.n ?? 0;
}

export async function listSegmentRows(
  db: Executor,
  teamId: string,
  search: string | undefined,
  page: Page,
): Promise<{ rows: ListedSegment[]; hasMore: boolean }> {
  const read = (part: Page) =>
    db.all<ListedSegment>(pageSql('segments', LIVE, part, 'id, name, created_at'), [teamId, ...pageValues(part)]);
  if (search === undefined) return cutPage(await read(page), page);
  // Letter case is folded here and not in SQL, because SQLite folds only ASCII. A team has few segments.
  const wanted = foldText(search);
  const rows = await read({ ...page, limit: Number.MAX_SAFE_INTEGER - 1 });
  return cutPage(rows.filter(({ name }) => foldText(name).includes(wanted)).slice(0, page.limit + 1), page);
}

export async function renameSegment(tx: Executor, teamId: string, id: string, name: string): Promise<boolean> {
  return (await tx.run(`update segments set name = ? where ${LIVE} and id = ?`, [name, teamId, id])) === 1;
}

export async function saveLostProperties(tx: Executor, id: string, keys: readonly string[]): Promise<void> {
  await tx.run('update segments set lost_properties = ? where id = ?', [JSON.stringify(keys), id]);
}

/** Marks a segment as deleted. Returns whether this call deleted it. */
export async function markSegmentDeleted(tx: Executor, teamId: string, id: string, at: number): Promise<boolean> {
  return (await tx.run(`update segments set deleted_at = ? where ${LIVE} and id = ?`, [at, teamId, id])) === 1;
}

export interface MemberRow {
  segment_id: string;
  contact_id: string;
}

/** Adds members and leaves existing ones as they are. Returns the number added. */
export function addMembers(tx: Executor, rows: readonly MemberRow[]): Promise<number> {
  return tx.insertMany(
    'segment_members',
    ['segment_id', 'contact_id'],
    rows.map((row) => [row.segment_id, row.contact_id]),
    'on conflict (segment_id, contact_id) do nothing',
  );
}

export async function removeMember(tx: Executor, { segment_id, contact_id }: MemberRow): Promise<void> {
  await tx.run('delete from segment_members where segment_id = ? and contact_id = ?', [segment_id, contact_id]);
}

/** Returns the explicit memberships of these contacts. */
export function membersAmong(db: Executor, contactIds: readonly string[]): Promise<MemberRow[]> {
  const among = uuidsIn(db.dialect, 'contact_id', contactIds);
  return db.all<MemberRow>(`select segment_id, contact_id from segment_members where ${among.sql}`, [among.value]);
}

export const removeMemberships = (tx: Executor, contactId: string): Promise<number> =>
  tx.run('delete from segment_members where contact_id = ?', [contactId]);

/** Returns those of the segments that contacts were added to. */
export async function segmentsWithMembers(db: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id from segments where ${among.sql}
    and exists (select 1 from segment_members where segment_id = segments.id)`;
  return new Set((await db.all<{ id: string }>(sql, [among.value])).map(({ id }) => id));
}

/** Removes up to `limit` members of deleted segments. Returns the number removed. */
export async function removeMembersOfDeleted(tx: Executor, limit: number): Promise<number> {
  const sql = `select id from segments where deleted_at is not null
    and exists (select 1 from segment_members where segment_id = segments.id) limit 1`;
  const segment = await tx.get<{ id: string }>(sql);
  if (!segment) return 0;
  return tx.run(
    `delete from segment_members where segment_id = ? and contact_id in
      (select contact_id from segment_members where segment_id = ? limit ?)`,
    [segment.id, segment.id, limit],
  );
}
