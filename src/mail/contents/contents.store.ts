import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface ContentRow {
  owner_id: string;
  name: string;
  content: Buffer;
}

/** A row that describes a file of the blob store. */
export interface FileRow {
  owner_id: string;
  name: string;
  size: number;
  /** Null if only the size is known. */
  sha256: string | null;
}

const COLUMNS = ['owner_id', 'name', 'content'] as const;
const FILE_COLUMNS = ['owner_id', 'name', 'size', 'sha256'] as const;

export async function insertContents(tx: Executor, rows: readonly (ContentRow | FileRow)[]): Promise<void> {
  const contents = rows.filter((row) => 'content' in row);
  const files = rows.filter((row) => 'sha256' in row);
  if (contents.length > 0)
    await tx.insertMany(
      'contents',
      COLUMNS,
      contents.map((row) => COLUMNS.map((column) => row[column])),
    );
  if (files.length > 0)
    await tx.insertMany(
      'content_files',
      FILE_COLUMNS,
      files.map((row) => FILE_COLUMNS.map((column) => row[column])),
    );
}

export interface KnownFile extends FileRow {
  /** The fault that the last reading found; null if there was none. */
  damage: string | null;
}

const asKnown = (row: KnownFile): KnownFile => ({ ...row, size: Number(row.size) });

export async function findFile(db: Executor, owner: string, name: string): Promise<KnownFile | undefined> {
  const row = await db.get<KnownFile>(
    'select owner_id, name, size, sha256, damage from content_files where owner_id = ? and name = ?',
    [owner, name],
  );
  return row && asKnown(row);
}

export async function filesOfOwners(db: Executor, owners: readonly string[]): Promise<KnownFile[]> {
  if (owners.length === 0) return [];
  const theirs = uuidsIn(db.dialect, 'owner_id', owners);
  const sql = `select owner_id, name, size, sha256, damage from content_files where ${theirs.sql}`;
  return (await db.all<KnownFile>(sql, [theirs.value])).map(asKnown);
}

/** Marks a file as damaged; the time of the first mark stays. Does nothing if its owner was removed meanwhile. */
export const markDamaged = (
  db: Executor,
  { owner_id: owner, name }: Pick<FileRow, 'owner_id' | 'name'>,
  { damage, at }: { damage: string; at: number },
): Promise<number> =>
  db.run('update content_files set damage = ?, damaged_at = coalesce(damaged_at, ?) where owner_id = ? and name = ?', [
    damage,
    at,
    owner,
    name,
  ]);

export const clearDamage = (db: Executor, { owner_id: owner, name }: Pick<FileRow, 'owner_id' | 'name'>) =>
  db.run('update content_files set damage = null, damaged_at = null where owner_id = ? and name = ?', [owner, name]);

export interface DamagedFile extends KnownFile {
  damage: string;
  damaged_at: number;
}

/** Lists the files that are known to be damaged, oldest finding first. The condition matches the index. */
export async function damagedFiles(db: Executor, limit: number): Promise<DamagedFile[]> {
  const rows = await db.all<DamagedFile>(
    `select owner_id, name, size, sha256, damage, damaged_at from content_files
      where damaged_at is not null order by damaged_at limit ?`,
    [limit],
  );
  return rows.map((row) => ({ ...row, size: Number(row.size), damaged_at: Number(row.damaged_at) }));
}

export const findContent = (
  db: Executor,
  owner: string,
  name: string,
): Promise<Pick<ContentRow, 'content'> | undefined> =>
  db.get('select content from contents where owner_id = ? and name = ?', [owner, name]);

export const listContents = (db: Executor, owner: string): Promise<Pick<ContentRow, 'name' | 'content'>[]> =>
  db.all('select name, content from contents where owner_id = ?', [owner]);

/** `count` bytes from `start`, and how many there are in all. */
export const findContentPart = (
  db: Executor,
  owner: string,
  name: string,
  { start, count }: { start: number; count: number },
): Promise<{ content: Buffer; size: number } | undefined> =>
  db.get(
    'select substr(content, ?, ?) as content, length(content) as size from contents where owner_id = ? and name = ?',
    [start + 1, count, owner, name],
  );

export async function findContentSize(db: Executor, owner: string, name: string): Promise<number | undefined> {
  const sql = 'select length(content) as size from contents where owner_id = ? and name = ?';
  return (await db.get<{ size: number }>(sql, [owner, name]))?.size;
}

/**
 * Removes the contents that owners have in rows, and the records of their files. Returns the owners that had contents
 * in rows.
 */
export async function removeContents(tx: Executor, owners: readonly string[]): Promise<Set<string>> {
  const theirs = uuidsIn(tx.dialect, 'owner_id', owners);
  // Not with RETURNING, for which SQLite reads all that it deletes.
  const gone = await tx.all<{ owner_id: string }>(`select distinct owner_id from contents where ${theirs.sql}`, [
    theirs.value,
  ]);
  if (gone.length > 0) await tx.run(`delete from contents where ${theirs.sql}`, [theirs.value]);
  if (gone.length < owners.length) await removeFileRows(tx, owners);
  return new Set(gone.map((row) => row.owner_id));
}

/** Removes the records of the files of these owners. */
export async function removeFileRows(tx: Executor, owners: readonly string[]): Promise<void> {
  const theirs = uuidsIn(tx.dialect, 'owner_id', owners);
  await tx.run(`delete from content_files where ${theirs.sql}`, [theirs.value]);
}
