import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate, openDb, schemaState, SchemaTooNew } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let scratch: ScratchDb;
beforeEach(async () => {
  scratch = await openScratchDb();
});
afterEach(() => scratch.close());

const tables = async (): Promise<string[]> => {
  const sql =
    scratch.db.dialect === 'pg'
      ? "select table_name as name from information_schema.tables where table_schema = 'public'"
      : "select name from sqlite_master where type = 'table'";
  return (await scratch.db.all<{ name: string }>(sql)).map((row) => row.name).sort();
};

describe('a migration', () => {
  it('sets an empty database up, returns its steps, and does nothing the second time', async () => {
    const before = await schemaState(scratch.db);
    expect(before.done).toEqual([]);
    const done = await migrate(scratch.db);
    expect(done).toEqual(before.pending);
    expect(done[0]).toBe('0001_schema');
    const made = await tables();
    expect(made).toEqual(expect.arrayContaining(['api_keys', 'deliveries', 'domains', 'emails', 'events', 'teams']));
    expect(await migrate(scratch.db)).toEqual([]);
    expect(await tables()).toEqual(made);
    expect(await schemaState(scratch.db)).toEqual({ done, pending: [] });
  });

  // runs only on PostgreSQL: on SQLite the second process is kept away by the lock of the data folder.
  it.runIf(driver === 'pg')('succeeds in both of two processes that start at once', async () => {
    const other = await openDb(scratch.options);
    try {
      const done = await Promise.all([migrate(scratch.db), migrate(other)]);
      expect(done.map((names) => names.length).sort()).toEqual([0, (await schemaState(other)).done.length]);
    } finally {
      await other.close();
    }
  });
});

describe('a database of a newer release', () => {
  it('is refused by name and left unchanged', async () => {
    await migrate(scratch.db);
    await scratch.db.run(
      "insert into schema_migrations (name, batch, migration_time) values ('9999_from_the_future', 2, current_timestamp)",
    );
    const before = await tables();
    for (const look of [schemaState, migrate]) {
      const failure: unknown = await look(scratch.db).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(SchemaTooNew);
      expect((failure as Error).message).toContain('9999_from_the_future');
    }
    expect(await tables()).toEqual(before);
  });
});

it('a database of a development version from before the first schema is refused as such', async () => {
  await migrate(scratch.db);
  await scratch.db.run("update schema_migrations set name = '0001_teams_and_api_keys'");
  await expect(migrate(scratch.db)).rejects.toThrow(
    /made by a development version .* \(it holds the migration 0001_teams_and_api_keys\); start with a new data folder/,
  );
});
