import { readdirSync } from 'node:fs';
import type { Knex } from 'knex';
import type { Db } from './types.ts';

const FOLDER = new URL('../../../migrations/', import.meta.url);
const TABLE = 'schema_migrations';

export class SchemaTooNew extends Error {}

export interface SchemaState {
  done: string[];
  pending: string[];
}

class MigrationFolder implements Knex.MigrationSource<string> {
  async getMigrations(): Promise<string[]> {
    return readdirSync(FOLDER)
      .filter((name) => /^\d{4}_.*\.ts$/.test(name))
      .map((name) => name.replace(/\.ts$/, ''))
      .sort();
  }
  getMigrationName(name: string): string {
    return name;
  }
  async getMigration(name: string): Promise<Knex.Migration> {
    return import(new URL(`${name}.ts`, FOLDER).href);
  }
}

export async function schemaState(db: Db): Promise<SchemaState> {
  const known = await new MigrationFolder().getMigrations();
  const done = (await db.knex.schema.hasTable(TABLE))
    ? (await db.knex<{ name: string }>(TABLE).select('name').orderBy('id')).map((row) => row.name)
    : [];
  const unknown = done.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new SchemaTooNew(
      `the database was written by a newer rasket (it holds the migration ${unknown}); start that version or a later one`,
    );
  }
  return { done, pending: known.filter((name) => !done.includes(name)) };
}

/** Brings the schema up to this program's; refuses a database of a newer one. Answers what it did. */
export async function migrate(db: Db): Promise<string[]> {
  const { pending } = await schemaState(db);
  if (pending.length === 0) return [];
  await db.knex.migrate.latest({ migrationSource: new MigrationFolder(), tableName: TABLE });
  return pending;
}
