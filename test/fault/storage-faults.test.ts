// clients --> rasket serve, whose disk or database answers with errors --> 503 and an unready node, which recovers by itself
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { openSync, closeSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createApi, type ApiAnswer as Answer } from '../rig/api.ts';
import { createDatabase } from '../rig/database-server.ts';
import { driver, type TestDatabase } from '../rig/database.ts';
import { startPostgres } from '../rig/pg.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine, type Program } from './program.ts';

vi.setConfig({ testTimeout: 300_000 });

const isPg = driver === 'pg';
const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
// skipped because strace is missing on this machine, unless the software of others is required
const withStrace = it.skipIf(isPg || (!hasStrace && process.env['RASKET_TEST_PEERS'] !== 'required'));

interface Installed {
  program: Program;
  log: LogLine[];
  api(method: string, path: string, body?: object): Promise<Answer>;
  send(n: number): Promise<Answer>;
  /** The codes of the findings that the node reports without a key. */
  readiness(): Promise<{ status: number; failed: unknown; codes: string[] }>;
}

async function install(env: Record<string, string> = {}, database?: TestDatabase): Promise<Installed> {
  const sink = await startSink({ keep: false });
  onTestFinished(() => sink.close());
  const log: LogLine[] = [];
  const program = await installProgram(sink, (line) => void log.push(line), {
    env,
    ...(database && { database }),
  });
  const api: Installed['api'] = async (method, target, body) =>
    createApi(await program.listening())(method, target, { key: program.apiKey, ...(body && { body }) });
  return {
    program,
    log,
    api,
    send: (n) => api('POST', '/emails', { from: program.from, to: `r${n}@one.example`, subject: 'Hello', text: 'Hi.' }),
    async readiness() {
      const { status, body } = await api('GET', '/ready');
      const codes = (body.findings as { code: string }[]).map(({ code }) => code);
      return { status, failed: body.failed, codes };
    },
  };
}

const readPid = ({ dataDir }: Program): number =>
  (JSON.parse(readFileSync(path.join(dataDir, 'run/ready.json'), 'utf8')) as { pid: number }).pid;

/** Makes strace answer the system calls of the running server; the returned function ends that. */
async function inject(program: Program, what: string): Promise<() => Promise<void>> {
  const words = ['-f', '-p', String(readPid(program)), '-o', '/dev/null', '-e', `inject=${what}`];
  const strace = spawn('strace', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = once(strace, 'exit');
  onTestFinished(() => void strace.kill('SIGKILL'));
  let says = '';
  const attached = Promise.withResolvers<void>();
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    says += text;
    if (/attached/.test(says)) attached.resolve();
  });
  strace.once('exit', (code) => attached.reject(new Error(`strace ended with ${code}: ${says}`)));
  await attached.promise;
  return async () => {
    strace.kill('SIGINT');
    await gone;
  };
}

/** Finds the first page of a table, and returns how to overwrite bytes in it. */
function openRootPage(file: string, table: string): { zero(): void; mend(): void } {
  const db = new Sqlite(file);
  db.pragma('wal_checkpoint(truncate)');
  const size = Number(db.pragma('page_size', { simple: true }));
  const root =
    db.prepare<[string], number>('select rootpage from sqlite_master where name = ?').pluck().get(table) ?? 0;
  db.close();
  const at = (root - 1) * size;
  const whole = Buffer.alloc(size);
  const open = (): number => openSync(file, 'r+');
  let handle = open();
  readSync(handle, whole, 0, size, at);
  closeSync(handle);
  const put = (content: Buffer): void => {
    handle = open();
    writeSync(handle, content, 0, size, at);
    closeSync(handle);
  };
  return {
    zero: () => put(Buffer.alloc(size)),
    mend() {
      put(whole);
      // A tool that repairs the file would do this: other connections drop their cached pages.
      const other = new Sqlite(file);
      other.exec("update instance_settings set changed_at = changed_at + 1 where name = 'installation'");
      other.close();
    },
  };
}

/** Returns a function that renames a table of the database as another program would. */
async function createRenamer({ dataDir, database }: Program): Promise<(from: string, to: string) => Promise<unknown>> {
  if (!isPg) {
    const db = new Sqlite(path.join(dataDir, 'rasket.db'));
    onTestFinished(() => void db.close());
    db.pragma('legacy_alter_table = on');
    return async (from, to) => db.exec(`alter table ${from} rename to ${to}`);
  }
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  return (from, to) => client.query(`alter table ${from} rename to ${to}`);
}

const locateFile = ({ dataDir }: Program): string => path.join(dataDir, 'rasket.db');

// runs only with SQLite: a page of PostgreSQL is its own
it.skipIf(isPg)(
  'a damaged table makes its requests return 503 and the node unready until the file is repaired, and the process keeps running',
  async () => {
    const { program, log, api, readiness, send } = await install();
    await program.stop();
    const page = openRootPage(locateFile(program), 'api_keys');
    page.zero();
    await program.start();
    for (let n = 0; n < 5; n++) {
      const answer = await api('GET', '/emails');
      expect(answer).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
      expect(answer.text).not.toMatch(/malformed|sqlite|api_keys/i);
    }
    expect(await createApi(await program.listening())('GET', '/health')).toMatchObject({ status: 200 });
    expect(await readiness()).toEqual({ status: 503, failed: ['database'], codes: ['database_damaged'] });
    const said = () => log.filter(({ msg }) => msg.startsWith('the database is damaged'));
    await expect.poll(said).toMatchObject([{ advice: expect.stringContaining('restore a backup') }]);

    page.mend();
    await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
    expect((await send(1)).status).toBe(200);
  },
);

it('a missing table makes its requests return 503 and the node unready until it is back', async () => {
  const { program, log, api, readiness, send } = await install();
  expect((await api('GET', '/topics')).status).toBe(200);
  const rename = await createRenamer(program);
  await rename('topics', 'topics_elsewhere');
  for (let n = 0; n < 3; n++) {
    const answer = await api('GET', '/topics');
    expect(answer).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(answer.text).not.toMatch(/no such table|does not exist/i);
  }
  for (let n = 0; n < 3; n++)
    expect(await readiness()).toEqual({ status: 503, failed: ['database'], codes: ['database_damaged'] });
  // A check of the tables that exist finds no fault, and must not end the finding.
  const found = () => log.filter(({ msg }) => msg === 'a check of the database found damage').slice(0, 1);
  await expect.poll(found).toMatchObject([{ faults: ['topics: the table is missing'] }]);
  expect((await readiness()).codes).toEqual(['database_damaged']);

  await rename('topics_elsewhere', 'topics');
  await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
  expect((await api('GET', '/topics')).status).toBe(200);
  expect((await send(1)).status).toBe(200);
});

withStrace('reads that fail end no server: calls are 503, and it goes on once the disk answers', async () => {
  const { program, log, api, readiness, send } = await install();
  // The table is too large for the cache to help.
  for (let n = 0; n < 3; n++) expect((await send(n)).status).toBe(200);
  const end = await inject(program, 'pread64:error=EIO');
  await expect.poll(readiness).toMatchObject({ status: 503, failed: expect.arrayContaining(['database']) });
  const answers = await Promise.all(Array.from({ length: 20 }, () => api('GET', '/emails?limit=100')));
  for (const { status } of answers) expect([200, 503]).toContain(status);
  await end();
  await expect.poll(readiness).toMatchObject({ status: 200, failed: [] });
  expect((await send(4)).status).toBe(200);
  expect(log.filter(({ msg }) => msg === 'ready')).toHaveLength(1);
});

withStrace.for([
  { says: 'no sync succeeds', what: 'fsync,fdatasync:error=EIO', checks: ['database', 'storage'] },
  { says: 'the database cannot be written', what: 'pwrite64:error=ENOSPC', checks: ['database'] },
])('the node is unready while $says, and recovers without a request', async ({ what, checks }) => {
  const { program, readiness, send } = await install();
  const end = await inject(program, what);
  const refused = await send(1);
  expect(refused).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
  expect((await readiness()).status).toBe(503);
  for (let n = 0; n < 3; n++) {
    const { status, failed, codes } = await readiness();
    expect([status, failed]).toEqual([503, checks]);
    expect(codes).toContain('database_failing');
  }
  await end();
  await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
  expect((await send(2)).status).toBe(200);
});

withStrace('a disk that is slow and answers in the end leaves the node ready', async () => {
  const { program, readiness, send } = await install();
  const end = await inject(program, 'fdatasync,fsync:delay_enter=2500000');
  const [sent, ready] = await Promise.all([send(1), readiness()]);
  expect([sent.status, ready.status, ready.failed]).toEqual([200, 200, []]);
  await end();
});

// runs only with SQLite: PostgreSQL recovers by itself
it.runIf(!isPg)('a database is checked after an unclean stop, and not after a clean one', async () => {
  const { program, log } = await install();
  const checks = (): LogLine[] => log.filter(({ msg }) => msg === 'the database was checked after an unclean stop');
  await program.stop();
  await program.start();
  await program.kill();
  expect(checks()).toEqual([]);
  await program.start();
  await expect.poll(checks).toMatchObject([{ faults: 0 }]);
});

// runs only with PostgreSQL: SQLite has no codes of a server
it.runIf(isPg)('PostgreSQL error codes for damage and refused commits make the node unready', async () => {
  const { program, log, readiness, send } = await install();
  const client = new pg.Client({ connectionString: program.database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const fail = async (code: string, tables: readonly string[]): Promise<() => Promise<unknown>> => {
    await client.query(`create or replace function planted_fault() returns trigger language plpgsql as
        $$ begin raise exception using errcode = '${code}', message = 'planted fault'; end $$`);
    for (const table of tables)
      await client.query(`create trigger planted before insert or update on ${table} execute function planted_fault()`);
    return () => client.query('drop function planted_fault() cascade');
  };
  const said = (what: string): number => log.filter(({ msg }) => msg.startsWith(what)).length;
  for (const [n, code] of ['XX001', 'XX002'].entries()) {
    const mend = await fail(code, ['emails']);
    expect(await send(1)).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    // Log lines arrive later than responses.
    await expect.poll(() => said('the database is damaged')).toBe(n + 1);
    await mend();
    // Whole tables can be read, so only writers meet the fault.
    await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
    await expect.poll(() => said('a check of the whole database passed')).toBe(n + 1);
    expect((await send(2)).status).toBe(200);
  }

  const mend = await fail('53100', ['emails', 'instance_settings']);
  expect(await send(3)).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
  expect((await readiness()).status).toBe(503);
  for (let n = 0; n < 3; n++)
    expect(await readiness()).toEqual({ status: 503, failed: ['database'], codes: ['database_failing'] });
  await mend();
  await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
  expect((await send(4)).status).toBe(200);
});

// runs only with PostgreSQL: a page of SQLite is planted above
it.runIf(isPg)('a page that PostgreSQL finds damaged makes the node unready until it is repaired', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const { url } = await createDatabase(server.url);
  const database: TestDatabase = { settings: { driver, url }, drop: async () => undefined };
  const { program, api, readiness, send } = await install({}, database);
  expect((await send(1)).status).toBe(200);
  await program.stop();
  const client = new pg.Client({ connectionString: program.database.url });
  await client.connect();
  const { rows } = await client.query<{ file: string }>(
    `select current_setting('data_directory') || '/' || pg_relation_filepath('emails') as file`,
  );
  await client.query('checkpoint');
  await client.end();
  const file = rows[0]?.file ?? '';
  const whole = readFileSync(file);
  writeFileSync(file, Buffer.concat([Buffer.alloc(512, 'x'), whole.subarray(512)]));
  await server.crash();
  await program.start();
  expect(await api('GET', '/emails')).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
  for (let n = 0; n < 3; n++)
    expect(await readiness()).toEqual({ status: 503, failed: ['database'], codes: ['database_damaged'] });
  writeFileSync(file, whole);
  await server.crash();
  await expect.poll(readiness).toEqual({ status: 200, failed: [], codes: [] });
  expect((await api('GET', '/emails')).body.data).toHaveLength(1);
});
