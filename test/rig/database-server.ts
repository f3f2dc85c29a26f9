import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** A database of a name that nobody else has, empty or a copy of another that nobody is connected to. */
export async function createDatabase(server: string, template?: string): Promise<{ name: string; url: string }> {
  const name = `t${randomUUID().replaceAll('-', '')}`;
  // A copy of files costs a checkpoint of the whole server, with everybody else waiting.
  const copied = template === undefined ? '' : ` template ${template} strategy wal_log`;
  await query(server, `create database ${name}${copied}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

export const dropDatabase = (server: string, name: string): Promise<void> =>
  query(server, `drop database if exists ${name} with (force)`);

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
