import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { releaseDatabase } from './recycled-database.ts';

/** Creates a database with a unique name, empty or a copy of another that nobody is connected to. */
export async function createDatabase(server: string, template?: string): Promise<{ name: string; url: string }> {
  if (template !== undefined) await releaseDatabase(template);
  const random = randomUUID().replaceAll('-', '');
  const name = template === undefined ? `t${random}` : `${template}_${random.slice(0, 16)}`;
  // A copy of files would cost a checkpoint of the whole server, with everybody else waiting.
  const copied = template === undefined ? '' : ` template ${template} strategy wal_log`;
  await query(server, `create database ${name}${copied}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

export async function dropDatabase(server: string, name: string): Promise<void> {
  await query(server, `drop database if exists ${name} with (force)`);
}

export async function dropWithCopies(server: string, template: string): Promise<void> {
  const sql = `select datname from pg_database where datname = '${template}' or starts_with(datname, '${template}_')`;
  for (const { datname } of await query<{ datname: string }>(server, sql)) await dropDatabase(server, datname);
}

async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
