import { openBetterSqlite } from './better-sqlite-db.ts';
import { openKnexDb } from './knex-db.ts';
import type { Db, OpenDbOptions } from './types.ts';

export async function openDb(options: OpenDbOptions): Promise<Db> {
  return options.driver === 'better-sqlite3' ? openBetterSqlite(options.file) : openKnexDb(options);
}
