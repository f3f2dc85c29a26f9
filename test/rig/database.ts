import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from './database-server.ts';
import { emptyDatabase } from './recycled-database.ts';

export type Driver = 'better-sqlite3' | 'sqlite3' | 'pg';

export const driver = (process.env.RASKET_TEST_DB ?? 'better-sqlite3') as Driver;

export interface TestDatabase {
  settings: { driver: Driver; url: string };
  drop(): Promise<void>;
}

/** Creates an empty database of this test's own: a SQLite file is created by whoever opens it, a PostgreSQL database here. */
export async function makeDatabase(): Promise<TestDatabase> {
  if (driver !== 'pg') return inFile();
  const { name, url } = await createDatabase(inject('pgUrl'));
  return { settings: { driver, url }, drop: () => dropDatabase(inject('pgUrl'), name) };
}

/** Creates one whose tables exist already and are empty. */
export async function makeMigratedDatabase(dataDir: string): Promise<TestDatabase> {
  if (driver === 'pg') return onServer();
  copyFileSync(inject('migrated'), path.join(dataDir, 'rasket.db'));
  return inFile();
}

/** Creates one for a program that is started as a process, which creates a SQLite file itself. */
export const makeProgramsDatabase = async (): Promise<TestDatabase> => (driver === 'pg' ? onServer() : inFile());

const inFile = (): TestDatabase => ({ settings: { driver, url: '' }, drop: async () => undefined });

/** Emptied databases of this process: creating one takes as long as some tests. The end of the run drops them. */
const spare: { name: string; url: string }[] = [];

async function onServer(): Promise<TestDatabase> {
  const server = inject('pgUrl');
  const migrated = inject('migratedOnServer');
  const database = spare.pop() ?? (await createDatabase(server, migrated.name));
  return {
    settings: { driver, url: database.url },
    async drop() {
      if (await emptyDatabase(database.url, migrated)) spare.push(database);
      else await dropDatabase(server, database.name);
    },
  };
}
