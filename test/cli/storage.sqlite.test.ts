import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { Desk, expectOneLine, type Ended, type Server } from './desk.ts';
import { Installation, type Made } from './installation.ts';

// A file system of its own needs a mount namespace, which some containers do not grant.
const mountable = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;

vi.setConfig({ testTimeout: 180_000 });

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const serve = (): Promise<Ended> => desk.rasket(['serve', '--data', 'data'], { env: { RASKET_HTTP_PORT: '0' } });

/** Makes an installation as `rasket init` does. */
const install = (): Promise<Made> => installation.copyTo(desk, 'data', {});

// skipped because with PostgreSQL the database is no file of ours
describe.skipIf(driver === 'pg')('a faulty database', () => {
  it.each([
    {
      why: 'a damaged file',
      spoil: () => fs.writeFileSync(desk.at('data/rasket.db'), 'This is no database.'.repeat(500)),
      says: /database file \S+rasket\.db is damaged or not an SQLite database .*; restore it from a backup/,
    },
    {
      why: 'a file whose pages were overwritten',
      spoil() {
        const file = fs.openSync(desk.at('data/rasket.db'), 'r+');
        fs.writeSync(file, Buffer.alloc(100_000, 0xa5), 0, 100_000, 4096);
        fs.closeSync(file);
      },
      says: /database file is damaged or not an SQLite database .*; restore it from a backup/,
    },
    {
      why: 'a folder in its place',
      spoil() {
        fs.rmSync(desk.at('data/rasket.db'));
        fs.mkdirSync(desk.at('data/rasket.db'));
      },
      says: /database file \S+rasket\.db cannot be opened for writing by the account/,
    },
    {
      why: 'the schema of a newer release',
      spoil: () =>
        sql("insert into schema_migrations (name, batch, migration_time) values ('9999_from_the_future', 99, 0)"),
      says: /written by a newer rasket \(it holds the migration 9999_from_the_future\)/,
    },
  ])('stops a start in one line and is left unchanged: $why', async ({ spoil, says }) => {
    await install();
    spoil();
    const before = readContent(desk.at('data/rasket.db'));
    expectOneLine(await serve(), says);
    expectOneLine(await desk.rasket(['teams', 'list', '--data', 'data']), says);
    expect(readContent(desk.at('data/rasket.db'))).toEqual(before);
    expect(fs.existsSync(desk.at('data/run/ready.json'))).toBe(false);
  });

  it('that another program has locked is reported in one line', async () => {
    await install();
    const other = new Sqlite(desk.at('data/rasket.db'));
    other.exec('begin exclusive');
    try {
      expectOneLine(
        await desk.rasket(['teams', 'create', 'Second', '--data', 'data']),
        /database is locked by another program/,
      );
    } finally {
      other.close();
    }
    const teams = await desk.rasket(['teams', 'list', '--data', 'data', '--json']);
    expect(JSON.parse(teams.stdout)).toHaveLength(1);
  });

  it('that cannot be created because of a file size limit stops a first start in one line, and a later one succeeds', async () => {
    const limited = await desk.type('ulimit -f 16; exec rasket init --data data');
    expectOneLine(limited, /(disk is full|cannot be read or written)/);
    const again = await desk.rasket(['init', '--data', 'data']);
    expect(again, again.stderr).toMatchObject({ code: 0 });
  });
});

// skipped because with PostgreSQL the database is no file of ours, or because this machine grants no mount
describe.skipIf(driver === 'pg' || !mountable)('a faulty disk', () => {
  const inOwnMount = (size: string, script: string): string[] => [
    '-rm',
    'sh',
    '-c',
    `mkdir -p disk && mount -t tmpfs -o size=${size} tmpfs disk && ${script}`,
  ];

  it.each([
    { why: 'has room for the key and no database', size: '100k', first: ':' },
    { why: 'has no room at all', size: '100k', first: 'dd if=/dev/zero of=disk/filler bs=1k 2>dd.log;' },
  ])(
    'that $why stops a first start in one line, and a later start succeeds when there is room',
    async ({ size, first }) => {
      const room = 'rm -f disk/filler; mount -o remount,size=20m disk';
      const script = `{ ${first.replace(/;?$/, ';')} rasket init --data disk/data; ${room}; rasket init --data disk/data >out; }`;
      const ended = await desk.start('unshare', inOwnMount(size, script)).ended;
      expectOneLine(ended, /disk is full; no accepted mail is lost/, 0);
      expect(fs.readFileSync(desk.at('out'), 'utf8')).toMatch(/^API key {2}rk_/m);
    },
  );

  it('that is read-only is reported in one line', async () => {
    const script =
      'rasket init --data disk/data >out && mount -o remount,ro disk && exec rasket serve --data disk/data';
    const ended = await desk.start('unshare', inOwnMount('20m', script), { env: { RASKET_HTTP_PORT: '0' } }).ended;
    expectOneLine(ended, /(read-only|cannot be opened for writing)/);
  });

  it('that is full is reported to the load balancer and the operator', async () => {
    const script = 'rasket init --data disk/data >out && exec rasket serve --data disk/data';
    const env = { RASKET_HTTP_PORT: '0', RASKET_DOCTOR_CHECKS: 'disk' };
    const running = desk.start('unshare', inOwnMount('20m', script), { env });
    const disk = `/proc/${running.pid}/root${desk.at('disk')}`;
    const server = await desk.whenReady(running, `${disk}/data/run/ready.json`);
    fill(`${disk}/filler`);
    const ready = await fetch(`${server.url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([503, expect.objectContaining({ failed: ['storage'] })]);
    const enter = ['-t', `${running.pid}`, '-U', '-m', '--preserve-credentials', '--wd=.'];
    const words = [desk.at('path/rasket'), 'doctor', '--data', 'disk/data'];
    const told = await desk.start('nsenter', [...enter, ...words], { env }).ended;
    expect(told.stdout).toMatch(/disk\s+failed\s+0 MiB of 20 MiB are free/);
    expect(told.stdout).toMatch(/error\s+disk_low/);
    expect(told.stdout).toContain('this command has run the checks itself');
    expect(told.code).not.toBe(0);
    fs.rmSync(`${disk}/filler`);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });

  it('that fills up makes the server refuse new mail, lose none, and continue when there is room', async () => {
    const running = desk.start('unshare', inOwnMount('20m', 'exec rasket dev --data disk/dev'), {
      env: { RASKET_HTTP_PORT: '0' },
    });
    const disk = `/proc/${running.pid}/root${desk.at('disk')}`;
    const server = await desk.whenReady(running, `${disk}/dev/run/ready.json`);
    const { api_key: key } = await access(`${disk}/dev/run/dev.json`);
    const send = (subject: string, ...more: string[]): Promise<Ended> =>
      desk.rasket([
        'send',
        '--url',
        server.url,
        '--api-key',
        key,
        '--from',
        'you@playground.test',
        '--to',
        'a@example.com',
        '--subject',
        subject,
        '--text',
        'x'.repeat(12_000),
        ...more,
      ]);
    const first = await send('before', '--wait');
    expect(first, first.stderr).toMatchObject({ code: 0 });

    fill(`${disk}/filler`);
    const taken = [(first.stdout.split('\t')[0] ?? '').trim()];
    const refused = await untilRefused(() => send('meanwhile'), taken);
    expectOneLine(refused, /\(service_unavailable\)\. See what is wrong with: rasket ready/);

    fs.rmSync(`${disk}/filler`);
    const after = await send('after', '--wait');
    expect(after, after.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/\tdelivered\n$/) });
    await expectAllDelivered(server, key, taken);
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(server.stderr).not.toMatch(/^\s+at /m);
  });
});

function sql(text: string): void {
  const db = new Sqlite(desk.at('data/rasket.db'));
  db.exec(text);
  db.close();
}

const readContent = (file: string): Buffer | string[] =>
  fs.statSync(file).isDirectory() ? fs.readdirSync(file) : fs.readFileSync(file);

const access = (file: string): Promise<{ api_key: string }> =>
  vi.waitFor(() => JSON.parse(fs.readFileSync(file, 'utf8')) as { api_key: string });

/** Leaves no free block. */
function fill(file: string): void {
  const handle = fs.openSync(file, 'w');
  try {
    for (let size = 1 << 20; size >= 4096;) {
      try {
        fs.writeSync(handle, Buffer.alloc(size));
      } catch {
        size >>= 1;
      }
    }
  } finally {
    fs.closeSync(handle);
  }
}

/** SQLite's own files have room for a few more; every id that is answered goes to `taken`. */
async function untilRefused(send: () => Promise<Ended>, taken: string[]): Promise<Ended> {
  for (let count = 0; count < 40; count++) {
    const ended = await send();
    if (ended.code !== 0) return ended;
    taken.push(ended.stdout.trim());
  }
  throw new Error('a full disk took 40 emails');
}

async function expectAllDelivered(server: Server, key: string, ids: string[]): Promise<void> {
  const list = (): Promise<Ended> =>
    desk.rasket(['emails', 'list', '--limit', '100', '--json', '--url', server.url, '--api-key', key]);
  await vi.waitFor(
    async () => {
      const { data } = JSON.parse((await list()).stdout) as { data: { id: string; last_event: string }[] };
      const states = ids.map((id) => data.find((email) => email.id === id)?.last_event);
      expect(states).toEqual(ids.map(() => 'delivered'));
    },
    { interval: 500 },
  );
}
