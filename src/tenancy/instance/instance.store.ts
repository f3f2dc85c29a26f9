import { hasTable, type Executor, type Db } from '../../platform/db/index.ts';
import type { SealedColumn } from '../../platform/secrets/index.ts';

const NAME = 'move';

/** Reads the mark, also from a database that is not migrated yet. */
export async function readMoveText(db: Pick<Db, 'dialect' | 'get'>): Promise<string | undefined> {
  if (!(await hasTable(db, 'database_moves'))) return undefined;
  return (await db.get<{ value: string }>('select value from database_moves where name = ?', [NAME]))?.value;
}

export async function writeMoveText(db: Executor, value: string): Promise<void> {
  await db.insertMany(
    'database_moves',
    ['name', 'value'],
    [[NAME, value]],
    'on conflict (name) do update set value = excluded.value',
  );
}

/** Replaces exactly this mark; returns false if it has changed or gone. */
export async function replaceMoveText(db: Executor, before: string, value: string): Promise<boolean> {
  const sql = 'update database_moves set value = ? where name = ? and value = ?';
  return (await db.run(sql, [value, NAME, before])) === 1;
}

/** Removes exactly this mark; returns false if it has changed or gone. */
export async function removeMoveText(db: Executor, value: string): Promise<boolean> {
  return (await db.run('delete from database_moves where name = ? and value = ?', [NAME, value])) === 1;
}

export async function removeMove(db: Executor): Promise<void> {
  await db.run('delete from database_moves where name = ?', [NAME]);
}

/** Reads a setting; undefined if it was never written. */
export async function readSetting<Value>(db: Executor, name: string): Promise<Value | undefined> {
  const row = await db.get<{ value: string }>('select value from instance_settings where name = ?', [name]);
  return row && (JSON.parse(row.value) as Value);
}

export async function readChangedAt(db: Executor, name: string): Promise<number | null> {
  const row = await db.get<{ at: number }>('select changed_at as at from instance_settings where name = ?', [name]);
  return row?.at ?? null;
}

export async function writeSetting(db: Executor, name: string, value: unknown, at: number): Promise<void> {
  await db.insertMany(
    'instance_settings',
    ['name', 'value', 'changed_at'],
    [[name, JSON.stringify(value), at]],
    'on conflict (name) do update set value = excluded.value, changed_at = excluded.changed_at',
  );
}

/** Writes a setting that was not written yet; of two concurrent processes one does, and gets true. */
export async function addSetting(db: Executor, name: string, value: unknown, at: number): Promise<boolean> {
  const added = await db.insertMany(
    'instance_settings',
    ['name', 'value', 'changed_at'],
    [[name, JSON.stringify(value), at]],
    'on conflict (name) do nothing',
  );
  return added === 1;
}

/** Returns false if the setting has changed since it was read. */
export async function replaceSetting(
  db: Executor,
  name: string,
  { from, to, at }: { from: unknown; to: unknown; at: number },
): Promise<boolean> {
  const sql = 'update instance_settings set value = ?, changed_at = ? where name = ? and value = ?';
  return (await db.run(sql, [JSON.stringify(to), at, name, JSON.stringify(from)])) === 1;
}

export async function removeSetting(db: Executor, name: string): Promise<void> {
  await db.run('delete from instance_settings where name = ?', [name]);
}

/** Identifies a database server and the database on it. Always the same with SQLite. */
export async function databaseIdentity(db: Executor): Promise<string> {
  if (db.dialect !== 'pg') return 'sqlite';
  const which = 'from pg_database where datname = current_database()';
  const asked = await db.get<{ may: boolean }>(
    "select has_function_privilege('pg_control_system()', 'execute') as may from pg_database limit 1",
  );
  const sql = asked?.may
    ? `select oid, (select system_identifier::text from pg_control_system()) as server ${which}`
    : `select oid, '' as server ${which}`;
  const row = await db.get<{ server: string; oid: number }>(sql);
  return `${row?.server} ${row?.oid}`;
}

interface SealedRow {
  id: string;
  sealed: string;
}

/** Reads a few sealed texts of a column, the latest first. */
export const sealedSamples = (db: Executor, { table, column }: SealedColumn, limit: number): Promise<SealedRow[]> =>
  db.all<SealedRow>(
    `select id, ${column} as sealed from ${table} where ${column} is not null order by id desc limit ?`,
    [limit],
  );

/** Reads the texts that another key or the previous format has sealed, by id. */
export function sealedByOthers(
  db: Executor,
  { table, column }: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: string | undefined; limit: number },
): Promise<SealedRow[]> {
  const beyond = after === undefined ? '' : 'and id > ?';
  return db.all<SealedRow>(
    `select id, ${column} as sealed from ${table}
      where ${column} is not null and ${column} not like ? ${beyond} order by id limit ?`,
    [`v2.${keyId}.%`, ...(after === undefined ? [] : [after]), limit],
  );
}

/** Returns how many texts were unchanged since they were read, and are replaced. */
export async function replaceSealed(
  db: Executor,
  { table, column }: SealedColumn,
  changes: readonly { id: string; from: string; to: string }[],
): Promise<number> {
  if (changes.length === 0) return 0;
  const changed = await db.runEach(
    `update ${table} set ${column} = ? where id = ? and ${column} = ?`,
    changes.map(({ id, from, to }) => [to, id, from]),
  );
  return changed.reduce((sum, count) => sum + count, 0);
}
