import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate, openDb, type Db } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { readSources } from '../tidy/tree.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

/** Columns of what is remembered that may change unseen, and why. */
const UNSEEN: Record<string, string> = {
  'api_keys.id': 'it is never changed',
  'api_keys.name': 'no credential holds it',
  'api_keys.key_prefix': 'no credential holds it',
  'api_keys.created_at': 'no credential holds it',
  'api_keys.last_used_at': 'written all day, and no credential holds it',
  'api_keys.last_used_request_log_id': 'written all day, and no credential holds it',
};

// runs only with PostgreSQL: what other processes write to SQLite is seen by the file's own counter
describe.runIf(driver === 'pg')('the change counters of cached tables', () => {
  let scratch: ScratchDb;
  let remembered: string[];
  beforeAll(async () => {
    scratch = await openScratchDb();
    await migrate(scratch.db);
    remembered = (await scratch.db.all<{ name: string }>('select distinct table_name as name from table_changes')).map(
      ({ name }) => name,
    );
  });
  afterAll(() => scratch.close());

  const version = async (db: Db, table: string): Promise<number> => {
    const sql = 'select sum(version)::bigint as version from table_changes where table_name = ?';
    return (await db.get<{ version: number }>(sql, [table]))?.version ?? 0;
  };

  it('exist for every table that the program caches', () => {
    const named = readSources(`${import.meta.dirname}/../..`, (file) => /^src\/.*(?<!\.test)\.ts$/.test(file))
      .flatMap(({ text }) => [...text.matchAll(/\.memo\(\s*\[([^\]]+)\]/g)])
      .flatMap(([, tables = '']) => [...tables.matchAll(/'(\w+)'/g)].map(([, table = '']) => table));
    expect([...new Set(named)].toSorted()).toEqual(remembered.toSorted());
  });

  it('change with every write to their columns by any process, with a removal and with a truncation', async () => {
    const other = await openDb(scratch.options);
    try {
      const unseen: string[] = [];
      for (const table of remembered) {
        const columns = await other.all<{ name: string }>(
          `select column_name as name from information_schema.columns where table_schema = 'public' and table_name = ?`,
          [table],
        );
        const writes = columns.map(({ name }) => [`${table}.${name}`, `update ${table} set ${name} = ${name}`]);
        writes.push([`removal of ${table}`, `delete from ${table}`], [`${table} emptied`, `truncate ${table} cascade`]);
        writes.push([`insert into ${table}`, `insert into ${table} select * from ${table} where false`]);
        for (const [what = '', sql = ''] of writes) {
          const before = await version(scratch.db, table);
          await other.run(sql);
          if ((await version(scratch.db, table)) === before) unseen.push(what);
        }
      }
      expect(unseen.toSorted()).toEqual(Object.keys(UNSEEN).toSorted());
    } finally {
      await other.close();
    }
  });

  it('do not change for a rollback, or before a commit', async () => {
    const { db } = scratch;
    const before = await version(db, 'teams');
    const failing = db.tx(async (tx) => {
      await tx.run('delete from teams');
      expect(await version(db, 'teams')).toBe(before);
      throw new Error('changed our mind');
    });
    await expect(failing).rejects.toThrow('changed our mind');
    expect(await version(db, 'teams')).toBe(before);
  });

  it('change for each of several concurrent writers, which do not wait for each other', async () => {
    const { db } = scratch;
    const numbers = new Set([await version(db, 'teams')]);
    await db.tx(async (tx) => {
      await tx.run('delete from teams');
      for (let n = 0; n < 20; n++) {
        await Promise.all([db.run('delete from teams'), db.tx((inner) => inner.run('update teams set name = name'))]);
        numbers.add(await version(db, 'teams'));
      }
    });
    numbers.add(await version(db, 'teams'));
    expect(numbers.size).toBe(22);
  });
});
