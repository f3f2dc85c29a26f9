import path from 'node:path';
import { offerFolder } from '../../program-files/index.ts';
import type { Db, OpenDbOptions } from './types.ts';
import { createFaultNotices, type DriverDb } from './fault-notices.ts';

/** Each driver is loaded only where it is used. */
export async function openDb(options: OpenDbOptions): Promise<Db> {
  const { note, around } = createFaultNotices();
  return around(await openDriver(options, note).catch((fault: unknown) => namingFile(fault, options)));
}

/** SQLite does not say which file it means. */
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
