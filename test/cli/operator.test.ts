import fs from 'node:fs';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { Desk, expectOneLine } from './desk.ts';
import { Installation, type Made } from './installation.ts';

// A dozen processes one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 180_000 });

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

const modeOf = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8);

async function init(data: string, ...words: string[]): Promise<Made> {
  const ended = await desk.rasket(['init', '--data', data, '--json', ...words], { env });
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout) as Made;
}

/** As after `rasket init`. */
const install = (): Promise<Made> => installation.copyTo(desk, 'data', env);

describe('rasket init', () => {
  it('makes a private folder and a key that works, once', async () => {
    env = await desk.database('empty');
    fs.mkdirSync(desk.at('data'), { mode: 0o755 });
    const made = await init('data');
    expect(made).toEqual({
      team_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      team: 'my-team',
      api_key: expect.stringMatching(/^rk_/),
      url: 'http://127.0.0.1:3000',
      data: desk.at('data'),
    });
    expect([desk.at('data'), desk.at('data/run'), desk.at('data/instance.key')].map(modeOf)).toEqual([
      '700',
      '700',
      '600',
    ]);
    expectOneLine(await desk.rasket(['init', '--data', 'data'], { env }), /has a team already; .*--team NAME/);

    const server = await desk.serve(['serve', '--data', 'data'], { env });
    const other = await init('data', '--team', 'Marketing');
    for (const key of [made.api_key, other.api_key]) {
      const asked = await desk.rasket(['domains', 'list', '--url', server.url, '--api-key', key, '--json']);
      expect(JSON.parse(asked.stdout)).toMatchObject({ object: 'list', data: [] });
    }
    expectOneLine(
      await desk.rasket(['teams', 'create', 'Marketing', '--data', 'data'], { env }),
      /called marketing already/,
    );
    const teams = await desk.rasket(['teams', 'list', '--data', 'data', '--json'], { env });
    expect((JSON.parse(teams.stdout) as { slug: string }[]).map((team) => team.slug).sort()).toEqual([
      'marketing',
      'my-team',
    ]);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });

  it('can be repeated where an attempt before left half a folder', async () => {
    fs.mkdirSync(desk.at('data/run'), { recursive: true });
    desk.write('data/instance.key', '');
    await init('data');
  });

  it.each([
    { why: 'another program’s folder', data: 'home', says: /has other files in it; choose an empty or a new folder/ },
    { why: 'a file', data: 'home/note', says: /cannot be made a folder/ },
    { why: 'a folder below a file', data: 'home/note/data', says: /cannot be made a folder/ },
  ])('refuses $why in one line', async ({ data, says }) => {
    desk.write('home/note', 'not ours');
    expectOneLine(await desk.rasket(['init', '--data', data], { env }), says);
    expect(fs.readdirSync(desk.at('home'))).toEqual(['note']);
  });
});

// skipped because with SQLite the database is in the folder itself
describe.skipIf(driver !== 'pg')('a database server that has teams already', () => {
  it.each(['init', 'dev'])('is not taken by the new folder of rasket %s', async (verb) => {
    const made = await install();
    const refused = await desk.rasket([verb, '--data', 'other'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
    expectOneLine(refused, /belongs to another data folder; copy that folder's instance\.key/);
    const teams = await desk.rasket(['teams', 'list', '--data', 'data', '--json'], { env });
    expect(JSON.parse(teams.stdout)).toEqual([expect.objectContaining({ id: made.team_id })]);
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('other/instance.key'));
    expect(await desk.rasket(['init', '--data', 'other', '--team', 'Second'], { env })).toMatchObject({ code: 0 });
  });
});

describe('rasket serve', () => {
  it.each(['http', 'delivery', 'scheduler'])('runs the role %s alone', async (role) => {
    await install();
    const server = await desk.serve(['serve', '--data', 'data', '--roles', role], { env });
    expect(server.ready).toMatchObject({ pid: server.pid, roles: [role] });
    expect(Object.keys(server.ready.listeners)).toEqual(role === 'http' ? ['http'] : []);
    expect(modeOf(server.readyFile)).toBe('600');
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(fs.existsSync(server.readyFile)).toBe(false);
  });

  // skipped because with PostgreSQL the processes of one machine may share a folder
  it.skipIf(driver === 'pg')(
    'is alone on its data folder, and what it refuses leaves the first one unharmed',
    async () => {
      await install();
      const first = await desk.serve(['serve', '--data', 'data'], { env });
      expect(first.ready.listeners.http?.port).toBeGreaterThan(0);
      const second = await desk.rasket(['serve', '--data', 'data'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
      expectOneLine(second, /another rasket process is using .*data; stop it first/);
      expect(JSON.parse(fs.readFileSync(first.readyFile, 'utf8'))).toMatchObject({ pid: first.pid });
      const health = await desk.rasket(['health', '--url', first.url]);
      expect(health.code).toBe(0);
    },
  );

  // runs only with PostgreSQL, because SQLite bears one process
  it.runIf(driver === 'pg')('leaves the file of another process on the same folder alone', async () => {
    await install();
    const first = await desk.serve(['serve', '--data', 'data', '--roles', 'http'], { env });
    const second = await desk.serve(['serve', '--data', 'data', '--roles', 'delivery'], { env });
    expect(await first.stop()).toMatchObject({ code: 0 });
    expect(JSON.parse(fs.readFileSync(second.readyFile, 'utf8'))).toMatchObject({ pid: second.pid });
    expect(await second.stop()).toMatchObject({ code: 0 });
    expect(fs.existsSync(second.readyFile)).toBe(false);
  });

  it('does not take the file of a killed process for its own', async () => {
    await install();
    const killed = await desk.serve(['serve', '--data', 'data'], { env });
    killed.kill('SIGKILL');
    await killed.ended;
    expect(fs.existsSync(killed.readyFile)).toBe(true);
    const blocker = await listen(0);
    const refused = await desk.rasket(['serve', '--data', 'data'], {
      env: { ...env, RASKET_HTTP_PORT: `${blocker.port}` },
    });
    expectOneLine(refused, new RegExp(`port ${blocker.port} on 127\\.0\\.0\\.1 is in use; .*RASKET_HTTP_PORT`));
    expect(fs.existsSync(killed.readyFile)).toBe(false);
    blocker.close();
    await desk.serve(['serve', '--data', 'data'], { env });
  });

  it('lets a request end at SIGTERM, and stops at once at the second', async () => {
    await install();
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    const { port } = server.ready.listeners.http ?? { port: 0 };
    const caller = net.connect(port, '127.0.0.1');
    caller.on('error', () => undefined);
    caller.write(
      'POST /emails HTTP/1.1\r\nhost: x\r\nuser-agent: slow\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n',
    );
    // The server's word that it has taken the request up.
    await new Promise((resolve) => caller.once('data', resolve));
    caller.write('{');
    server.kill('SIGTERM');
    await vi.waitFor(() => expect(server.stderr).toContain('"stopping"'), { timeout: 10_000 });
    const began = performance.now();
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 1 });
    expect(performance.now() - began).toBeLessThan(5000);
    caller.destroy();
  });

  it.each([
    {
      why: 'no data folder',
      args: ['--data', 'absent'],
      says: /absent is no data folder of rasket; make one with: rasket init --data/,
    },
    { why: 'a configuration file that is not there', args: ['--config', 'absent.toml'], says: /absent\.toml/ },
    {
      why: 'an address of another machine',
      env: { RASKET_HTTP_HOST: '192.0.2.1' },
      says: /192\.0\.2\.1 is not an address of this machine/,
    },
    {
      why: 'a PostgreSQL that is not there',
      env: { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: 'postgres://a@127.0.0.1:1/b' },
      says: /PostgreSQL cannot be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    },
    { why: 'a damaged instance key', key: 'AAAA', says: /instance\.key is damaged; restore it from a backup/ },
  ])('says in one line: $why', async ({ args = [], env: more = {}, key, says }) => {
    await install();
    if (key !== undefined) desk.write('data/instance.key', key);
    const given = args.includes('--data') ? args : ['--data', 'data', ...args];
    const ended = await desk.rasket(['serve', ...given], { env: { ...env, RASKET_HTTP_PORT: '0', ...more } });
    expectOneLine(ended, says);
  });

  it('lists every fault of a configuration, one a line', async () => {
    await install();
    desk.write('bad.toml', '[http]\nprot = 1\nport = "x"\n[dilivery]\na = 1\n');
    const ended = await desk.rasket(['serve', '--data', 'data', '--config', 'bad.toml'], { env });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    const lines = ended.stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines).toEqual(lines.map(() => expect.stringMatching(/^rasket: bad\.toml/)));
    expect(ended.stderr).toMatch(/http\.prot.*http\.port/);
    const checked = await desk.rasket(['config', 'check', 'bad.toml'], { env });
    expect(checked).toEqual({ ...ended });
  });

  it('takes no role that does not exist, and no folder of the development profile', async () => {
    const misused = await desk.rasket(['serve', '--roles', 'http,smpt'], { env });
    expectOneLine(misused, /"smpt" is no role; the roles are http, delivery, scheduler/, 64);
    const server = await desk.serve(['dev', '--data', 'dev'], { env: await desk.database() });
    await server.stop();
    expectOneLine(await desk.rasket(['serve', '--data', 'dev'], { env }), /belongs to the development profile/);
    await install();
    expectOneLine(await desk.rasket(['dev', '--data', 'data'], { env }), /is not a folder of the development profile/);
  });
});

describe('rasket dev', () => {
  it('takes another port than 3000 where that is taken, and says so', async () => {
    const blocker = await takePort(3000);
    const server = await desk.serve(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: undefined } });
    expect(server.url).not.toMatch(/:3000$/);
    expect(server.stderr).toMatch(/port is in use; taking a free one/);
    await vi.waitFor(() => expect(server.stdout).toContain('Ctrl-C stops it'), { timeout: 10_000 });
    expect(server.stdout).toContain(server.url);
    const curl = /curl [\s\S]*?\}'\n/.exec(server.stdout)?.[0] ?? '';
    expect(curl).toContain(`${server.url}/emails`);
    const sent = /rasket send .*/.exec(server.stdout)?.[0] ?? '';
    const ended = await desk.type(`${sent} --wait`);
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/\tdelivered\n$/) });
    expect(await server.stop()).toMatchObject({ code: 0 });
    blocker?.close();
  });

  it('keeps to the port that was asked for', async () => {
    const blocker = await listen(0);
    const ended = await desk.rasket(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: `${blocker.port}` } });
    expectOneLine(ended, new RegExp(`port ${blocker.port} on 127\\.0\\.0\\.1 is in use`));
    blocker.close();
  });

  it('has nothing to show where nothing was begun or caught', async () => {
    expectOneLine(
      await desk.rasket(['playground', '--data', 'dev'], { env }),
      /is no data folder .*rasket dev --data dev/,
    );
    const server = await desk.serve(['dev', '--data', 'dev'], { env });
    expectOneLine(await desk.rasket(['playground', 'latest', '--data', 'dev'], { env }), /nothing was caught yet/);
    expectOneLine(await desk.rasket(['playground', 'abc', '--data', 'dev'], { env }), /nothing caught has the id abc/);
    expectOneLine(await desk.rasket(['playground', '--limit', '0'], { env }), /whole number from 1 to 1000/, 64);
    await server.stop();
  });
});

interface Blocker {
  port: number;
  close(): void;
}

function listen(port: number): Promise<Blocker> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      resolve({ port: (server.address() as net.AddressInfo).port, close: () => void server.close() });
    });
  });
}

/** Held by us, or for longer than we wait by somebody else, which serves as well. */
const takePort = (port: number): Promise<Blocker | undefined> =>
  vi.waitFor(() => listen(port), { timeout: 15_000, interval: 200 }).catch(() => undefined);
