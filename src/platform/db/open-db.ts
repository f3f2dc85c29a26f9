import path from 'node:path';
import { offerFolder } from '../../program-files/index.ts';
import type { Db, OpenDbOptions, Executor, Value } from './db.ts';
import { createFaultNotices, type DriverDb } from './faults.ts';
import Sqlite from 'better-sqlite3';

/** A database that is never written to; not even a log is created next to an SQLite file. */
export interface ReadOnlyDb extends Executor {
  /** All reads of `work` see one point in time. */
  snapshot<T>(work: (at: Executor) => Promise<T>): Promise<T>;
  /** Returns a number that changes when somebody commits to an SQLite file; not available on PostgreSQL. */
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

const refuse = (): Promise<never> => Promise.reject(new Error('the database is open for reading only'));
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

/** Opens the database. Each driver is loaded only if it is used. */
export async function openDb(options: OpenDbOptions): Promise<Db> {
  const { note, around } = createFaultNotices();
  return around(await openDriver(options, note).catch((fault: unknown) => namingFile(fault, options)));
}

/** SQLite's errors do not name the file. */
function namingFile(fault: unknown, { driver, file }: OpenDbOptions): never {
  if (driver !== 'pg' && fault instanceof Error && !('path' in fault)) Object.assign(fault, { path: file });
  throw fault;
}

async function openDriver(options: OpenDbOptions, onFault: (error: unknown) => void): Promise<DriverDb> {
  if (options.driver === 'better-sqlite3') {
    offerFolder(path.join(path.dirname(options.file), 'run'));
    return (await import('./better-sqlite-db.ts')).openBetterSqlite(options.file, onFault);
  }
  if (options.driver === 'pg') return (await import('./pg-db.ts')).openPgDb(options);
  return (await import('./knex-db.ts')).openKnexDb(options.file);
}
