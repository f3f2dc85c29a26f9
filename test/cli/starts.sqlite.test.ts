// Tests what a start prints at the terminal, and how it ends: the same with every database.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { listen, type Blocker } from './blocker.ts';
import { Desk, expectOneLine, root } from './desk.ts';
import { Installation, type Made } from './installation.ts';

// Several processes one after the other, on whatever else the machine does.
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

/** Makes an installation as `rasket init` does. */
const install = (): Promise<Made> => installation.copyTo(desk, 'data', env);

describe('rasket init', () => {
  it.each([
    { why: 'another program’s folder', data: 'home', says: /contains other files; choose an empty or a new folder/ },
    { why: 'a file', data: 'home/note', says: /cannot be created as a folder/ },
    { why: 'a folder below a file', data: 'home/note/data', says: /cannot be created as a folder/ },
  ])('refuses $why in one line', async ({ data, says }) => {
    desk.write('home/note', 'not ours');
    expectOneLine(await desk.rasket(['init', '--data', data], { env }), says);
    expect(fs.readdirSync(desk.at('home'))).toEqual(['note']);
  });
});

describe('rasket serve', () => {
  it('lets a request end at SIGTERM, and stops at once at a second one', async () => {
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
    await vi.waitFor(() => expect(server.stderr).toContain('"stopping"'));
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 1 });
    // The message differs from the one at the end of the grace period.
    expect(server.stderr).toContain('"msg":"stopped immediately"');
    caller.destroy();
  });

  it.each([
    {
      why: 'a missing data folder',
      args: ['--data', 'absent'],
      says: /absent is not a data folder of rasket; create one with: rasket init --data/,
    },
    { why: 'a missing configuration file', args: ['--config', 'absent.toml'], says: /absent\.toml/ },
    {
      why: 'an address of another machine',
      env: { RASKET_HTTP_HOST: '192.0.2.1' },
      says: /192\.0\.2\.1 is not an address of this machine/,
    },
    {
      why: 'an unreachable PostgreSQL',
      env: {
        RASKET_DATABASE_DRIVER: 'pg',
        RASKET_DATABASE_URL: 'postgres://a@127.0.0.1:1/b',
        RASKET_DATABASE_WAIT_SECONDS: '0',
      },
      says: /PostgreSQL cannot be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
    },
    { why: 'a damaged instance key', key: 'AAAA', says: /instance\.key is damaged; restore it from a backup/ },
  ])('refuses $why in one line', async ({ args = [], env: more = {}, key, says }) => {
    await install();
    if (key !== undefined) desk.write('data/instance.key', key);
    const given = args.includes('--data') ? args : ['--data', 'data', ...args];
    const ended = await desk.rasket(['serve', ...given], { env: { ...env, RASKET_HTTP_PORT: '0', ...more } });
    expectOneLine(ended, says);
  });

  it('names the setting of a port that is in use', async () => {
    await install();
    const blocker = await listen(0);
    onTestFinished(() => blocker.close());
    const taken = { ...env, RASKET_HTTP_PORT: '0', RASKET_METRICS_PORT: `${blocker.port}` };
    const { code, stderr } = await desk.rasket(['serve', '--data', 'data'], { env: taken });
    expect(code).toBe(1);
    expect(stderr).toContain(`rasket: port ${blocker.port} on 127.0.0.1 is in use by `);
    expect(stderr).toContain(`(process ${process.pid}); stop it, or set metrics.port (RASKET_METRICS_PORT)`);
  });

  // runs only as root, who alone can become another account
  it.runIf(process.getuid?.() === 0)('does not take an unreadable folder for a missing one', async () => {
    await install();
    fs.chmodSync(desk.folder, 0o755);
    fs.chmodSync(desk.at('data'), 0o700);
    const words = [
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      desk.at('path/rasket'),
      'serve',
      '--data',
      'data',
    ];
    const ended = await desk.start('setpriv', words, { env }).ended;
    expectOneLine(ended, /data\/instance\.key cannot be read or written by the account .*; check the owner and mode/);
  });

  it('lists every fault of a configuration, one on each line', async () => {
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

  it('refuses an unknown role, and a data folder of a development server', async () => {
    const misused = await desk.rasket(['serve', '--roles', 'http,smpt'], { env });
    expectOneLine(misused, /"smpt" is not a role; the roles are http, delivery, scheduler/, 64);
    const server = await desk.serve(['dev', '--data', 'dev'], { env: await desk.database() });
    await server.stop();
    expectOneLine(await desk.rasket(['serve', '--data', 'dev'], { env }), /belongs to a development server/);
    await install();
    expectOneLine(
      await desk.rasket(['dev', '--data', 'data'], { env }),
      /is not a data folder of a development server/,
    );
  });
});

describe('rasket dev', () => {
  it('sends the key of a killed server to nobody who listens at its address', async () => {
    const server = await desk.serve(['dev', '--data', 'dev'], { env });
    expect(await desk.rasket(['domains', 'list', '--data', 'dev'])).toMatchObject({ code: 0 });
    const doctor = await desk.rasket(['doctor', '--data', 'dev']);
    expect(doctor, 'doctor says that it leaves the machine out').toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/The machine was not examined: \S+ is a development server/),
    });
    server.kill('SIGKILL');
    await server.ended;
    const taker = await listen(server.ready.listeners.http?.port ?? 0);
    const ended = await desk.rasket(['domains', 'list', '--data', 'dev']);
    taker.close();
    expectOneLine(
      ended,
      /No development server is running on \S+\/dev\. .* Next: start this one with: rasket dev --data dev/,
      69,
    );
    const again = await desk.serve(['dev', '--data', 'dev'], { env });
    expect(await desk.rasket(['domains', 'list', '--data', 'dev'])).toMatchObject({ code: 0 });
    await again.stop();
  });

  it('takes another port when port 3000 is in use, and says so', async () => {
    const blocker = await takePort(3000);
    const server = await desk.serve(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: undefined } });
    expect(server.url).not.toMatch(/:3000$/);
    expect(server.stderr).toMatch(/port is in use; a free one is open instead/);
    await vi.waitFor(() => expect(server.stdout).toContain('Ctrl-C stops it'));
    expect(server.stdout).toContain(server.url);
    const curl = /curl [\s\S]*?\}'\n/.exec(server.stdout)?.[0] ?? '';
    expect(curl).toContain(`${server.url}/emails`);
    const sent = /rasket send .*/.exec(server.stdout)?.[0] ?? '';
    const ended = await desk.type(`${sent} --wait`);
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/\tdelivered\n$/) });
    const received = await desk.type(/rasket received .*/.exec(server.stdout)?.[0] ?? 'false');
    expect(received, received.stderr).toMatchObject({ code: 0 });
    expect(await server.stop()).toMatchObject({ code: 0 });
    blocker?.close();
  });

  it('does not change the port that was asked for', async () => {
    const blocker = await listen(0);
    const ended = await desk.rasket(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: `${blocker.port}` } });
    expectOneLine(ended, new RegExp(`port ${blocker.port} on 127\\.0\\.0\\.1 is in use by `));
    blocker.close();
  });

  it('has nothing to show when nothing was started or caught', async () => {
    expectOneLine(
      await desk.rasket(['playground', '--data', 'dev'], { env }),
      /is not a data folder .*rasket dev --data dev/,
    );
    const server = await desk.serve(['dev', '--data', 'dev'], { env });
    expectOneLine(
      await desk.rasket(['playground', 'latest', '--data', 'dev'], { env }),
      /no message was captured yet/,
      66,
    );
    expect(await desk.rasket(['playground', '--data', 'dev'], { env })).toMatchObject({
      code: 0,
      stdout: 'ID\tCAUGHT\tTO\tSUBJECT\n',
      stderr: '',
    });
    expectOneLine(
      await desk.rasket(['playground', 'abc', '--data', 'dev'], { env }),
      /no captured message has the id abc/,
      66,
    );
    expectOneLine(await desk.rasket(['playground', '--limit', '0'], { env }), /whole number from 1 to 1000/, 64);
    await server.stop();
  });
});

const npmMajor = Number(execFileSync('npm', ['--version'], { encoding: 'utf8' }).split('.')[0]);

// skipped because npm passes signals on from its version 10; docs/operating.md says what to supervise where it does not.
describe.skipIf(npmMajor < 10)('npm start', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('passes on %s, and lets requests in progress end', async (signal) => {
    const at = { RASKET_DATA: desk.at('dev'), RASKET_HTTP_PORT: '0' };
    const npm = desk.start('npm', ['start'], { cwd: root, env: { ...env, ...at } });
    const file = desk.at('dev/run/ready.json');
    await vi.waitFor(() => expect(fs.existsSync(file)).toBe(true), { timeout: 120_000 });
    const { pid } = JSON.parse(fs.readFileSync(file, 'utf8')) as { pid: number };
    try {
      // Ctrl-C is sent to both by the terminal, and once more by npm.
      if (signal === 'SIGINT') process.kill(pid, signal);
      npm.kill(signal);
      expect(await npm.ended).toMatchObject({ code: 0 });
      expect(npm.stderr).toContain('stopped');
      expect(npm.stderr).not.toContain('stopped immediately');
      expect(() => process.kill(pid, 0), 'the server is gone').toThrow('ESRCH');
    } finally {
      if (fs.existsSync(file)) process.kill(pid, 'SIGKILL');
    }
  });
});

/** Held by us, or for longer than we wait by somebody else, which serves as well. */
const takePort = (port: number): Promise<Blocker | undefined> =>
  vi.waitFor(() => listen(port), { interval: 200 }).catch(() => undefined);
