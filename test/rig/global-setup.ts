import { rmSync } from 'node:fs';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate, openDb } from '../../src/platform/db/index.ts';
import { createDatabase, dropWithCopies } from './database-server.ts';
import { startPostgres } from './pg.ts';
import { readMigrated, type Migrated } from './recycled-database.ts';
import { scratchFolder } from './scratch.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of a PostgreSQL whose role may create databases. */
    pgUrl: string;
    /** What a scene's database is a copy of, migrated once per run: a file of SQLite. */
    migrated: string;
    /** The same on PostgreSQL, with what an emptied copy has to be like. */
    migratedOnServer: { name: string } & Migrated;
  }
}

/** Runs once per project and `vitest run`, and only when a test file of the project is selected. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  return project.config.env['RASKET_TEST_DB'] === 'pg' ? setUpPostgres(project) : setUpSqlite(project);
}

async function setUpPostgres(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['RASKET_TEST_PG_URL'];
  const server = given === undefined ? await startPostgres() : { url: given, stop: async () => {} };
  const made = await createDatabase(server.url);
  const db = await openDb({ driver: 'pg', url: made.url, file: '', poolMax: 2 });
  await migrate(db);
  await db.close();
  project.provide('pgUrl', server.url);
  project.provide('migratedOnServer', { name: made.name, ...(await readMigrated(made.url)) });
  return async () => {
    // Ours goes as a whole.
    if (given !== undefined) await dropWithCopies(given, made.name);
    await server.stop();
  };
}

async function setUpSqlite(project: TestProject): Promise<() => Promise<void>> {
  const folder = scratchFolder('rasket-migrated-');
  const file = path.join(folder, 'migrated.db');
  const db = await openDb({ driver: 'better-sqlite3', url: '', file, poolMax: 1 });
  await migrate(db);
  await db.close();
  project.provide('migrated', file);
  return async () => rmSync(folder, { recursive: true, force: true });
}
