import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driver } from '../rig/database.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

// skipped because only PostgreSQL prepares statements by name
describe.runIf(driver === 'pg')('the PostgreSQL driver', () => {
  let scratch: ScratchDb;
  beforeAll(async () => {
    scratch = await openScratchDb();
    await scratch.db.run('create table words (id bigint primary key, word varchar(5), at bigint)');
  });
  afterAll(() => scratch.close());

  it('prepares repeated statements, and plans a page for its values each time', async () => {
    const prepared = await scratch.db.tx(async (tx) => {
      for (let n = 0; n < 3; n++) {
        await tx.all('select id from words where id = ?', [n]);
        await tx.all('select id from words where id > ? order by id limit ?', [n, 2]);
      }
      return tx.all(`select statement from pg_prepared_statements where statement like 'select id from words%'`);
    });
    expect(prepared).toEqual([{ statement: 'select id from words where id = $1' }]);
  });

  it('refuses a text that is too long for its column, also one of many, and truncates none', async () => {
    const rows = [
      [1, 'short', 1],
      [2, 'longer', 2],
    ];
    await expect(scratch.db.insertMany('words', ['id', 'word', 'at'], rows)).rejects.toMatchObject({ code: '22001' });
    expect(await scratch.db.all('select * from words')).toEqual([]);
  });

  it('commits nothing after a failed statement, even when its error was ignored', async () => {
    const work = scratch.db.tx(async (tx) => {
      await tx.run('insert into words (id) values (?)', [3]);
      await tx.run('update nothing set n = 1').catch(() => undefined);
    });
    await expect(work).rejects.toThrow('the transaction was rolled back');
    expect(await scratch.db.all('select * from words')).toEqual([]);
  });

  it('runs the statements of a transaction in the order of the calls, without waiting in between', async () => {
    const counts = await scratch.db.tx((tx) =>
      Promise.all([
        tx.run('insert into words (id, at) values (?, ?)', [4, 1]),
        tx.run('update words set at = at + 1 where id = ?', [4]),
        tx.get('select at from words where id = ?', [4]),
        tx.run('delete from words where id = ?', [4]),
      ]),
    );
    expect(counts).toEqual([1, 1, { at: 2 }, 1]);
  });

  it('prepares a statement again after a migration of another process', async () => {
    const { db } = scratch;
    const all = () => db.all('select * from words where id = ?', [7]);
    await db.insertMany('words', ['id'], [[7]]);
    for (let n = 0; n < 3; n++) await all();
    const within = () => db.tx((tx) => tx.all('select * from words where id = ?', [7]));
    await within();
    await db.run('alter table words add column more bigint');
    expect(await all()).toEqual([{ id: 7, word: null, at: null, more: null }]);
    await within().catch(() => undefined);
    expect(await within()).toEqual([{ id: 7, word: null, at: null, more: null }]);
    await db.run('delete from words where id = ?', [7]);
  });

  it('continues after a connection is lost during a transaction', async () => {
    const { db } = scratch;
    const lost = db.tx(async (tx) => {
      const { pid } = (await tx.get<{ pid: number }>('select pg_backend_pid() as pid')) ?? { pid: 0 };
      await db.get('select pg_terminate_backend(?::int)', [pid]);
      await tx.run('insert into words (id) values (?)', [5]);
    });
    await expect(lost).rejects.toThrow();
    expect(await db.insertMany('words', ['id'], [[6]])).toBe(1);
    expect(await db.all('select id from words')).toEqual([{ id: 6 }]);
  });
});
