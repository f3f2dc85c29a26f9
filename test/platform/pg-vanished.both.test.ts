import { describe, expect, it } from 'vitest';
import {
  isDatabaseSetback,
  openDb,
  openPgPresence,
  openPgSnapshot,
  openPgTurn,
  serverFacts,
} from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { startTcpRelay } from '../rig/tcp-relay.ts';
import { openScratchDb } from './scratch-db.ts';

// runs only with PostgreSQL: an embedded database has one process
describe.runIf(driver === 'pg')('a node that vanishes during a transaction', () => {
  it('releases its rows, so that another node can write them', async () => {
    const scratch = await openScratchDb();
    const { hostname, port } = new URL(scratch.options.url);
    const relay = await startTcpRelay({ host: hostname, port: Number(port) });
    const through = new URL(scratch.options.url);
    through.port = String(relay.port);
    // An operator may have set this, and shorter than ours.
    through.searchParams.set('options', '-c idle_in_transaction_session_timeout=200');
    const vanishing = await openDb({ ...scratch.options, url: through.href });
    try {
      await scratch.db.run('create table shared_rows (id integer primary key, n integer)');
      await scratch.db.run('insert into shared_rows values (1, 0)');
      const written = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      const lost = vanishing.tx(async (tx) => {
        await tx.run('update shared_rows set n = 1 where id = 1');
        written.resolve();
        await goesOn.promise;
        await tx.run('update shared_rows set n = 2 where id = 1');
      });
      lost.catch(() => undefined);
      await written.promise;
      relay.set('silent');
      await scratch.db.run('update shared_rows set n = n + 10 where id = 1');
      relay.set('open');
      goesOn.resolve();
      const failure: unknown = await lost.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(isDatabaseSetback(failure)).toBe(true);
      expect(await scratch.db.get('select n from shared_rows')).toEqual({ n: 10 });
    } finally {
      await vanishing.close();
      await relay.close();
      await scratch.close();
    }
  });

  it.each([
    { set: '0', inForce: '10s' },
    { set: '3s', inForce: '3s' },
    { set: '5min', inForce: '5min' },
  ])(
    'has idle_in_transaction_session_timeout = $set on its server, which is $inForce on every connection of ours',
    async ({ set, inForce }) => {
      const scratch = await openScratchDb();
      try {
        const name = new URL(scratch.options.url).pathname.slice(1);
        await scratch.db.run(`alter database ${name} set idle_in_transaction_session_timeout = '${set}'`);
        const db = await openDb(scratch.options);
        const asked = Array.from({ length: 5 }, () =>
          db.get<{ now: string }>(`select current_setting('idle_in_transaction_session_timeout') as now`),
        );
        expect(new Set((await Promise.all(asked)).map((row) => row?.now))).toEqual(new Set([inForce]));
        // A migration is one transaction, and takes as long as it takes.
        const migrating = await db.withKnex((knex) =>
          knex.raw<{ rows: unknown }>(`select current_setting('idle_in_transaction_session_timeout') as now`),
        );
        expect(migrating.rows).toEqual([{ now: '0' }]);
        await db.close();
      } finally {
        await scratch.close();
      }
    },
  );
});

// runs only with PostgreSQL: an embedded database has one process
describe.runIf(driver === 'pg')('a database session ends soon after its client vanished', () => {
  const NAMES = [
    'tcp_keepalives_idle',
    'tcp_keepalives_interval',
    'tcp_keepalives_count',
    'tcp_user_timeout',
    'client_connection_check_interval',
  ] as const;
  const shown = NAMES.map((name) => `current_setting('${name}') as ${name}`).join(', ');
  type Shown = Record<(typeof NAMES)[number], string>;
  const OURS: Shown = {
    tcp_keepalives_idle: '20',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '4',
    tcp_user_timeout: '40000',
    client_connection_check_interval: '10s',
  };

  it.each([
    { by: 'our own settings', set: undefined, inForce: OURS },
    { by: 'what the operator has set', set: '7', inForce: { ...OURS, tcp_keepalives_idle: '7' } },
  ])('by $by', async ({ set, inForce }) => {
    const scratch = await openScratchDb();
    try {
      const name = new URL(scratch.options.url).pathname.slice(1);
      if (set !== undefined) await scratch.db.run(`alter database ${name} set tcp_keepalives_idle = '${set}'`);
      const db = await openDb(scratch.options);
      expect(await db.get<Shown>(`select ${shown} from (select 1) as one`)).toEqual(inForce);
      const migrating = await db.withKnex((knex) => knex.raw<{ rows: Shown[] }>(`select ${shown}`));
      expect(migrating.rows).toEqual([inForce]);
      await db.close();
    } finally {
      await scratch.close();
    }
  });
});

// runs only with PostgreSQL: an embedded database ends nothing by itself
describe.runIf(driver === 'pg')('long-running work', () => {
  it('is not ended by the timeouts that the operator has set for statements and transactions', async () => {
    const scratch = await openScratchDb();
    const { url } = scratch.options;
    const { version } = await serverFacts(scratch.db);
    const names = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout'];
    if (Number.parseInt(version, 10) >= 17) names.push('transaction_timeout');
    const inForce = `select distinct setting from pg_settings where name in (${names.map((name) => `'${name}'`).join(', ')})`;
    const database = new URL(url).pathname.slice(1);
    for (const name of names) await scratch.db.run(`alter database ${database} set ${name} = '2s'`);
    const migrating = await scratch.db.withKnex((knex) => knex.raw<{ rows: unknown }>(inForce));
    expect(migrating.rows).toEqual([{ setting: '0' }]);
    const snapshot = await openPgSnapshot(url, { isAlone: true });
    expect(await snapshot.all(inForce)).toEqual([{ setting: '0' }]);
    await snapshot.close();
    const endTurn = await openPgTurn(url, () => undefined);
    // The first has it for longer than that, and the second waits for longer.
    const second = openPgTurn(url, () => undefined);
    const old = `select pid from pg_stat_activity where application_name = 'rasket upgrade' and datname = current_database()
      and clock_timestamp() - xact_start > interval '2.5 seconds'`;
    await expect.poll(() => scratch.db.all(old)).toHaveLength(2);
    await endTurn();
    await (
      await second
    )();
    await scratch.close();
  });
});

// runs only with PostgreSQL: nothing stands between us and a file
it.runIf(driver === 'pg')(
  'a move marks itself by a transaction that no pooler shares, no timeout ends and no vacuum waits for',
  async () => {
    const scratch = await openScratchDb();
    const url = new URL(scratch.options.url);
    url.searchParams.set('options', '-c idle_in_transaction_session_timeout=200 -c statement_timeout=200');
    const end = await openPgPresence(url.href, 'rasket-move-1');
    try {
      const ages = `select count(*) as n from pg_stat_activity where application_name = 'rasket-move-1' and datname = current_database()
        and state = 'idle in transaction' and backend_xmin is null and backend_xid is null and now() - xact_start > interval '400 ms'`;
      await expect.poll(() => scratch.db.get(ages)).toEqual({ n: 1 });
    } finally {
      await end();
      await scratch.close();
    }
  },
);
