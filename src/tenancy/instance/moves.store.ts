import { hasTable, type Db, type Executor } from '../../platform/db/index.ts';

const NAME = 'move';

/** Also of a database that is not migrated yet. */
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

/** In place of just this one; false where it has changed or gone. */
export async function replaceMoveText(db: Executor, before: string, value: string): Promise<boolean> {
  const sql = 'update database_moves set value = ? where name = ? and value = ?';
  return (await db.run(sql, [value, NAME, before])) === 1;
}

/** Just this one; false where it has changed or gone. */
export async function removeMoveText(db: Executor, value: string): Promise<boolean> {
  return (await db.run('delete from database_moves where name = ? and value = ?', [NAME, value])) === 1;
}

export async function removeMove(db: Executor): Promise<void> {
  await db.run('delete from database_moves where name = ?', [NAME]);
}
