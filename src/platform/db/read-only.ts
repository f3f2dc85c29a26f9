import Sqlite from 'better-sqlite3';
import { openDb } from './open-db.ts';
import type { Executor, OpenDbOptions, Value } from './types.ts';

/** A database that nothing is written to, not even the log beside an SQLite file. */
export interface ReadOnlyDb extends Executor {
  /** What `work` reads is all of one moment. */
  snapshot<T>(work: (at: Executor) => Promise<T>): Promise<T>;
  /** Another number once somebody has committed to an SQLite file; PostgreSQL does not tell. */
  version(): Promise<number>;
  close(): Promise<void>;
}

export const openReadOnly = (options: OpenDbOptions): Promise<ReadOnlyDb> =>
  options.driver === 'pg' ? openPg(options) : Promise.resolve(openSqlite(options.file));

function openSqlite(file: string): ReadOnlyDb {
  const connection = new Sqlite(file, { readonly: true, fileMustExist: true });
  const prepared = (sql: string): Sqlite.Statement => connection.prepare(sql);
  const reading: Executor = {
    ...REFUSED,
    dialect: 'sqlite',
    all: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).all(values) as T[],
    get: async <T>(sql: string, values: readonly Value[] = []) => prepared(sql).get(values) as T | undefined,
  };
  return {
    ...reading,
    async snapshot(work) {
      connection.exec('begin');
      try {
        return await work(reading);
      } finally {
        connection.exec('rollback');
      }
    },
    version: async () => Number(connection.pragma('data_version', { simple: true })),
    close: async () => void connection.close(),
  };
}

const refuse = (): Promise<never> => Promise.reject(new Error('this database is open for reading alone'));
const REFUSED = { run: refuse, runEach: refuse, insertMany: refuse };

async function openPg(options: OpenDbOptions): Promise<ReadOnlyDb> {
  const db = await openDb(options);
  return {
    ...REFUSED,
    dialect: db.dialect,
    all: db.all,
    get: db.get,
    snapshot: (work) =>
      db.tx(async (tx) => {
        await tx.run('set transaction isolation level repeatable read read only');
        await tx.run('set local idle_in_transaction_session_timeout = 0');
        return work(tx);
      }),
    version: async () => 0,
    close: () => db.close(),
  };
}
