import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  isUniqueViolation,
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  openDb,
  type Db,
  type Page,
  type Value,
} from '../../src/platform/db/index.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

export const HOSTILE = [
  "'; drop table things; --",
  '"',
  '\\',
  '{}',
  '{a,b}',
  '["a"]',
  '? ?? $1 :name @p',
  '%_',
  'a,b',
  '\n\r\t',
  'null',
  '',
  'Ünïcödé 例え',
  '👩‍👩‍👧 🚀',
  '\u{10ffff}',
];

async function createThings(db: Db): Promise<void> {
  const [uuid, bytes] = db.dialect === 'pg' ? ['uuid', 'bytea'] : ['text', 'blob'];
  await db.run(
    `create table things (id ${uuid} primary key, name text unique, n bigint, body ${bytes}, ratio double precision)`,
  );
}

/** Tests what every driver promises in the same way. */
export function describeSeam(): void {
  let scratch: ScratchDb;
  let db: Db;
  beforeAll(async () => {
    scratch = await openScratchDb();
    db = scratch.db;
    await createThings(db);
  });
  afterAll(() => scratch.close());
  beforeEach(async () => void (await db.run('delete from things')));

  const count = async () => (await db.get<{ n: number }>('select count(*) as n from things'))?.n;
  const row = (name: string | null, n: number | null = 0): Value[] => [randomUUID(), name, n];
  const insert = (rows: Value[][], conflict?: string) => db.insertMany('things', ['id', 'name', 'n'], rows, conflict);

  describe('values', () => {
    it('are read as they were written: null, bytes, large numbers, fractions, any text', async () => {
      const body = Buffer.from([0, 1, 255, 39, 92]);
      for (const [i, name] of HOSTILE.entries()) {
        const id = randomUUID();
        const n = 2 ** 53 - 1 - i;
        await db.insertMany('things', ['id', 'name', 'n', 'body', 'ratio'], [[id, name, n, body, 0.1]]);
        const back = await db.get('select * from things where name = ?', [name]);
        expect(back).toEqual({ id, name, n, body, ratio: 0.1 });
      }
      const id = randomUUID();
      await db.insertMany('things', ['id', 'name', 'n', 'body', 'ratio'], [[id, null, null, null, null]]);
      expect(await db.get('select * from things where id = ?', [id])).toEqual({
        id,
        name: null,
        n: null,
        body: null,
        ratio: null,
      });
    });

    it('of a missing row are undefined, and no rows are an empty list', async () => {
      expect(await db.get('select * from things where n = ?', [1])).toBeUndefined();
      expect(await db.all('select * from things where n = ?', [1])).toEqual([]);
    });

    it('of a count are numbers', async () => {
      expect(await count()).toBe(0);
    });
  });

  describe('run', () => {
    it('returns the number of changed rows', async () => {
      await insert([row('a', 1), row('b', 1), row('c', 2)]);
      expect(await db.run('update things set n = 5 where n = ?', [1])).toBe(2);
      expect(await db.run('update things set n = 5 where n = ?', [99])).toBe(0);
      expect(await db.run('delete from things where n = ?', [2])).toBe(1);
    });

    it('returns its own count when many run at once', async () => {
      await insert(Array.from({ length: 20 }, (_, i) => row(`n${i}`, i)));
      const counts = await Promise.all(
        Array.from({ length: 40 }, (_, i) => db.run('update things set n = n where n = ?', [i])),
      );
      expect(counts).toEqual(Array.from({ length: 40 }, (_, i) => (i < 20 ? 1 : 0)));
    });
  });

  describe('runEach', () => {
    const sql = 'update things set n = ? where name = ?';

    it('returns the number of changed rows for each, in order', async () => {
      await insert([row('a', 1), row('b', 2)]);
      expect(await db.runEach(sql, [])).toEqual([]);
      const values = [
        [10, 'a'],
        [20, 'nobody'],
        [30, 'b'],
        [11, 'a'],
      ];
      expect(await db.runEach(sql, values)).toEqual([1, 0, 1, 1]);
      const found = await db.all<{ n: number }>('select n from things order by name');
      expect(found.map((thing) => thing.n)).toEqual([11, 30]);
    });

    it('is all or nothing', async () => {
      await insert([row('a', 1), row('b', 2)]);
      const rename = db.runEach('update things set name = ? where name = ?', [
        ['c', 'a'],
        ['c', 'b'],
      ]);
      await expect(rename).rejects.toThrow();
      expect(await db.all('select name from things order by name')).toEqual([{ name: 'a' }, { name: 'b' }]);
    });
  });

  describe('insertMany', () => {
    it.each([0, 1, 15, 16, 17, 32, 400, 401, 1000])('writes %d rows and returns their number', async (n) => {
      expect(await insert(Array.from({ length: n }, (_, i) => row(`n${i}`, i)))).toBe(n);
      expect(await count()).toBe(n);
    });

    it('skips existing rows on request, also twice in one call, and returns the number of written rows', async () => {
      await insert([row('b', 1)]);
      const rows = [row('a', 2), row('b', 2), row('c', 2), row('a', 3)];
      expect(await insert(rows, 'on conflict (name) do nothing')).toBe(2);
      const names = await db.all<{ name: string; n: number }>('select name, n from things order by name');
      expect(names.map((found) => [found.name, found.n])).toEqual([
        ['a', 2],
        ['b', 1],
        ['c', 2],
      ]);
    });

    it('skips one of many rows in any place, and writes all others unchanged', async () => {
      for (let n = 0; n < 20; n++) {
        await db.run('delete from things');
        await insert([row(`n${n}`, -1)]);
        const rows = Array.from({ length: 20 }, (_, i) => row(`n${i}`, i));
        expect(await insert(rows, 'on conflict (name) do nothing')).toBe(19);
        const found = await db.all<{ name: string; n: number }>('select name, n from things order by n');
        expect(found.map((thing) => thing.n)).toEqual(
          [-1, ...Array.from({ length: 20 }, (_, i) => i)].filter((i) => i !== n),
        );
        expect(found.filter((thing) => thing.name !== `n${thing.n}`)).toEqual([{ name: `n${n}`, n: -1 }]);
      }
    });

    it('is all or nothing, also across its own parts', async () => {
      const rows = Array.from({ length: 900 }, (_, i) => row(i === 899 ? 'n0' : `n${i}`));
      const failure = await insert(rows).catch((error: unknown) => error);
      expect(isUniqueViolation(failure)).toBe(true);
      expect(await count()).toBe(0);
    });
  });

  it('a unique violation is recognized, and another error is not', async () => {
    await insert([row('a')]);
    expect(isUniqueViolation(await insert([row('a')]).catch((error: unknown) => error))).toBe(true);
    expect(isUniqueViolation(await db.run('select nonsense').catch((error: unknown) => error))).toBe(false);
    expect(isUniqueViolation(undefined)).toBe(false);
  });

  describe('a transaction', () => {
    it('is rolled back as a whole when the work throws, and the error is passed on', async () => {
      const fault = new Error('changed my mind');
      const work = db.tx(async (tx) => {
        await tx.insertMany('things', ['id', 'name', 'n'], [row('a'), row('b')]);
        expect(await tx.get('select count(*) as n from things')).toEqual({ n: 2 });
        throw fault;
      });
      await expect(work).rejects.toBe(fault);
      expect(await count()).toBe(0);
      await db.tx((tx) => tx.insertMany('things', ['id', 'name', 'n'], [row('a')]));
      expect(await count()).toBe(1);
    });

    it('is rolled back when a statement fails and the work continues', async () => {
      const work = db.tx(async (tx) => {
        await tx.insertMany('things', ['id', 'name', 'n'], [row('a')]);
        await tx.run('update nothing set n = 1');
      });
      await expect(work).rejects.toThrow();
      expect(await count()).toBe(0);
    });

    it('returns the result of the work', async () => {
      expect(await db.tx(async () => 'value')).toBe('value');
    });

    it('is not visible outside before it is committed', async () => {
      let seenInside: unknown;
      await db.tx(async (tx) => {
        await tx.insertMany('things', ['id', 'name', 'n'], [row('a')]);
        seenInside = await count();
      });
      expect([seenInside, await count()]).toEqual([0, 1]);
    });

    it('loses nothing when many run at once', async () => {
      await insert([row('counter', 0)]);
      const add = () => db.tx((tx) => tx.run("update things set n = n + 1 where name = 'counter'"));
      await Promise.all(Array.from({ length: 25 }, add));
      expect(await db.get("select n from things where name = 'counter'")).toEqual({ n: 25 });
    });
  });

  itWaitsForTransactions(() => db);

  describe('an unsynced transaction', () => {
    it('is a transaction like any other', async () => {
      const fault = new Error('changed my mind');
      const work = db.txUnsynced(async (tx) => {
        await tx.insertMany('things', ['id', 'name', 'n'], [row('a')]);
        throw fault;
      });
      await expect(work).rejects.toBe(fault);
      expect(await count()).toBe(0);
      expect(await db.txUnsynced((tx) => tx.insertMany('things', ['id', 'name', 'n'], [row('a')]))).toBe(1);
      expect(await count()).toBe(1);
    });

    it('waits for its turn, and no read interferes with it', async () => {
      await insert([row('counter', 0)]);
      const sql = "update things set n = n + 1 where name = 'counter'";
      let isDone = false;
      const readOn = async (): Promise<void> => {
        while (!isDone) await count();
      };
      const works = Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0 ? db.txUnsynced((tx) => tx.run(sql)) : db.tx((tx) => tx.run(sql)),
      );
      const written = Promise.all(works).finally(() => (isDone = true));
      await Promise.all([written, readOn(), readOn()]);
      expect(await db.get("select n from things where name = 'counter'")).toEqual({ n: 20 });
    });

    it('leaves everything after it synced', async () => {
      const setting = db.dialect === 'pg' ? 'show synchronous_commit' : 'pragma synchronous';
      const before = await db.get(setting);
      await db.txUnsynced((tx) => tx.insertMany('things', ['id', 'name', 'n'], [row('a')]));
      await expect(db.txUnsynced((tx) => tx.run('update nothing set n = 1'))).rejects.toThrow();
      expect(await db.get(setting)).toEqual(before);
      expect(await db.tx((tx) => tx.get(setting))).toEqual(before);
      // PostgreSQL's own default is its operator's business.
      if (db.dialect === 'sqlite') expect(Object.values(before ?? {})).toEqual([2]);
    });
  });

  describe('a list as one parameter', () => {
    it.each([0, 1, 1000])('finds %d rows', async (n) => {
      const rows = Array.from({ length: n }, (_, i) => row(`n${i}`, i));
      await insert([...rows, row('another', 1)]);
      const ids = uuidsIn(
        db.dialect,
        'id',
        rows.map(([id]) => String(id)),
      );
      const names = textsIn(
        db.dialect,
        'name',
        rows.map(([, name]) => String(name)),
      );
      for (const among of [ids, names]) {
        expect(await db.all(`select id from things where ${among.sql}`, [among.value])).toHaveLength(n);
      }
    });

    it('treats hostile texts as texts', async () => {
      await insert(HOSTILE.map((name) => row(name)));
      const among = textsIn(db.dialect, 'name', HOSTILE);
      expect(await db.all(`select id from things where ${among.sql}`, [among.value])).toHaveLength(HOSTILE.length);
      const one = textsIn(db.dialect, 'name', ["'; drop table things; --"]);
      expect(await db.all(`select id from things where ${one.sql}`, [one.value])).toHaveLength(1);
    });

    it('with an invalid UUID finds nothing for it, and all others', async () => {
      const kept = row('kept');
      await insert([kept]);
      const among = uuidsIn(db.dialect, 'id', [...HOSTILE, String(kept[0])]);
      expect(await db.all(`select name from things where ${among.sql}`, [among.value])).toEqual([{ name: 'kept' }]);
    });
  });

  it('pages meet without gap or overlap in both directions', async () => {
    const ids = Array.from({ length: 7 }, (_, i) => `018bcfe5-6800-7000-8000-00000000000${i}`);
    await insert(ids.map((id, i) => [id, `n${i}`, i % 2]));
    const newestFirst = ids.toReversed();
    const read = async (page: Page) => {
      const rows = await db.all<{ id: string }>(pageSql('things', 'n >= ?', page, 'id'), [0, ...pageValues(page)]);
      const { rows: kept, hasMore } = cutPage(rows, page);
      return { ids: kept.map(({ id }) => id), hasMore };
    };
    for (const limit of [1, 2, 3, 7, 8]) {
      const down: string[] = [];
      for (let after: string | undefined; ; after = down.at(-1)) {
        const page = await read({ limit, after });
        down.push(...page.ids);
        if (!page.hasMore) break;
      }
      expect(down).toEqual(newestFirst);
      const up: string[] = [];
      for (let before: string | undefined = ids[0]; ; before = up[0]) {
        const page = await read({ limit, before });
        up.unshift(...page.ids);
        if (!page.hasMore) break;
      }
      expect(up).toEqual(newestFirst.slice(0, -1));
    }
  });
}

function itWaitsForTransactions(dbOf: () => Db): void {
  it('a write that returns its rows waits for a transaction in progress', async () => {
    const db = dbOf();
    const isOpen = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const first = db.tx(async (tx) => {
      await tx.run('insert into things (id, name) values (?, ?)', [randomUUID(), 'first']);
      isOpen.resolve();
      await mayEnd.promise;
    });
    await isOpen.promise;
    const insert = 'insert into things (id, name) values (?, ?) returning name';
    const others = Promise.all([
      db.get(insert, [randomUUID(), 'second']),
      db.all(`/* with a comment */ ${insert}`, [randomUUID(), 'third']),
    ]);
    // SQLite has one writer: what waits for it is not under way yet.
    setImmediate(mayEnd.resolve);
    expect(await others).toEqual([{ name: 'second' }, [{ name: 'third' }]]);
    await first;
    expect(await db.all('select name from things order by name')).toHaveLength(3);
  });
}

/** Tests an abandoned database file; on PostgreSQL there is no file of ours. */
export function describeAbandoned(): void {
  it('a copy of the database file is complete, after which the source accepts no writes and has no log', async () => {
    const { db, options, close } = await openScratchDb();
    const file = options.file;
    const copy = `${options.file}.copy`;
    const none = path.join(options.file, 'none');
    expect(await db.lostFile()).toBeUndefined();
    if (db.dialect === 'pg') {
      await expect(db.abandonInto(copy)).rejects.toThrow(/its own files/);
      return close();
    }
    await createThings(db);
    const insert = (name: string) => db.run('insert into things (id, name) values (?, ?)', [randomUUID(), name]);
    await insert('before');
    expect(await db.lostFile()).toBeUndefined();
    copyFileSync(file, `${file}.new`);
    renameSync(`${file}.new`, file);
    expect(await db.lostFile()).toBe(`${file} was replaced by another file`);
    await insert('behind');

    const mayEnd = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const open = db.tx(async (tx) => {
      await tx.run('insert into things (id, name) values (?, ?)', [randomUUID(), 'open']);
      late.resolve();
      await mayEnd.promise;
    });
    await late.promise;
    const refused = expect(open).rejects.toThrow(/deleted, renamed or replaced/);
    const failed = expect(db.abandonInto(none)).rejects.toThrow();
    mayEnd.resolve();
    await Promise.all([refused, failed]);
    await expect(insert('refused')).rejects.toMatchObject({ code: 'DATABASE_FILE_LOST' });
    await db.abandonInto(copy);
    expect(await db.all('select name from things order by name')).toHaveLength(2);
    await db.close();
    expect(['-wal', '-shm'].filter((end) => existsSync(`${file}${end}`))).toEqual([]);

    renameSync(copy, file);
    const back = await openDb(options);
    expect(await back.all('select name from things order by name')).toEqual([{ name: 'before' }, { name: 'behind' }]);
    await back.close();
    rmSync(path.dirname(file), { recursive: true });
  });
}
