import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  openDb,
  openPgPresence,
  openPgSnapshot,
  openPgTurn,
  partsOfPgUrl,
  type ServerNotice,
} from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

// runs only with PostgreSQL
describe.runIf(driver === 'pg')('a URL with several PostgreSQL servers', () => {
  let scratch: ScratchDb;
  /** A server that is down, and the one of the tests. */
  let url: string;
  let server: URL;
  beforeEach(async () => {
    scratch = await openScratchDb();
    server = new URL(scratch.options.url);
    url = scratch.options.url.replace(server.host, `${server.hostname}:1,${server.host}`);
  });
  afterEach(() => scratch.close());

  it('leads statements, migrations, turns, presences, backups and notifications to the one that accepts writes', async () => {
    const notices: ServerNotice[] = [];
    const db = await openDb({ ...scratch.options, url, onServer: (notice) => void notices.push(notice) });
    await db.run('create table goods (name text)');
    await db.withKnex((knex) => knex.schema.createTable('ills', (table) => void table.text('name')));
    const hearing = db.hear({ url: '', random: () => 0, onFault: () => undefined });
    await expect.poll(() => hearing.deafSince()).toBeUndefined();
    const endTurn = await openPgTurn(url, () => undefined);
    const endPresence = await openPgPresence(url, 'rasket-move-1');
    const snapshot = await openPgSnapshot(url, { isAlone: true });
    expect(new URL(snapshot.url).searchParams.get('port')).toBe(server.port);
    expect(await partsOfPgUrl(url)).toMatchObject({ host: server.hostname, port: server.port });
    for (const end of [snapshot.close, endPresence, endTurn, () => db.close()]) await end();
    expect(notices).toEqual([{ kind: 'in use', host: server.host, timeline: expect.any(Number) as number }]);
  });

  it('fails with an error that is worth another attempt while none of them accepts writes', async () => {
    await scratch.db.run(`alter database ${server.pathname.slice(1)} set default_transaction_read_only = on`);
    const db = await openDb({ ...scratch.options, url });
    await expect(db.all('select 1 as one')).rejects.toMatchObject({
      code: 'DATABASE_NO_PRIMARY',
      message: `no PostgreSQL server of the database URL accepts writes (${server.host}: it is read-only; ${server.hostname}:1: ECONNREFUSED)`,
    });
    await db.close();
  });
});

// runs only with PostgreSQL
it.runIf(driver === 'pg')(
  'a connection whose server has become read-only is not used for the next transaction',
  async () => {
    const scratch = await openScratchDb();
    const db = await openDb({ ...scratch.options, poolMax: 1 });
    await db.run('create table goods (name text)');
    const insert = (): Promise<number> => db.tx((tx) => tx.run('insert into goods (name) values (?)', ['apple']));
    expect(await insert()).toBe(1);
    await db.run('set default_transaction_read_only = on');
    await expect(insert()).rejects.toMatchObject({ code: '25006' });
    expect(await insert()).toBe(1);
    await db.close();
    await scratch.close();
  },
);
