// A start reports in one line that the data folder or the database has changed, and repairs what it can.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { explain } from '../../bin/explain.ts';
import { CLOSED_SMTP_PORTS } from '../fault/program.ts';
import { driver } from '../rig/database.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';
import { Installation } from './installation.ts';

vi.setConfig({ testTimeout: 180_000 });

const isPg = driver === 'pg';

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
  await installation.copyTo(desk, 'data', env);
});
afterEach(() => desk.clear());

const serve = (): Promise<Ended> =>
  desk.run(['serve', '--data', 'data'], {
    env: { ...env, ...CLOSED_SMTP_PORTS, RASKET_HTTP_PORT: '0' },
    patienceMs: 60_000,
  });

const key = (): string => desk.at('data/instance.key');
const readMode = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8);

async function change(sql: string): Promise<void> {
  if (!isPg) {
    const db = new Sqlite(desk.at('data/rasket.db'));
    db.exec(sql);
    return void db.close();
  }
  const client = new pg.Client({ connectionString: env.RASKET_DATABASE_URL });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

describe('a start', () => {
  it.each([
    { file: 'a FIFO', plant: () => execFileSync('mkfifo', [key()]) },
    { file: 'a folder', plant: () => fs.mkdirSync(key()) },
  ])('fails in one line when the instance key is $file', async ({ plant }) => {
    fs.rmSync(key());
    plant();
    expectOneLine(await serve(), /instance\.key is no file but a folder, a FIFO or a device; put the key in its place/);
  });

  // runs only with SQLite, which permits one process
  it.runIf(!isPg).each([
    { words: ['--processes', '3'], says: /3 processes need PostgreSQL: .* move the database: rasket move --help$/m },
    { words: ['--processes', 'auto'], says: /a process for each core needs PostgreSQL/ },
    { words: ['--processes', '257'], says: /whole number from 1 to 256/ },
  ])('a start with $words is refused on SQLite or beyond the limit, and says what to do', async ({ words, says }) => {
    const ended = await desk.run(['serve', '--data', 'data', ...words], { env: { ...env, ...CLOSED_SMTP_PORTS } });
    expect(ended).toMatchObject({ code: 64, stderr: expect.stringMatching(says) });
  });

  it('a restart of single processes is refused where no server runs', async () => {
    const ended = await desk.run(['restart', '--data', 'data'], { env });
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringMatching(/^rasket: no server runs on .*data$/m) });
  });

  it('fails in one line when the instance key is a symbolic link to itself', async () => {
    fs.rmSync(key());
    fs.symlinkSync('instance.key', key());
    expectOneLine(await serve(), /instance\.key leads through a loop of symbolic links; put the key in/);
  });

  // runs only with SQLite, because the development profile is the same with both databases
  it.skipIf(isPg).each([
    {
      file: 'a FIFO',
      plant: () => execFileSync('mkfifo', [key()]),
      says: /instance\.key is no file but a folder, a FIFO/,
    },
    { file: 'empty', plant: () => fs.writeFileSync(key(), ''), says: /instance\.key is empty, .*put the key in its/ },
  ])('of the development profile fails in one line when the instance key is $file', async ({ plant, says }) => {
    fs.writeFileSync(desk.at('data/development'), '');
    fs.rmSync(key());
    plant();
    const started = await desk.run(['dev', '--data', 'data'], {
      env: { ...env, ...CLOSED_SMTP_PORTS, RASKET_HTTP_PORT: '0' },
      patienceMs: 60_000,
    });
    expectOneLine(started, says);
  });

  it('fails in one line when the content folder is a symbolic link to itself', async () => {
    fs.rmSync(desk.at('data/blobs'), { recursive: true, force: true });
    fs.symlinkSync('blobs', desk.at('data/blobs'));
    expectOneLine(await serve(), /data\/blobs\S* leads through a loop of symbolic links; put a folder/);
  });

  it('fails in one line when a table is missing', async () => {
    await change('drop table plan_terms');
    expectOneLine(
      await serve(),
      /the database lacks tables or columns of its migrations \(.*plan_terms.*\); restore it from a backup/,
    );
  });

  // runs only as root, who alone can give a file away
  it.runIf(process.getuid?.() === 0)(
    'fails in one line when others can read a key that belongs to another account',
    async () => {
      fs.chownSync(key(), 12_345, 12_345);
      fs.chmodSync(key(), 0o644);
      expectOneLine(
        await serve(),
        /can be used by other accounts \(mode 0644\) and belongs to another one \(12345\); as root: chown root \S+ && chmod 600 /,
      );
      expect(readMode(key())).toBe('644');
    },
  );
});

it.each([
  { mode: '644', becomes: '600' },
  { mode: '620', becomes: '600' },
  { mode: '640', becomes: '640' },
  { mode: '400', becomes: '400' },
])('a start changes mode $mode of its own key to $becomes, and warns if it changed it', async ({ mode, becomes }) => {
  fs.chmodSync(key(), mode);
  const server = await desk.serve(['serve', '--data', 'data'], { env });
  expect(readMode(key())).toBe(becomes);
  const warned = server.stderr.includes('instance.key could be read by other accounts; its mode is now 600');
  expect(warned).toBe(mode !== becomes);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

// runs only with PostgreSQL: nothing stands between us and a file
it.runIf(isPg)('a pooler that mixes up statements is reported in one line with PgBouncer and its version', async () => {
  const client = new pg.Client({ connectionString: env.RASKET_DATABASE_URL });
  await client.connect();
  try {
    // Another client of the pooler leaves the connection in this state.
    await client.query('prepare rasket_1 as select 1');
    const named = client.query({ name: 'rasket_1', text: 'select 2' });
    const twice: unknown = await named.catch((error: unknown) => error);
    await client.query('deallocate all');
    const gone: unknown = await client.query('execute rasket_1').catch((error: unknown) => error);
    for (const error of [twice, gone])
      expect(explain(error)).toEqual([expect.stringMatching(/PgBouncer to 1\.21 or later .*max_prepared_statements/)]);
  } finally {
    await client.end();
  }
});
