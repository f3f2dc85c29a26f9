import pg from 'pg';
import type { Knex } from 'knex';
import { tableWrittenBy } from './memo.ts';
import { isPlanOfOldSchema, isServerLost, type DriverDb } from './faults.ts';
import { ServerMemory } from './choose-server.ts';
import { PgServers, ServerClient } from './pg-servers.ts';
import { prepareMigration, prepareSession } from './pg-session.ts';
import { createPgMemo } from './pg-memo.ts';
import { createPgHearing } from './pg-listener.ts';
import { createPgInsert, createPgStatements, type PgInsert, type PgStatements } from './pg-statements.ts';
import type { Executor, OpenDbOptions, Value } from './db.ts';

/** PostgreSQL sends bigint as text; all our bigints are milliseconds or counts, which a number holds exactly. */
const INT8 = 20;
pg.types.setTypeParser(INT8, Number);

/** A connection outside the pool, or not in it yet. */
export const pgClient = (config: pg.ClientConfig): pg.Client => new pg.Client(config);

/** A server that vanished silently must not block every commit of this node forever. */
const QUERY_MS_MAX = 60_000;
const CONNECT_MS_MAX = 10_000;
const IDLE_MS_MAX = 30_000;

/** Runs statements: the pool for single ones, a connection inside a transaction. */
type Runner = Pick<pg.Pool, 'query'>;

interface Shared {
  statements: PgStatements;
  insert: PgInsert;
}

/**
 * Opens PostgreSQL over `pg`. Repeated statements are prepared, rows are inserted as one parameter, and the statements
 * of a transaction are pipelined: a connection returns results in order, so nothing waits for an unnecessary round
 * trip.
 */
export function openPgDb(options: OpenDbOptions): DriverDb {
  const servers = new PgServers(options.url, {
    memory: new ServerMemory(options.timelineFile),
    onNotice: options.onServer,
  });
  const pool = openPool(options, servers);
  const shared: Shared = { statements: createPgStatements(), insert: createPgInsert() };
  const { committed, close: stopHearing, hear, ...hearing } = createPgHearing(servers);
  let stopWatching = (): void => undefined;
  const alone = executorOn(pool, shared, ignore);
  return {
    dialect: 'pg',
    withKnex: (work) => withKnex(servers, work),
    async unsafeSettings() {
      const sql = `select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`;
      return (await alone.all<{ name: string }>(sql)).map(({ name }) => name);
    },
    cutUnusedPages: async () => 0,
    lostFile: async () => undefined,
    abandonInto: () => Promise.reject(new Error('PostgreSQL looks after its own files')),
    memo: createPgMemo(alone),
    ...hearing,
    hear(order) {
      stopWatching();
      stopWatching = servers.watch();
      return hear(order);
    },
    serverInUse: () => servers.inUse,
    rivalServers: () => servers.rivals,
    all: alone.all,
    get: alone.get,
    async run(...statement) {
      const changes = await alone.run(...statement);
      const table = tableWrittenBy(statement[0]);
      if (table !== undefined) committed([table]);
      return changes;
    },
    runEach: (...statement) => transact((tx) => tx.runEach(...statement)),
    insertMany: (...insert) => transact((tx) => tx.insertMany(...insert)),
    tx: transact,
    txUnsynced: (work) =>
      transact(async (tx) => {
        await tx.run('set local synchronous_commit = off');
        return work(tx);
      }),
    async close() {
      stopWatching();
      await stopHearing();
      await pool.end();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const touched = new Set<string>();
    const client = await pool.connect();
    let value: T;
    try {
      // Not awaited: if it fails, so do all statements after it.
      client.query('begin').catch(ignore);
      value = await work(executorOn(client, shared, (table) => void touched.add(table)));
      // After a failed statement whose error `work` has swallowed, PostgreSQL rolls back and reports that.
      if ((await client.query('commit')).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    } catch (error) {
      servers.noteFault(error);
      await client.query('rollback').then(
        // A server that accepts no writes any more is of no use to the next transaction.
        () => client.release(isServerLost(error)),
        (lost: Error) => client.release(lost),
      );
      throw error;
    }
    client.release();
    committed(touched);
    return value;
  }
}

function openPool({ poolMax }: OpenDbOptions, servers: PgServers): pg.Pool {
  const pool = new pg.Pool({
    // The pool passes its options on to each client.
    ...({ servers, Client: ServerClient } as object),
    application_name: 'rasket',
    query_timeout: QUERY_MS_MAX,
    max: poolMax,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: IDLE_MS_MAX,
    // Statements are sent without waiting for the results of those before them.
    pipeline: true,
    // The pool awaits the returned promise, although its type does not say so.
    onConnect: prepareSession as (client: pg.ClientBase) => void,
  });
  // A lost connection fails the statements on it, which reject; no other caller is affected.
  pool.on('error', (error) => servers.noteFault(error));
  pool.on('connect', (client) => client.on('error', (error) => servers.noteFault(error)));
  pool.on('acquire', (client) => void ((client as unknown as ServerClient).isBusy = true));
  pool.on('release', (_, client) => void ((client as unknown as ServerClient).isBusy = false));
  return pool;
}

export function executorOn(on: Runner, { statements, insert }: Shared, onWrite: (table: string) => void): Executor {
  async function query(sql: string, values: readonly Value[]): Promise<pg.QueryResult> {
    const table = tableWrittenBy(sql);
    if (table !== undefined) onWrite(table);
    try {
      return await on.query(statements.of(sql, values));
    } catch (error) {
      if (!isPlanOfOldSchema(error)) throw error;
      statements.forget();
      // This ends a transaction, which is retried as after any other setback.
      if (on instanceof pg.Pool) return on.query(statements.of(sql, values));
      throw error;
    }
  }
  const run = async (sql: string, values: readonly Value[] = []): Promise<number> =>
    (await query(sql, values)).rowCount ?? 0;
  const executor: Executor = {
    dialect: 'pg',
    all: async <T>(sql: string, values: readonly Value[] = []) => (await query(sql, values)).rows as T[],
    get: async <T>(sql: string, values: readonly Value[] = []) => (await query(sql, values)).rows[0] as T | undefined,
    run,
    runEach: (sql, valueLists) => Promise.all(valueLists.map((values) => run(sql, values))),
    insertMany: (table, columns, rows, conflict = '') => insert(executor, { table, columns, rows, conflict }),
  };
  return executor;
}

/** A migration of a large table needs unlimited time. */
async function withKnex<T>(servers: PgServers, work: (knex: Knex) => Promise<T>): Promise<T> {
  const { default: knexModule } = await import('knex');
  const knex = knexModule({
    client: 'pg',
    connection: {
      connectionString: servers.buildUrl(await servers.find()),
      application_name: 'rasket',
      keepAlive: true,
    },
    // knex would put the values of a failed statement into its error, and so into the log.
    compileSqlOnError: false,
    pool: {
      min: 0,
      max: 2,
      afterCreate: (client: pg.Client, done: Done) =>
        void prepareMigration(client).then(
          () => done(null, client),
          (error: Error) => done(error, client),
        ),
    },
    acquireConnectionTimeout: CONNECT_MS_MAX,
    // knex writes to standard output, which is reserved for results of commands; it also throws every error that it
    // logs.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
  try {
    return await work(knex);
  } finally {
    await knex.destroy();
  }
}

type Done = (error: Error | null, client: pg.Client) => void;

function ignore(): void {}
