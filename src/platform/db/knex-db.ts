import knexModule, { type Knex } from 'knex';
import pg from 'pg';
import { createCommitListeners } from './commit-listeners.ts';
import { tableWrittenBy } from './memo.ts';
import { NEW_FILE_PRAGMA, SQLITE_PRAGMAS } from './pragmas.ts';
import { cutUnusedPages, firstNumber } from './unused-pages.ts';
import type { Db, Dialect, Executor, OpenDbOptions, Row, Value } from './types.ts';

/** PostgreSQL sends bigint as text; every bigint of ours is a millisecond or a count, which a number holds exactly. */
const INT8 = 20;
pg.types.setTypeParser(INT8, Number);

/** PostgreSQL, and SQLite through the asynchronous `sqlite3` driver. */
export function openKnexDb(options: OpenDbOptions): Db {
  const dialect: Dialect = options.driver === 'pg' ? 'pg' : 'sqlite';
  const writer = dialect === 'pg' ? openPg(options) : openSqlite3(options.file);
  // SQLite has one writer; reads on a connection of their own never wait for it.
  const reader = dialect === 'pg' ? writer : openSqlite3(options.file);
  const reading = executorOn(reader, dialect);
  const listeners = createCommitListeners();
  return {
    dialect,
    withKnex: (work) => (dialect === 'pg' ? withPatience(options, work) : work(writer)),
    async unsafeSettings() {
      if (dialect !== 'pg') return [];
      const sql = `select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`;
      return (await reading.all<{ name: string }>(sql)).map(({ name }) => name);
    },
    cutUnusedPages: async (pagesMax) => {
      if (dialect === 'pg') return 0;
      return cutUnusedPages(async (text) => firstNumber((await writer.raw(`pragma ${text}`)) as Row[]), pagesMax);
    },
    memo: (_tables, load) => load,
    onCommit: listeners.add,
    all: reading.all,
    get: reading.get,
    // `changes()` speaks of the connection's latest statement: nothing else may run between it and ours.
    run: dialect === 'pg' ? runOnPg : (...statement) => transact((tx) => tx.run(...statement)),
    runEach: (...statement) => transact((tx) => tx.runEach(...statement)),
    insertMany: (...insert) => transact((tx) => tx.insertMany(...insert)),
    tx: transact,
    txUnsynced: dialect === 'pg' ? transactUnsynced : transact,
    async close() {
      await writer.destroy();
      if (reader !== writer) await reader.destroy();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const touched = new Set<string>();
    const value = await writer.transaction((trx) => work(executorOn(trx, dialect, (table) => void touched.add(table))));
    listeners.tell(touched);
    return value;
  }

  async function runOnPg(...statement: Parameters<Executor['run']>): Promise<number> {
    const changes = await executorOn(writer, dialect).run(...statement);
    const table = tableWrittenBy(statement[0]);
    if (table !== undefined) listeners.tell([table]);
    return changes;
  }

  function transactUnsynced<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    return transact(async (tx) => {
      await tx.run('set local synchronous_commit = off');
      return work(tx);
    });
  }
}

/** A migration of a large table takes as long as it takes. */
async function withPatience<T>(options: OpenDbOptions, work: (knex: Knex) => Promise<T>): Promise<T> {
  const patient = openPg(options, {});
  try {
    return await work(patient);
  } finally {
    await patient.destroy();
  }
}

/** knex writes to standard output, which belongs to answers; every error it reports it also throws. */
const SILENT: Knex.Logger = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };

function ignore(): void {}

/** A server that vanished without a word must not hold every commit of this node for ever. */
const QUERY_MS_MAX = 60_000;

function openPg(options: OpenDbOptions, limits: { query_timeout?: number } = { query_timeout: QUERY_MS_MAX }): Knex {
  return knexModule({
    client: 'pg',
    connection: { connectionString: options.url, application_name: 'rasket', keepAlive: true, ...limits },
    // knex would write the values of a failed statement into its error, and so into the log.
    compileSqlOnError: false,
    pool: { min: 0, max: options.poolMax, afterCreate: waitForDisk },
    acquireConnectionTimeout: 10_000,
    log: SILENT,
  });
}

/**
 * `off` would answer before a commit is on disk, and a crash of the server would take back accepted mail. Any other value
 * has at least this server's disk waited for, and is the operator's choice.
 */
function waitForDisk(connection: pg.Client, done: (error: Error | null, connection: pg.Client) => void): void {
  const sql = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;
  connection.query(sql, (error) => done(error, connection));
}

interface Sqlite3Connection {
  get(sql: string, done: (error: Error | null, row?: { page_count: number }) => void): void;
  exec(sql: string, done: (error: Error | null) => void): void;
}

function openSqlite3(filename: string): Knex {
  return knexModule({
    client: 'sqlite3',
    compileSqlOnError: false,
    connection: { filename },
    useNullAsDefault: true,
    log: SILENT,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: Sqlite3Connection, done: (error: Error | null) => void) {
        connection.get('PRAGMA page_count', (error, row) => {
          if (error) return done(error);
          const pragmas = row?.page_count === 0 ? [NEW_FILE_PRAGMA, ...SQLITE_PRAGMAS] : SQLITE_PRAGMAS;
          connection.exec(pragmas.map((pragma) => `PRAGMA ${pragma};`).join(''), done);
        });
      },
    },
  });
}

/** SQLite refuses a compound select of more than 500 terms, which is what knex makes of a larger multi-row insert. */
const ROWS_PER_INSERT_MAX = 400;
/** PostgreSQL counts parameters in 16 bits, SQLite takes 32,766 of them. */
const PARAMETERS_MAX = { pg: 60_000, sqlite: 32_000 };

function executorOn(
  on: Knex | Knex.Transaction,
  dialect: Dialect,
  onWrite: (table: string) => void = ignore,
): Executor {
  const query = (sql: string, values: readonly Value[]) => {
    const table = tableWrittenBy(sql);
    if (table !== undefined) onWrite(table);
    return on.raw(sql, values as Knex.RawBinding[]);
  };
  const rows = async <T>(sql: string, values: readonly Value[]): Promise<T[]> => {
    const answer = await query(sql, values);
    return (dialect === 'pg' ? answer.rows : answer) as T[];
  };
  async function run(sql: string, values: readonly Value[] = []): Promise<number> {
    if (dialect === 'pg') return ((await query(sql, values)) as { rowCount: number | null }).rowCount ?? 0;
    await query(sql, values);
    return (await rows<{ n: number }>('select changes() as n', []))[0]?.n ?? 0;
  }
  return {
    dialect,
    all: (sql, values = []) => rows(sql, values),
    get: async <T>(sql: string, values: readonly Value[] = []) => (await rows<T>(sql, values))[0],
    run,
    async runEach(sql, valueLists) {
      const changes: number[] = [];
      for (const values of valueLists) changes.push(await run(sql, values));
      return changes;
    },
    async insertMany(table, columns, records, conflict = '') {
      const mark = `(${columns.map(() => '?').join(',')})`;
      const chunk = Math.min(ROWS_PER_INSERT_MAX, Math.floor(PARAMETERS_MAX[dialect] / columns.length));
      let changes = 0;
      for (let from = 0; from < records.length; from += chunk) {
        const part = records.slice(from, from + chunk);
        const marks = part.map(() => mark).join(',');
        changes += await run(`insert into ${table} (${columns.join(',')}) values ${marks} ${conflict}`, part.flat());
      }
      return changes;
    },
  };
}
