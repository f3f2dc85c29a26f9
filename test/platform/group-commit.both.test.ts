import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGroupCommit, type Db, type Executor, type GroupCommit } from '../../src/platform/db/index.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let scratch: ScratchDb;
let db: Db;
let commits: GroupCommit;
beforeAll(async () => {
  scratch = await openScratchDb();
  db = scratch.db;
  await db.run('create table notes (n bigint primary key, word text not null)');
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await db.run('delete from notes');
  commits = createGroupCommit(db);
});

const notes = async () => (await db.all<{ n: number }>('select n from notes order by n')).map((row) => row.n);
const write = (tx: Executor, items: number[], word = 'x') =>
  tx.insertMany(
    'notes',
    ['n', 'word'],
    items.map((n) => [n, word]),
  );
const settled = (promises: Promise<unknown>[]) =>
  Promise.all(promises.map((promise) => promise.then(String, (error: Error) => `! ${error.message}`)));

describe('a group commit', () => {
  it('contains the items submitted together, in one call of the lane with results in order', async () => {
    const calls: number[][] = [];
    const add = commits.lane<number, string>(async (tx, items) => {
      calls.push(items);
      await write(tx, items);
      return items.map((n) => `wrote ${n}`);
    });
    expect(await Promise.all([3, 1, 2].map(add))).toEqual(['wrote 3', 'wrote 1', 'wrote 2']);
    expect(calls).toEqual([[3, 1, 2]]);
    expect(await notes()).toEqual([1, 2, 3]);
  });

  it('contains the items that arrived during the commit before', async () => {
    const calls: number[][] = [];
    const late: Promise<number>[] = [];
    const add = commits.lane<number, number>(async (tx, items) => {
      calls.push(items);
      if (calls.length === 1) late.push(add(2), add(3));
      await write(tx, items);
      return items;
    });
    await add(1);
    expect(await Promise.all(late)).toEqual([2, 3]);
    expect(calls).toEqual([[1], [2, 3]]);
  });

  it('is bounded, and the remaining items follow in order', async () => {
    const sizes: number[] = [];
    const add = commits.lane<number, number>(async (tx, items) => {
      sizes.push(items.length);
      await write(tx, items);
      return items;
    });
    const all = Array.from({ length: 600 }, (_, n) => n);
    expect(await Promise.all(all.map(add))).toEqual(all);
    expect(sizes).toEqual([256, 256, 88]);
    expect(await notes()).toEqual(all);
  });

  it('takes items of tenants in turn, and fills up with light ones', async () => {
    const calls: string[][] = [];
    const add = commits.lane<string, string>(
      async (_tx, items) => {
        calls.push(items);
        return items;
      },
      (item) => ({ tenant: item.charAt(0), weight: item.startsWith('a') ? 100 : 1 }),
    );
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2'];
    expect(await Promise.all(all.map(add))).toEqual(all);
    expect(calls).toEqual([['a1', 'b1', 'a2', 'b2'], ['a3', 'a4'], ['a5']]);
  });

  it('puts a tenant’s later items last, however heavy they are', async () => {
    const calls: string[][] = [];
    const add = commits.lane<string, string>(
      async (_tx, items) => {
        calls.push(items);
        return items;
      },
      (item) => ({ tenant: 'a', weight: item.startsWith('page') ? 500 : 1, isLater: item.startsWith('page') }),
    );
    const all = ['page1', 'page2', 'single1', 'single2'];
    expect(await Promise.all(all.map(add))).toEqual(all);
    expect(calls).toEqual([['single1', 'single2'], ['page1'], ['page2']]);
  });

  it('applies its lanes in the order of their creation, in one transaction', async () => {
    const order: string[] = [];
    const first = commits.lane<number, number>(async (tx, items) => {
      order.push('first');
      await write(tx, items);
      return items;
    });
    const second = commits.lane<number, number>(async (tx, items) => {
      order.push('second');
      expect(await tx.get('select count(*) as n from notes')).toEqual({ n: 1 });
      return items;
    });
    await Promise.all([second(1), first(7)]);
    expect(order).toEqual(['first', 'second']);
  });
});

describe('a result', () => {
  it('is not returned before the commit', async () => {
    let answered = false;
    const seen: boolean[] = [];
    const held = createGroupCommit({
      ...db,
      tx: (work) =>
        db.tx(async (tx) => {
          const value = await work(tx);
          await new Promise((next) => setImmediate(next));
          seen.push(answered);
          return value;
        }),
    });
    const add = held.lane<number, number>(async (tx, items) => {
      await write(tx, items);
      return items;
    });
    await add(1).then(() => (answered = true));
    expect([seen, answered]).toEqual([[false], true]);
  });

  it('is never a success when the commit fails', async () => {
    const broken = createGroupCommit({
      ...db,
      tx: (work) =>
        db.tx(async (tx) => {
          await work(tx);
          throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
        }),
    });
    const add = broken.lane<number, number>(async (tx, items) => {
      await write(tx, items);
      return items;
    });
    expect(await settled([add(1), add(2)])).toEqual(['! disk full', '! disk full']);
    expect(await notes()).toEqual([]);
  });

  it('is awaited by settled() for all submitted items', async () => {
    const add = commits.lane<number, number>(async (tx, items) => {
      await write(tx, items);
      return items;
    });
    void add(1);
    await commits.settled();
    expect(await notes()).toEqual([1]);
    await commits.settled();
  });
});

describe('a faulty item', () => {
  it('that breaks the transaction fails alone, and the others are written once, in order', async () => {
    await write(db, [2]);
    const add = commits.lane<number, number>(async (tx, items) => {
      await write(tx, items);
      return items;
    });
    const [one, two, three] = await settled([add(1), add(2), add(3)]);
    expect([one, three]).toEqual(['1', '3']);
    expect(two).toMatch(/^! /);
    expect(await notes()).toEqual([1, 2, 3]);
  });

  it('in one lane does not affect those of another lane', async () => {
    const bad = commits.lane<number, number>(async () => {
      throw new Error('bad lane');
    });
    const good = commits.lane<number, number>(async (tx, items) => {
      await write(tx, items);
      return items;
    });
    expect(await settled([bad(1), good(2), bad(3), good(4)])).toEqual(['! bad lane', '2', '! bad lane', '4']);
    expect(await notes()).toEqual([2, 4]);
  });

  it('can get an error while the group is committed', async () => {
    const add = commits.lane<number, number>(async (tx, items) => {
      const good = items.filter((n) => n !== 2);
      await write(tx, good);
      return items.map((n) => (n === 2 ? new Error('not two') : n));
    });
    expect(await settled([add(1), add(2), add(3)])).toEqual(['1', '! not two', '3']);
    expect(await notes()).toEqual([1, 3]);
  });

  it('does not affect the next group', async () => {
    let isBroken = true;
    const add = commits.lane<number, number>(async (tx, items) => {
      if (isBroken) throw new Error('broken');
      await write(tx, items);
      return items;
    });
    expect(await settled([add(1), add(2)])).toEqual(['! broken', '! broken']);
    isBroken = false;
    expect(await add(3)).toBe(3);
  });

  it('that a lane forgets is a programming error, and nobody gets a wrong result', async () => {
    const add = commits.lane<number, number>(async (_tx, items) => items.slice(1));
    const forgotten = '! lane returned 0 results for 1 items';
    expect(await settled([add(1), add(2)])).toEqual([forgotten, forgotten]);
  });

  it('is not searched for when the database is unreachable, which is tried once for the group', async () => {
    let tries = 0;
    const gone = createGroupCommit({
      ...db,
      tx: async () => {
        tries++;
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      },
    });
    const add = gone.lane<number, number>(async (_tx, items) => items);
    const answers = await settled(Array.from({ length: 50 }, (_, n) => add(n)));
    expect(new Set(answers)).toEqual(new Set(['! connect ECONNREFUSED']));
    expect(tries).toBe(1);
  });
});
