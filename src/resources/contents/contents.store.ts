import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface ContentRow {
  owner_id: string;
  name: string;
  content: Buffer;
}

const COLUMNS = ['owner_id', 'name', 'content'] as const;

export async function insertContents(tx: Executor, rows: readonly ContentRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.insertMany(
    'contents',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

export const findContent = (
  db: Executor,
  owner: string,
  name: string,
): Promise<Pick<ContentRow, 'content'> | undefined> =>
  db.get('select content from contents where owner_id = ? and name = ?', [owner, name]);

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

/** Answers the owners that had some. */
export async function removeContents(tx: Executor, owners: readonly string[]): Promise<Set<string>> {
  const theirs = uuidsIn(tx.dialect, 'owner_id', owners);
  const gone = await tx.all<{ owner_id: string }>(`delete from contents where ${theirs.sql} returning owner_id`, [
    theirs.value,
  ]);
  return new Set(gone.map((row) => row.owner_id));
}
