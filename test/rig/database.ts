import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export type Driver = 'better-sqlite3' | 'sqlite3' | 'pg';

export const driver = (process.env.RASKET_TEST_DB ?? 'better-sqlite3') as Driver;

export interface TestDatabase {
  settings: { driver: Driver; url: string };
  drop(): Promise<void>;
}

/** A database of this scene's own: SQLite's is a file in the data folder, PostgreSQL's is made here and dropped. */
export async function makeDatabase(): Promise<TestDatabase> {
  if (driver !== 'pg') return { settings: { driver, url: '' }, drop: async () => undefined };
  const server = inject('pgUrl');
  const name = `t${randomUUID().replaceAll('-', '')}`;
  await query(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { settings: { driver, url: url.href }, drop: () => query(server, `drop database ${name} with (force)`) };
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
