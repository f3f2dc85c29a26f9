import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDb, type Db, type Hearing } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

// runs only with PostgreSQL: SQLite bears one process
describe.runIf(driver === 'pg')('processes that listen on one PostgreSQL', () => {
  let scratch: ScratchDb;
  let [here, there]: Db[] = [];
  let faults: unknown[];
  let heard: string[];
  const until = (check: () => unknown) => vi.waitFor(check, { interval: 5 });
  const hear = (db: Db, url = ''): Hearing => db.hear({ url, random: () => 0, onFault: (error) => faults.push(error) });

  beforeEach(async () => {
    scratch = await openScratchDb();
    [here, there] = [scratch.db, await openDb(scratch.options)];
    await here.run('create table goods (name text)');
    await here.run('create table ills (name text)');
    [faults, heard] = [[], []];
  });
  afterEach(async () => {
    await there?.close();
    await scratch.close();
  });

  /** Makes both hear, and returns when each knows what the other waits for. */
  async function hearing(): Promise<{ here: Db; there: Db; ear: Hearing }> {
    if (!here || !there) throw new Error('the databases are not open');
    there.onCommit('goods', () => heard.push('goods'));
    there.onAnnounced('a bell', () => heard.push('bell'));
    const ear = hear(there);
    await until(() => expect(ear.deafSince()).toBeUndefined());
    const other = hear(here);
    await until(() => expect(other.deafSince()).toBeUndefined());
    // Each was first notified that it may have missed something.
    const first = here;
    const known = () => heard.length >= 4;
    await until(() => expect(known()).toBe(true));
    heard.length = 0;
    return { here: first, there, ear };
  }

  it('learn of each other’s commits to their tables and of announcements, and of nothing that was rolled back', async () => {
    const { here: writer } = await hearing();
    await writer.tx((tx) => tx.run('insert into goods (name) values (?)', ['apple']));
    await until(() => expect(heard).toEqual(['goods']));
    const failing = writer.tx(async (tx) => {
      await tx.run('insert into goods (name) values (?)', ['pear']);
      throw new Error('changed our mind');
    });
    await expect(failing).rejects.toThrow('changed our mind');
    await writer.run('insert into ills (name) values (?)', ['worm']);
    writer.announce('a bell');
    writer.announce('nobody waits for it');
    await until(() => expect(heard).toEqual(['goods', 'bell']));
    expect(faults).toEqual([]);
  });

  it('learn of many commits together, and nothing is sent that nobody listens for', async () => {
    const { here: writer } = await hearing();
    const spy = new pg.Client({ connectionString: scratch.options.url });
    await spy.connect();
    const told: string[][] = [];
    spy.on('notification', ({ payload }) => {
      const { of } = JSON.parse(payload ?? '') as { of?: string[] };
      if (of) told.push(of);
    });
    await spy.query('listen rasket');
    try {
      for (let n = 0; n < 50; n++) void writer.announce('a bell');
      await writer.run('insert into ills (name) values (?)', ['worm']);
      await until(() => expect(told).toEqual([['a bell']]));
    } finally {
      await spy.end();
    }
  });

  it('reconnect after a cut, check everything once, and then listen as before', async () => {
    const { here: writer, ear } = await hearing();
    const cut = await writer.all(
      `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'rasket listener' and datname = current_database()`,
    );
    expect(cut).toHaveLength(2);
    await writer.run('insert into goods (name) values (?)', ['apple']);
    await until(() =>
      expect([ear.deafSince(), heard.includes('goods'), heard.includes('bell')]).toEqual([undefined, true, true]),
    );
    expect(faults).toHaveLength(2);
    // However the two came back, a commit from here on is heard.
    const before = heard.length;
    await writer.run('insert into goods (name) values (?)', ['pear']);
    await until(() => expect(heard.length).toBeGreaterThan(before));
  });

  it('report a failed connection once, learn nothing, and close', async () => {
    if (!here) throw new Error('the database is not open');
    const ear = hear(here, 'postgres://nobody@127.0.0.1:1/nothing');
    await until(() => expect(faults).toHaveLength(1));
    expect(ear.deafSince()).toBeGreaterThan(0);
    await ear.close();
    expect(faults).toHaveLength(1);
  });

  it('ignore messages of other programs', async () => {
    const { here: writer } = await hearing();
    for (const payload of [
      '',
      '{',
      '[]',
      'null',
      '{"of":["goods"]}',
      '{"from":1,"of":["goods"]}',
      '{"from":"x","of":[7]}',
    ])
      await writer.all('select pg_notify(?, ?)', ['rasket', payload]);
    await writer.run('insert into goods (name) values (?)', ['apple']);
    await until(() => expect(heard).toEqual(['goods']));
  });
});
