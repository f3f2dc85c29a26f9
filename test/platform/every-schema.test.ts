// a database of any schema that there ever was, with rows in its tables --> migrations --> the schema of today, and the rows
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate, schemaState, type Db } from '../../src/platform/db/index.ts';
import { stepOf } from '../rig/older-schema.ts';
import { columnsIn, findRow, plantRow, shapesOf, type Planted } from './planted-rows.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let scratch: ScratchDb;
let fresh: ScratchDb;
beforeEach(async () => {
  [scratch, fresh] = [await openScratchDb(), await openScratchDb()];
});
afterEach(async () => {
  await scratch.close();
  await fresh.close();
});

/** What a migration changes in rows that were there, and why that is no loss. */
const REWRITTEN: Record<string, string> = {
  'dkim_keys.bits': 'all keys of before had 2048 bits',
  'deliveries.lane': 'the lane of retries has another number',
};
/** Each step in a transaction of its own, as it comes with a version; behind each, every table of a new shape gets a row. */
async function climb(db: Db, names: readonly string[]): Promise<Planted[]> {
  const planted: Planted[] = [];
  let before = new Map<string, string>();
  for (const name of names) {
    const { up } = await stepOf(name);
    await db.withKnex((knex) => knex.transaction((trx) => up(trx)));
    await db.run('insert into schema_migrations (name, batch, migration_time) values (?, 1, current_timestamp)', [
      name,
    ]);
    const columns = await columnsIn(db);
    const shapes = shapesOf(columns);
    for (const [table, shape] of shapes)
      // A team may have one of some things only, and so each schema has a team of its own.
      if (table === 'teams' || before.get(table) !== shape)
        planted.push(await plantRow(db, { table, columns, since: name, before: planted }));
    before = shapes;
  }
  return planted;
}

/** Knex makes its table when it is first asked for anything; one that has nothing to do makes it as well. */
async function makeTable(db: Db): Promise<void> {
  const none = { getMigrations: async () => [], getMigrationName: () => '', getMigration: async () => ({}) as never };
  await db.withKnex((knex) => knex.migrate.latest({ migrationSource: none, tableName: 'schema_migrations' }));
}

async function schemaOf(db: Db): Promise<string[]> {
  const sql =
    db.dialect === 'pg'
      ? `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') as line
           from information_schema.columns where table_schema = 'public' and table_name not like 'schema_migrations%'
         union all select indexdef from pg_indexes where schemaname = 'public' and tablename not like 'schema_migrations%'
         union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
           where connamespace = 'public'::regnamespace and conrelid::regclass::text not like 'schema_migrations%'`
      : `select type || ' ' || name || ' ' || coalesce(sql, '') as line from sqlite_master
           where tbl_name not like 'schema_migrations%' and name not like 'sqlite_sequence'`;
  return (await db.all<{ line: string }>(sql)).map(({ line }) => line).sort();
}

async function expectAllKept(db: Db, planted: readonly Planted[]): Promise<void> {
  const now = new Set((await columnsIn(db)).map(({ table, name }) => `${table}.${name}`));
  const isKept = (column: string): boolean => now.has(column) && !REWRITTEN[column];
  const lost: string[] = [];
  for (const { table, since, row } of planted) {
    const found = await findRow(db, { table, row }, (column) => isKept(`${table}.${column}`));
    if (!found) lost.push(`the row of ${table} of ${since} is gone or has other texts`);
    for (const [column, value] of Object.entries(found ?? {}))
      if (column in row && isKept(`${table}.${column}`) && JSON.stringify(value) !== JSON.stringify(row[column]))
        lost.push(`${table}.${column} of ${since} was ${String(row[column])} and is ${String(value)}`);
  }
  expect(lost).toEqual([]);
}

it('every step, one after the other, ends in the schema of a new database and keeps what stood in every table before', async () => {
  const names = await migrate(fresh.db);
  await makeTable(scratch.db);
  const planted = await climb(scratch.db, names);
  expect(new Set(planted.map(({ since }) => since)).size).toBeGreaterThan(names.length / 2);
  expect(await schemaOf(scratch.db)).toEqual(await schemaOf(fresh.db));
  expect((await schemaState(scratch.db)).pending).toEqual([]);
  await expectAllKept(scratch.db, planted);
});

it.each([0.4, 0.9])('from the schema at %d of all of them, one start of the program does the same', async (part) => {
  const names = await migrate(fresh.db);
  await makeTable(scratch.db);
  const at = Math.floor(names.length * part);
  const planted = await climb(scratch.db, names.slice(0, at));
  expect(await migrate(scratch.db)).toEqual(names.slice(at));
  expect(await schemaOf(scratch.db)).toEqual(await schemaOf(fresh.db));
  await expectAllKept(scratch.db, planted);
});
