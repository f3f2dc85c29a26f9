import { openBetterSqlite } from './better-sqlite-db.ts';
import { openKnexDb } from './knex-db.ts';
import type { Db } from './types.ts';

export interface OpenDbOptions {
  driver: 'better-sqlite3' | 'sqlite3' | 'pg';
  /** The SQLite file; unused with PostgreSQL. */
  file: string;
  /** The PostgreSQL address; unused with SQLite. */
  url: string;
  poolMax: number;
}

export async function openDb(options: OpenDbOptions): Promise<Db> {
  return options.driver === 'better-sqlite3' ? openBetterSqlite(options.file) : openKnexDb(options);
}
