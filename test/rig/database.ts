import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from './database-server.ts';

export type Driver = 'better-sqlite3' | 'sqlite3' | 'pg';

export const driver = (process.env.RASKET_TEST_DB ?? 'better-sqlite3') as Driver;

export interface TestDatabase {
  settings: { driver: Driver; url: string };
  drop(): Promise<void>;
}

/** An empty database of this test's own: SQLite's is a file that whoever opens it makes, PostgreSQL's is made here. */
export async function makeDatabase(): Promise<TestDatabase> {
  return driver === 'pg' ? onServer() : inFile();
}

/** One whose tables are there already, and nothing in them. */
export async function makeMigratedDatabase(dataDir: string): Promise<TestDatabase> {
  if (driver === 'pg') return onServer(inject('migrated'));
  copyFileSync(inject('migrated'), path.join(dataDir, 'rasket.db'));
  return inFile();
}

const inFile = (): TestDatabase => ({ settings: { driver, url: '' }, drop: async () => undefined });

async function onServer(template?: string): Promise<TestDatabase> {
  const server = inject('pgUrl');
  const { name, url } = await createDatabase(server, template);
  return { settings: { driver, url }, drop: () => dropDatabase(server, name) };
}
