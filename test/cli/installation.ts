import fs from 'node:fs';
import pg from 'pg';
import { driver } from '../rig/database.ts';
import { readMigrated } from '../rig/recycled-database.ts';
import { Desk } from './desk.ts';

export interface Made {
  team_id: string;
  team: string;
  api_key: string;
  url: string;
  data: string;
}

/**
 * The result of `rasket init`, made once for a file of tests and copied for each: the folder, and the rows of a database that
 * is not a file in it. A copy costs a hundredth of another `rasket init`.
 */
export class Installation {
  #desk = new Desk();
  #rows: [table: string, json: string][] = [];
  #made: Made | undefined;

  static async make(): Promise<Installation> {
    const installation = new Installation();
    const env = await installation.#desk.database();
    const ended = await installation.#desk.rasket(['init', '--data', 'data', '--json'], { env });
    if (ended.code !== 0) throw new Error(ended.stderr);
    installation.#made = JSON.parse(ended.stdout) as Made;
    if (driver === 'pg') installation.#rows = (await readMigrated(env.RASKET_DATABASE_URL ?? '')).rows;
    return installation;
  }

  /** `env` is what the desk says of the copy's database, in which nothing has been written. */
  async copyTo(desk: Desk, data: string, env: Record<string, string>): Promise<Made> {
    if (!this.#made) throw new Error('nothing was made');
    fs.cpSync(this.#desk.at('data'), desk.at(data), { recursive: true });
    if (driver === 'pg') await write(env.RASKET_DATABASE_URL ?? '', this.#rows);
    return { ...this.#made, data: desk.at(data) };
  }

  clear(): Promise<void> {
    return this.#desk.clear();
  }
}

async function write(url: string, rows: [table: string, json: string][]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // The tables come in any order.
    await client.query('set session_replication_role = replica');
    for (const [table, json] of rows) {
      await client.query(`delete from ${table}`);
      await client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [json]);
    }
  } finally {
    await client.end();
  }
}
