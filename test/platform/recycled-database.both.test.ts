import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { createDatabase, dropDatabase } from '../rig/database-server.ts';
import { driver } from '../rig/database.ts';
import { emptyDatabase, readMigrated } from '../rig/recycled-database.ts';

const LARGE = `insert into instance_settings (name, value) select 'n' || n, repeat('x', 200) from generate_series(1, 2000) n`;

// runs only with PostgreSQL, where a scene leaves its database to the next one
describe.runIf(driver === 'pg')('a test database is good for the next scene', () => {
  it.each([
    { left: 'nothing', sql: 'select 1', isGood: true },
    { left: 'a changed row of a migration', sql: `update instance_settings set value = '0'`, isGood: true },
    { left: 'a large table', sql: LARGE, isGood: true },
    {
      left: 'a row where there never was one',
      sql: "insert into sign_in_attempts (party, failures, since) values ('p', 1, 0)",
      isGood: true,
    },
    { left: 'a function', sql: `create function planted() returns int language sql as 'select 1'`, isGood: false },
    {
      left: 'a constraint',
      sql: 'alter table instance_settings add constraint planted check (true)',
      isGood: false,
    },
    { left: 'another name of a table', sql: 'alter table events rename to events_away', isGood: false },
    { left: 'statistics', sql: 'analyze instance_settings', isGood: false },
  ])('after $left: $isGood', async ({ sql, isGood }) => {
    const migrated = inject('migratedOnServer');
    const { name, url } = await createDatabase(inject('pgUrl'), migrated.name);
    try {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      client.on('error', () => undefined);
      await client.query(sql);
      expect(await emptyDatabase(url, migrated)).toBe(isGood);
      if (isGood) expect(await readMigrated(url)).toEqual({ form: migrated.form, rows: migrated.rows });
    } finally {
      await dropDatabase(inject('pgUrl'), name);
    }
  });
});
