import knexModule, { type Knex } from 'knex';
import { createCommitListeners, WITHOUT_OTHERS, tableWrittenBy, writesRows } from './memo.ts';
import { holdFiles, NEW_FILE_PRAGMA, SQLITE_PRAGMAS, cutUnusedPages, firstNumber } from './sqlite-file.ts';
import type { DriverDb } from './faults.ts';
import type { Executor, Row, Value } from './db.ts';

/** Opens SQLite through the asynchronous `sqlite3` driver. */
export function openKnexDb(file: string): DriverDb {
  const writer = openSqlite3(file);
  // SQLite has one writer; reads on a separate connection never wait for it.
  const reader = openSqlite3(file);
  const reading = executorOn(reader);
  const listeners = createCommitListeners();
  const files = holdFiles(file);
  return {
    dialect: 'sqlite',
    withKnex: (work) => work(writer),
    serverInUse: () => undefined,
    rivalServers: () => undefined,
    unsafeSettings: async () => [],
    lostFile: files.lost,
    abandonInto: (into) => files.abandonInto(into, (part) => writer.raw('vacuum into ?', [part])),
    cutUnusedPages: (pagesMax) =>
      cutUnusedPages(async (text) => firstNumber((await writer.raw(`pragma ${text}`)) as Row[]), pagesMax),
    memo: (_tables, load) => load,
    onCommit: listeners.add,
    ...WITHOUT_OTHERS,
    all: (sql, values) => (writesRows(sql) ? transact((tx) => tx.all(sql, values)) : reading.all(sql, values)),
    get: (sql, values) => (writesRows(sql) ? transact((tx) => tx.get(sql, values)) : reading.get(sql, values)),
    // `changes()` refers to the connection's latest statement: nothing else may run between it and ours.
    run: (...statement) => transact((tx) => tx.run(...statement)),
    runEach: (...statement) => transact((tx) => tx.runEach(...statement)),
    insertMany: (...insert) => transact((tx) => tx.insertMany(...insert)),
    tx: transact,
    txUnsynced: transact,
    async close() {
      await writer.destroy();
      await reader.destroy();
      await files.closed();
    },
  };

  async function transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const touched = new Set<string>();
    files.mustNotBeAbandoned();
    const value = await writer.transaction(async (trx) => {
      const done = await work(executorOn(trx, (table) => void touched.add(table)));
      files.mustNotBeAbandoned();
      return done;
    });
    listeners.notify(touched);
    return value;
  }
}

/**
 * knex writes to standard output, which is reserved for results of commands; it also throws every error that it logs.
 */
const SILENT: Knex.Logger = { warn: ignore, error: ignore, deprecate: ignore, debug: ignore };

function ignore(): void {}

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

/**
 * SQLite rejects a compound select of more than 500 terms, which is what knex generates for a larger multi-row insert.
 */
const ROWS_PER_INSERT_MAX = 400;
const PARAMETERS_MAX = 32_000;

function executorOn(on: Knex | Knex.Transaction, onWrite: (table: string) => void = ignore): Executor {
  const query = (sql: string, values: readonly Value[]) => {
    const table = tableWrittenBy(sql);
    if (table !== undefined) onWrite(table);
    return on.raw(sql, values as Knex.RawBinding[]);
  };
  const rows = async <T>(sql: string, values: readonly Value[]): Promise<T[]> => (await query(sql, values)) as T[];
  async function run(sql: string, values: readonly Value[] = []): Promise<number> {
    await query(sql, values);
    return (await rows<{ n: number }>('select changes() as n', []))[0]?.n ?? 0;
  }
  return {
    dialect: 'sqlite',
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
      const chunk = Math.min(ROWS_PER_INSERT_MAX, Math.floor(PARAMETERS_MAX / columns.length));
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
