// Two PostgreSQL servers of a test, of which one replicates to the other; their programs are those of the system, because
// others lack pg_basebackup.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { initialise, launch, makeFolder, unprivilegedUser, usableBinaries, type Launched } from './pg.ts';

const run = promisify(execFile);

const SETTINGS = [
  'synchronous_commit=on',
  'wal_level=replica',
  'max_wal_senders=5',
  'wal_retrieve_retry_interval=200ms',
  'hot_standby=on',
  'checkpoint_timeout=1h',
];

export interface PgMember {
  port: number;
  url: string;
  /** Stops all of its processes without closing any connection; only `kill` ends that. */
  freeze(): void;
  /** Ends all of its processes at once; its data stays. */
  kill(): Promise<void>;
  /** Starts it on its data as they are. */
  start(): Promise<void>;
  /** Replaces its data by a copy of a primary, and starts it as its standby. */
  startAsStandbyOf(primary: PgMember): Promise<void>;
  promote(): Promise<void>;
  /** From now on each commit waits until a standby has it; resolves when one is connected. */
  waitForStandby(): Promise<void>;
  query<Row extends pg.QueryResultRow>(sql: string, database?: string): Promise<Row[]>;
}

export interface PgPair {
  members: [PgMember, PgMember];
  /** Returns one URL with both servers. */
  buildUrl(database: string, ports?: readonly number[]): string;
  stop(): Promise<void>;
}

/** Starts a primary, and a standby that has each commit before it is acknowledged. */
export async function startPgPair(): Promise<PgPair> {
  const user = unprivilegedUser();
  const password = randomBytes(12).toString('hex');
  const folders: string[] = [];
  const running = new Map<number, Launched>();

  async function makeMember(): Promise<PgMember> {
    const folder = makeFolder(user);
    folders.push(folder);
    const bin = await usableBinaries(user, folder, true);
    const port = await freePort();
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    const start = async (): Promise<void> =>
      void running.set(port, await launch(bin, folder, user, { port, wishes: SETTINGS }));

    async function query<Row extends pg.QueryResultRow>(sql: string, database = 'postgres'): Promise<Row[]> {
      const to = new URL(url);
      to.pathname = `/${database}`;
      const client = new pg.Client({ connectionString: to.href });
      await client.connect();
      try {
        return (await client.query<Row>(sql)).rows;
      } finally {
        await client.end();
      }
    }

    return {
      port,
      url,
      query,
      start,
      freeze: () => running.get(port)?.freeze(),
      async kill() {
        await running.get(port)?.kill();
        running.delete(port);
      },
      async startAsStandbyOf(primary) {
        const data = path.join(folder, 'data');
        fs.rmSync(data, { recursive: true, force: true });
        const options = ['--checkpoint=fast', '--no-sync', '--write-recovery-conf'];
        const program = path.join(bin.folder, 'pg_basebackup');
        await run(program, ['--dbname', primary.url, '--pgdata', data, ...options], { ...user, cwd: folder });
        await start();
      },
      async promote() {
        await query('select pg_promote()');
      },
      async waitForStandby() {
        await query(`alter system set synchronous_standby_names = '*'`);
        await query('select pg_reload_conf()');
        for (;;) {
          const [found] = await query(`select 1 from pg_stat_replication where sync_state = 'sync'`);
          if (found) return;
        }
      },
    };
  }

  const pair: PgPair = {
    members: [await makeMember(), await makeMember()],
    buildUrl: (database, ports = pair.members.map(({ port }) => port)) =>
      `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`,
    async stop() {
      for (const server of running.values()) await server.kill();
      for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
  try {
    const [primary, standby] = pair.members;
    const [folder = ''] = folders;
    await initialise(await usableBinaries(user, folder, true), folder, user, password);
    await primary.start();
    await standby.startAsStandbyOf(primary);
    await primary.waitForStandby();
    return pair;
  } catch (error) {
    await pair.stop();
    throw error;
  }
}
