import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDb } from '../../src/platform/db/index.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

describe('the memo of a table', () => {
  let scratch: ScratchDb;
  let price: (name: string) => Promise<number | undefined>;

  beforeEach(async () => {
    scratch = await openScratchDb();
    const { db } = scratch;
    await db.withKnex((knex) =>
      knex.schema.createTable('goods', (table) => {
        table.text('name').primary();
        table.integer('price');
      }),
    );
    await db.insertMany('goods', ['name', 'price'], [['apple', 1]]);
    price = db.memo(['goods'], async (name) => {
      return (await db.get<{ price: number }>('select price from goods where name = ?', [name]))?.price;
    });
  });
  afterEach(() => scratch.close());

  it('is up to date after every write, in or outside a transaction', async () => {
    const { db } = scratch;
    expect(await price('apple')).toBe(1);
    await db.run('update goods set price = ? where name = ?', [2, 'apple']);
    expect(await price('apple')).toBe(2);
    await db.tx(
      async (tx) => void (await tx.all('update goods set price = 3 where name = ? returning name', ['apple'])),
    );
    expect(await price('apple')).toBe(3);
    await db.run('delete from goods');
    expect(await price('apple')).toBeUndefined();
    await db.insertMany('goods', ['name', 'price'], [['apple', 4]]);
    expect(await price('apple')).toBe(4);
  });

  it('never shows what a transaction has not committed, and is dropped when it has', async () => {
    const { db } = scratch;
    const seenInside: (number | undefined)[] = [];
    await db.tx(async (tx) => {
      await tx.run('update goods set price = 9 where name = ?', ['apple']);
      if (db.dialect === 'sqlite' && scratch.options.driver !== 'better-sqlite3') return;
      seenInside.push(await price('apple'));
    });
    expect(seenInside.every((seen) => seen === 1)).toBe(true);
    expect(await price('apple')).toBe(9);
  });

  it('contains nothing from a transaction that was rolled back', async () => {
    const { db } = scratch;
    const failing = db.tx(async (tx) => {
      await tx.run('update goods set price = 9 where name = ?', ['apple']);
      throw new Error('changed our mind');
    });
    await expect(failing).rejects.toThrow('changed our mind');
    expect(await price('apple')).toBe(1);
  });

  it('is dropped when another process writes', async () => {
    expect(await price('apple')).toBe(1);
    const other = await openDb(scratch.options);
    try {
      await other.run('update goods set price = 7 where name = ?', ['apple']);
    } finally {
      await other.close();
    }
    // The next turn of the event loop reads the database again.
    await new Promise((next) => setImmediate(next));
    expect(await price('apple')).toBe(7);
  });

  it('is dropped when another process has written before a transaction that is still open', async () => {
    const { db } = scratch;
    expect(await price('apple')).toBe(1);
    const other = await openDb(scratch.options);
    try {
      await other.run('update goods set price = 7 where name = ?', ['apple']);
    } finally {
      await other.close();
    }
    const seenInside: (number | undefined)[] = [];
    await db.tx(async () => {
      if (db.dialect === 'sqlite' && scratch.options.driver !== 'better-sqlite3') return;
      seenInside.push(await price('apple'));
    });
    expect(seenInside.every((seen) => seen === 7)).toBe(true);
  });
});
