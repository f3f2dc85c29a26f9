// a database with rows in every table --> planCopy, copyTable, verifyTable --> the other database, and back
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  copyTable,
  countRows,
  migrate,
  openDb,
  openReadOnly,
  planCopy,
  tableShapes,
  verifyTable,
  type CopiedTable,
  type Db,
} from '../../src/platform/db/index.ts';
import { APART } from '../../src/features/installation/moves/move-ends.ts';
import { columnsIn, plantRow, type Planted } from './planted-rows.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let first: ScratchDb;
let last: ScratchDb;
let embedded: Db;
const locateFile = (): string => path.join(first.folder, 'embedded.db');
beforeEach(async () => {
  [first, last] = [await openScratchDb(), await openScratchDb()];
  embedded = await openDb({ driver: 'better-sqlite3', file: locateFile(), url: '', poolMax: 1 });
  for (const db of [first.db, embedded, last.db]) await migrate(db);
});
afterEach(async () => {
  await embedded.close();
  await last.close();
  await first.close();
});

const replaced: string[] = [];
const watch = {
  done: () => undefined,
  replaced: (table: string, key: string) => void replaced.push(`${table} ${key}`),
};

const planTables = async (from: Db, into: Db): Promise<CopiedTable[]> =>
  planCopy(await tableShapes(from), await tableShapes(into), APART);

async function copyAll(from: Db, into: Db): Promise<Map<string, { rows: number; hash: string }>> {
  const checks = new Map<string, { rows: number; hash: string }>();
  const tables = await planTables(from, into);
  // The rows that the migrations write would exist twice.
  await into.run('delete from instance_settings');
  for (const table of tables) await copyTable(from, into, table, watch);
  for (const table of tables) checks.set(table.name, await verifyTable(from, into, table, watch));
  return checks;
}

/** A row in every table but those of the migrations, whose tables are made by something else. */
async function plantEverywhere(db: Db): Promise<Planted[]> {
  const planted: Planted[] = [];
  const columns = await columnsIn(db);
  for (const { name } of await planTables(db, embedded))
    planted.push(await plantRow(db, { table: name, columns, since: 'now', before: planted }));
  return planted;
}

describe('every table', () => {
  it('with a row in it is copied to SQLite and back again unchanged', async () => {
    const planted = await plantEverywhere(first.db);
    expect(planted.length).toBeGreaterThan(100);
    const there = await copyAll(first.db, embedded);
    const back = await copyAll(embedded, last.db);
    expect([...there.keys()].sort()).toEqual(planted.map(({ table }) => table).sort());
    // The two settings that migrations write stand beside the planted one.
    for (const [name, { rows }] of there) expect([name, rows]).toEqual([name, name === 'instance_settings' ? 3 : 1]);
    expect(back.get('contacts')).toEqual(there.get('contacts'));
    for (const table of await planTables(first.db, embedded)) await verifyTable(first.db, last.db, table, watch);
  });

  it('is copied or listed as recreated, and a forgotten new one stops the move', async () => {
    const shapes = await tableShapes(embedded);
    const tables = new Set((await planTables(first.db, embedded)).map(({ name }) => name));
    expect(shapes.filter(({ name }) => !tables.has(name) && !(name in APART))).toEqual([]);
    for (const reason of Object.values(APART)) expect(reason.length).toBeGreaterThan(20);

    await embedded.run('create table forgotten (id text primary key)');
    await expect(planTables(first.db, embedded)).rejects.toThrow(/forgotten is in the target alone/);
    await embedded.run('drop table forgotten');
    await embedded.run('alter table teams add column colour text');
    await expect(planTables(first.db, embedded)).rejects.toThrow(/teams\.colour is in the target alone/);
    await embedded.run('alter table teams drop column colour');
    for (const db of [first.db, embedded]) {
      const counted = db.dialect === 'pg' ? 'integer generated always as identity' : 'integer';
      await db.run(`create table counted (id ${counted} primary key${db.dialect === 'pg' ? '' : ' autoincrement'})`);
    }
    await expect(planTables(first.db, embedded)).rejects.toThrow(/counted\.id is filled by the database itself/);
  });
});

async function plantTeams(db: Db, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await db.insertMany(
      'teams',
      ['id', 'name', 'slug', 'risk_state', 'plan_code', 'created_at'],
      [
        [
          `018bcfe5-6800-7000-8000-${String(n).padStart(12, '0')}`,
          `Team ${n} ✉ "é" \u{1F600}`,
          `t${n}`,
          'normal',
          'x',
          n,
        ],
      ],
    );
}

describe('the comparison of a copy', () => {
  it('names table, key and columns of a row that was changed, removed or added', async () => {
    await plantTeams(embedded, 700);
    const teams = (await planTables(embedded, last.db)).find(({ name }) => name === 'teams') as CopiedTable;
    await copyTable(embedded, last.db, teams, watch);
    const check = () => verifyTable(embedded, last.db, teams, watch);
    expect(await check()).toMatchObject({ rows: 700, hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    const id = '018bcfe5-6800-7000-8000-000000000612';
    await last.db.run('update teams set name = ?, created_at = 5 where id = ?', ['Other', id]);
    await expect(check()).rejects.toThrow(
      `the row of teams with id ${id} is another one in the copy: name, created_at differ`,
    );
    await last.db.run('delete from teams where id = ?', [id]);
    await expect(check()).rejects.toThrow(`the row of teams with id ${id} is missing in the copy`);
    await embedded.run('delete from teams where id = ?', [id]);
    expect(await check()).toMatchObject({ rows: 699 });
    await embedded.run('delete from teams where id = ?', ['018bcfe5-6800-7000-8000-000000000001']);
    await expect(check()).rejects.toThrow('teams has 698 rows in the source and 699 in the copy');
  });
});

describe('copied values', () => {
  it('that PostgreSQL cannot store are replaced and reported, and bytes stay unchanged', async () => {
    replaced.length = 0;
    await plantTeams(embedded, 1);
    await embedded.run('update teams set name = ?', ['a\0b']);
    const bytes = Buffer.from(Array.from({ length: 600 }, (_, n) => n % 256));
    await embedded.insertMany('contents', ['owner_id', 'name', 'content'], [[OWNER, 'html', bytes]]);
    await copyAll(embedded, last.db);
    const { name } = (await last.db.get<{ name: string }>('select name from teams')) ?? {};
    expect(name).toBe(last.db.dialect === 'pg' ? 'a\uFFFDb' : 'a\0b');
    expect(replaced).toEqual(last.db.dialect === 'pg' ? ['teams id 018bcfe5-6800-7000-8000-000000000000'] : []);
    expect(await last.db.get('select content from contents')).toEqual({ content: bytes });
  });

  it('that a column does not accept are named with their row', async () => {
    await plantTeams(embedded, 30);
    const teams = (await planTables(embedded, last.db)).find(({ name }) => name === 'teams') as CopiedTable;
    await last.db.run('create unique index one_name on teams (plan_code)');
    await expect(copyTable(embedded, last.db, teams, watch)).rejects.toThrow(
      /^the row of teams with id 018bcfe5-6800-7000-8000-000000000001 cannot be copied: /,
    );
  });
});

it('the source of a move is opened read-only, and detects writes of others', async () => {
  await plantTeams(embedded, 3);
  const source = await openReadOnly({ driver: 'better-sqlite3', file: locateFile(), url: '', poolMax: 1 });
  const before = await source.version();
  expect(await countRows(source, 'teams')).toBe(3);
  await expect(source.run('delete from teams')).rejects.toThrow(/for reading only/);
  expect(await source.version()).toBe(before);
  await embedded.run('delete from teams');
  expect(await source.version()).not.toBe(before);
  await source.close();
});

const OWNER = '018bcfe5-6800-7000-8000-0000000000ab';
