import pg from 'pg';
import type { Knex } from 'knex';
import { tableWrittenBy } from './memo.ts';
import { isPlanOfOldSchema, type DriverDb } from './faults.ts';
import { pgAddress, prepareMigration, prepareSession } from './pg-session.ts';
import { createPgMemo } from './pg-memo.ts';
import { createPgHearing } from './pg-listener.ts';
import { createPgInsert, createPgStatements, type PgInsert, type PgStatements } from './pg-statements.ts';
import type { Executor, OpenDbOptions, Value } from './db.ts';

/** PostgreSQL sends bigint as text; every bigint of ours is a millisecond or a count, which a number holds exactly. */
const INT8 = 20;
pg.types.setTypeParser(INT8, Number);

/** A connection that is not one of the pool's, or not yet one. */
export const pgClient = (config: pg.ClientConfig): pg.Client => new pg.Client(config);

/** A server that vanished without a word must not hold every commit of this node for ever. */
const QUERY_MS_MAX = 60_000;
const CONNECT_MS_MAX = 10_000;
const IDLE_MS_MAX = 30_000;

/** What runs statements: the pool for one on its own, a connection inside a transaction. */
type Runner = Pick<pg.Pool, 'query'>;

interface Shared {
  statements: PgStatements;
  insert: PgInsert;
}

/**
 * PostgreSQL over `pg`. Statements that come again are prepared, rows are inserted as one parameter, and what a transaction
 * asks at once is written at once: a connection answers in order, and nothing waits for a round trip that it need not.
 */
export function openPgDb(options: OpenDbOptions): DriverDb {
  const pool = openPool(options);
  const shared: Shared = { statements: createPgStatements(), insert: createPgInsert() };
  const { committed, close: stopHearing, ...hearing } = createPgHearing(options.url);
  const alone = executorOn(pool, shared, ignore);
  return {
    dialect: 'pg',
    withKnex: (work) => withKnex(options, work),
    async unsafeSettings() {
      const sql = `select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`;
      return (await alone.all<{ name: string }>(sql)).map(({ name }) => name);
    },
    cutUnusedPages: async () => 0,
    lostFile: async () => undefined,
    abandonInto: () => Promise.reject(new Error('PostgreSQL looks after its own files')),
    memo: createPgMemo(alone),
    ...hearing,
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
      await stopHearing();
      await pool.end();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const touched = new Set<string>();
    const client = await pool.connect();
    let value: T;
    try {
      // Not waited for: where it fails, so does everything behind it.
      client.query('begin').catch(ignore);
      value = await work(executorOn(client, shared, (table) => void touched.add(table)));
      // After a failed statement whose error `work` has swallowed, PostgreSQL rolls back and says so.
      if ((await client.query('commit')).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    } catch (error) {
      await client.query('rollback').then(
        () => client.release(),
        (lost: Error) => client.release(lost),
      );
      throw error;
    }
    client.release();
    committed(touched);
    return value;
  }
}

function openPool({ url, poolMax }: OpenDbOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: pgAddress(url),
    application_name: 'rasket',
    keepAlive: true,
    query_timeout: QUERY_MS_MAX,
    max: poolMax,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: IDLE_MS_MAX,
    // Statements are written without waiting for the answers to those before them.
    pipeline: true,
    // The pool waits for what it answers, whatever its type says.
    onConnect: prepareSession as (client: pg.ClientBase) => void,
  });
  // A connection that is lost fails the statements on it, which reject; no other caller is concerned.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
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
      // A transaction is over by it, and is made again as after any other setback.
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

/** A migration of a large table takes as long as it takes. */
async function withKnex<T>({ url }: OpenDbOptions, work: (knex: Knex) => Promise<T>): Promise<T> {
  const { default: knexModule } = await import('knex');
  const knex = knexModule({
    client: 'pg',
    connection: { connectionString: pgAddress(url), application_name: 'rasket', keepAlive: true },
    // knex would write the values of a failed statement into its error, and so into the log.
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
    // knex writes to standard output, which belongs to answers; every error it reports it also throws.
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
