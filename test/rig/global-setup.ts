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
    /** The SQLite file that a scene's database is a copy of, migrated once per run. */
    migrated: string;
    /** The same on PostgreSQL, with the required state of an emptied copy. */
    migratedOnServer: { name: string } & Migrated;
  }
}

/** Resources shared by projects, created by the first and ended by the last of them. */
interface Shared {
  making: Promise<{ provideTo(project: TestProject): void; end(): Promise<void> }>;
  users: number;
}

// Each project loads this module for itself.
const KEY = Symbol.for('databases of the tests');
const shared: Map<string, Shared> = ((globalThis as Record<symbol, unknown>)[KEY] ??= new Map<string, Shared>()) as Map<
  string,
  Shared
>;

/** Runs once per project and `vitest run`, one project after the other, and only when a test file of the project is selected. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const isOnServer = project.config.env['RASKET_TEST_DB'] === 'pg';
  const kind = isOnServer ? 'server' : 'file';
  const one = shared.get(kind) ?? { making: isOnServer ? makeOnServer() : makeInFile(), users: 0 };
  shared.set(kind, one);
  one.users++;
  const { provideTo, end } = await one.making;
  provideTo(project);
  return async () => {
    if (--one.users > 0) return;
    shared.delete(kind);
    await end();
  };
}

async function makeOnServer(): Shared['making'] {
  const given = process.env['RASKET_TEST_PG_URL'];
  const server = given === undefined ? await startPostgres() : { url: given, stop: async () => {} };
  const made = await createDatabase(server.url);
  const db = await openDb({ driver: 'pg', url: made.url, file: '', poolMax: 2 });
  await migrate(db);
  await db.close();
  const migrated = { name: made.name, ...(await readMigrated(made.url)) };
  return {
    provideTo(project) {
      project.provide('pgUrl', server.url);
      project.provide('migratedOnServer', migrated);
    },
    async end() {
      // A server of our own is stopped as a whole.
      if (given !== undefined) await dropWithCopies(given, made.name);
      await server.stop();
    },
  };
}

async function makeInFile(): Shared['making'] {
  const folder = scratchFolder('rasket-migrated-');
  const file = path.join(folder, 'migrated.db');
  const db = await openDb({ driver: 'better-sqlite3', url: '', file, poolMax: 1 });
  await migrate(db);
  await db.close();
  return {
    provideTo: (project) => project.provide('migrated', file),
    end: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
