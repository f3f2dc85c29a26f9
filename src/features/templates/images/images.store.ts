import {
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
} from '../../../platform/db/index.ts';
import type { ImageType } from '../../../protocol/image-head.ts';

export interface ImageRow {
  id: string;
  team_id: string;
  /** Part of its address. */
  token: string;
  /** SHA-256 of its bytes. */
  content_hash: string;
  content_type: ImageType;
  bytes: number;
  width: number;
  height: number;
  created_at: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'token',
  'content_hash',
  'content_type',
  'bytes',
  'width',
  'height',
  'created_at',
] as const;

/** Inserts an image; returns false if the team has these bytes already. */
export async function insertImage(tx: Executor, row: ImageRow): Promise<boolean> {
  const values = COLUMNS.map((column) => row[column]);
  return (await tx.insertMany('images', COLUMNS, [values], 'on conflict (team_id, content_hash) do nothing')) === 1;
}

export const findImage = (db: Executor, teamId: string, id: string): Promise<ImageRow | undefined> =>
  db.get<ImageRow>('select * from images where team_id = ? and id = ?', [teamId, id]);

export const findImageByHash = (db: Executor, teamId: string, hash: string): Promise<ImageRow | undefined> =>
  db.get<ImageRow>('select * from images where team_id = ? and content_hash = ?', [teamId, hash]);

/** Locks an image until the end of the transaction: a concurrent broadcast waits and finds it gone, or is found. */
export function lockImage(tx: Executor, teamId: string, id: string): Promise<ImageRow | undefined> {
  const lock = tx.dialect === 'pg' ? ' for update' : '';
  return tx.get<ImageRow>(`select * from images where team_id = ? and id = ?${lock}`, [teamId, id]);
}

export async function deleteImageRow(tx: Executor, id: string): Promise<void> {
  await tx.run('delete from broadcast_images where image_id = ?', [id]);
  await tx.run('delete from images where id = ?', [id]);
}

export async function listImageRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: ImageRow[]; hasMore: boolean }> {
  return cutPage(await db.all<ImageRow>(pageSql('images', 'team_id = ?', page), [teamId, ...pageValues(page)]), page);
}

/** Returns the total size of a team's images. */
export async function sumImageBytes(db: Executor, teamId: string): Promise<number> {
  const sql = 'select coalesce(sum(bytes), 0) as n from images where team_id = ?';
  return Number((await db.get<{ n: number | string }>(sql, [teamId]))?.n ?? 0);
}

/** Returns the image of an address, if its team is not suspended. */
export const findServedImage = (db: Executor, token: string): Promise<ImageRow | undefined> =>
  db.get<ImageRow>(
    `select i.* from images i join teams t on t.id = i.team_id where i.token = ? and t.risk_state <> 'suspended'`,
    [token],
  );

export function imagesByTokens(db: Executor, teamId: string, tokens: readonly string[]): Promise<ImageRow[]> {
  const among = textsIn(db.dialect, 'token', tokens);
  return db.all<ImageRow>(`select * from images where team_id = ? and ${among.sql}`, [teamId, among.value]);
}

/** Returns those of the ids that are images. */
export async function imagesAmong(db: Executor, ids: readonly string[]): Promise<string[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return (await db.all<{ id: string }>(`select id from images where ${among.sql}`, [among.value])).map(({ id }) => id);
}

/** Records that a broadcast shows these images of its team, as far as they still exist. */
export async function insertUses(
  tx: Executor,
  { teamId, broadcastId, tokens }: { teamId: string; broadcastId: string; tokens: readonly string[] },
): Promise<void> {
  const among = textsIn(tx.dialect, 'token', tokens);
  // Locks the images against a concurrent deletion.
  const lock = tx.dialect === 'pg' ? ' for share' : '';
  const sql = `select id from images where team_id = ? and ${among.sql} order by id${lock}`;
  const images = await tx.all<{ id: string }>(sql, [teamId, among.value]);
  await tx.insertMany(
    'broadcast_images',
    ['image_id', 'broadcast_id'],
    images.map(({ id }) => [id, broadcastId]),
  );
}

/**
 * Returns the names of broadcasts that show an image and were sent to somebody, or are being sent; newest first, at
 * most `limit`.
 */
export async function listUses(db: Executor, imageId: string, limit: number): Promise<string[]> {
  const sql = `select b.name from broadcast_images u join broadcasts b on b.id = u.broadcast_id
    where u.image_id = ? and (b.status in ('scheduled', 'queued', 'sending', 'sent') or b.recipients > 0)
    order by b.id desc limit ?`;
  return (await db.all<{ name: string }>(sql, [imageId, limit])).map(({ name }) => name);
}
