import { execFileSync, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BareRoot, file, root } from './bare-root.ts';
import { buildFile } from './built-file.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

interface Ready {
  listeners: { http: { url: string }; smtp: { port: number; tls: string; doors: string[] }[] };
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-package-'));
/** The commit is that of the build, which may be older than the checkout's. */
const VERSION = /^\d+\.\d+\.\d+(\+[0-9a-f]{8})?\n$/;
const isPossible = BareRoot.isPossible();
let bare: BareRoot;

beforeAll(() => {
  buildFile();
  bare = new BareRoot(folder);
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const addonIn = (place: string): string => {
  const [name = 'none'] = fs.readdirSync(place).filter((one) => one.endsWith('.node'));
  return path.join(place, name);
};

it('the single file prints its version, and ignores Node.js options in the environment and on the command line', () => {
  const shout = 'data:text/javascript,console.log("injected")';
  for (const words of [[], ['--inspect=0'], ['--import', shout]]) {
    const env = { NODE_OPTIONS: `--import ${shout} --inspect=0 --require /nowhere.js` };
    const ended = spawnSync(file, [...words, '--version'], { env, encoding: 'utf8' });
    expect(ended.stdout + ended.stderr).not.toMatch(/injected|nowhere|Debugger/);
    if (words.length === 0)
      expect(ended).toMatchObject({ status: 0, stdout: expect.stringMatching(VERSION), stderr: '' });
  }
});

it('the single file contains the licenses of Node.js and of every package inside', () => {
  const { stdout } = spawnSync(file, ['--licenses'], { env: {}, encoding: 'utf8', maxBuffer: 2 ** 24 });
  expect(stdout).toContain('Node.js is licensed for use as follows');
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const [name, pinned] of Object.entries(dependencies)) expect(stdout).toContain(`\n${name} ${pinned} (`);
});

it('the single file says what it does not contain', () => {
  const env = { HOME: path.join(folder, 'home'), DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' };
  const told = spawnSync(file, ['doctor', '--url', 'http://127.0.0.1:9', '--api-key', 'rk_x'], {
    env,
    encoding: 'utf8',
  });
  expect(told.stdout + told.stderr).toContain('the single executable does not include keytar and @napi-rs/keyring');
  const watched = spawnSync(file, ['dev', '--watch'], { env, encoding: 'utf8' });
  expect(watched.stderr).toMatch(
    /^rasket: --watch restarts when the sources change, but this executable has no sources/,
  );
});

describe('the database addon of the single file', () => {
  const home = path.join(folder, 'addon-home');
  const cache = path.join(home, '.cache/rasket');
  const init = (name: string, env: Record<string, string>) =>
    spawnSync(file, ['init', '--data', path.join(folder, name)], { env, encoding: 'utf8' });

  it('is written once for its own account alone, and replaces a planted one', () => {
    expect(init('first', { HOME: home })).toMatchObject({ status: 0 });
    const addon = addonIn(cache);
    const made = fs.statSync(addon);
    expect(made.mode & 0o7777).toBe(0o500);
    const bytes = fs.readFileSync(addon);
    expect(init('second', { HOME: home })).toMatchObject({ status: 0 });
    expect(fs.statSync(addon).ino).toBe(made.ino);

    const planted: (() => void)[] = [
      () => fs.writeFileSync(addon, 'no addon', { mode: 0o500 }),
      () =>
        fs.writeFileSync(addon, Buffer.concat([bytes.subarray(0, -1), Buffer.from([255 - (bytes.at(-1) ?? 0)])]), {
          mode: 0o500,
        }),
      () => fs.writeFileSync(addon, bytes, { mode: 0o700 }),
      () => fs.symlinkSync('/nowhere', addon),
      () => fs.mkdirSync(addon),
      () => execFileSync('mkfifo', [addon]),
    ];
    for (const [at, plant] of planted.entries()) {
      fs.rmSync(addon, { recursive: true });
      plant();
      const ended = init(`planted-${at}`, { HOME: home });
      expect(ended, ended.stderr).toMatchObject({ status: 0 });
      expect(fs.lstatSync(addon).mode).toBe(fs.constants.S_IFREG | 0o500);
      expect(fs.readFileSync(addon).equals(bytes)).toBe(true);
    }
    expect(fs.readdirSync(cache).filter((name) => name.includes('.node'))).toHaveLength(1);
  });

  it('is never loaded from a folder where others can write, and the data folder is used instead', () => {
    fs.chmodSync(cache, 0o777);
    expect(init('shared', { HOME: home })).toMatchObject({ status: 0 });
    expect(addonIn(path.join(folder, 'shared/run'))).toMatch(/better_sqlite3-[0-9a-f]{32}\.node$/);
    fs.chmodSync(cache, 0o700);
  });
});

// runs only as root, who alone may act as another account
describe.runIf(process.getuid?.() === 0)('root, with data of another account,', () => {
  const home = path.join(folder, 'root-home');
  const data = path.join(folder, 'of-another');
  const stranger = 65_534;
  const move = (...words: string[]) =>
    spawnSync(file, ['migrate-to-postgres', '--data', data, '--to', 'postgres://x@127.0.0.1:9/x', ...words], {
      env: { HOME: home },
      encoding: 'utf8',
    });
  const addonsIn = (place: string): string[] => fs.readdirSync(place).filter((name) => name.endsWith('.node'));

  beforeAll(() => {
    fs.mkdirSync(home, { mode: 0o700 });
    fs.chmodSync(folder, 0o755);
    expect(spawnSync(file, ['init', '--data', data], { env: { HOME: home } })).toMatchObject({ status: 0 });
    execFileSync('chown', ['-R', `${stranger}`, data]);
    fs.rmSync(path.join(home, '.cache'), { recursive: true });
  });

  it('loads no code from folders of that account, although it acts as that account', () => {
    for (const words of [['--dry-run'], []]) {
      const ended = move(...words);
      expect(ended.stderr).toContain('ECONNREFUSED');
      expect(addonsIn(path.join(data, 'run'))).toEqual([]);
    }
    expect(fs.statSync(addonIn(path.join(home, '.cache/rasket')))).toMatchObject({ uid: 0 });
  });

  it('reads files next to a downloaded program only when root or that account put them there', () => {
    const downloads = path.join(folder, 'downloads');
    const here = path.join(downloads, 'rasket');
    const note = path.join(downloads, '.installation.json');
    fs.mkdirSync(downloads);
    fs.copyFileSync(file, here);
    fs.chmodSync(here, 0o755);
    const config = path.join(downloads, 'empty.toml');
    fs.writeFileSync(config, '');
    fs.writeFileSync(note, JSON.stringify({ data: path.join(folder, 'planted'), config, environment: '/nowhere' }));
    const told = (): string =>
      spawnSync(here, ['teams', 'list'], { cwd: downloads, env: { HOME: home }, encoding: 'utf8' }).stderr;
    expect(told()).toContain(path.join(folder, 'planted'));
    fs.chownSync(note, stranger, stranger);
    expect(told()).not.toContain('planted');
    expect(told()).toContain('is not a data folder of rasket');
    fs.rmSync(downloads, { recursive: true });
  });

  it('takes neither the addon nor compiled code from a cache in the home folder of another account', () => {
    execFileSync('chown', ['-R', `${stranger}`, home]);
    fs.rmSync(path.join(home, '.cache'), { recursive: true });
    fs.mkdirSync(path.join(home, '.cache/rasket/compile'), { recursive: true });
    execFileSync('chown', ['-R', `${stranger}`, home]);
    const told = move('--dry-run').stderr;
    expect(told).toContain('root-home/.cache/rasket: it belongs to another account');
    fs.chownSync(path.join(home, '.cache/rasket'), 0, 0);
    fs.chownSync(path.join(home, '.cache/rasket/compile'), 0, 0);
    expect(move('--dry-run').stderr).toContain(`it is in ${path.join(home, '.cache')}, which is not root's alone`);
    expect(fs.readdirSync(path.join(home, '.cache/rasket/compile'))).toEqual([]);
  });
});

// runs only as root, who alone may act as another account
it.runIf(process.getuid?.() === 0)('root verifies and restores a backup as the account that owns the folder', () => {
  const at = (name: string): string => path.join(folder, 'of-service', name);
  const env = { HOME: path.join(folder, 'home-of-root') };
  const rasket = (...words: string[]) => spawnSync(file, words, { env, encoding: 'utf8' });
  fs.mkdirSync(at('restored'), { recursive: true });
  fs.chmodSync(folder, 0o755);
  expect(rasket('init', '--data', at('data'))).toMatchObject({ status: 0 });
  execFileSync('chown', ['-R', '65534', at('.')]);
  for (const words of [
    ['backup', at('copy'), '--data', at('data')],
    ['backup', 'verify', at('copy')],
    ['restore', at('copy'), '--data', at('restored')],
  ]) {
    const ended = rasket(...words);
    expect(ended, ended.stderr).toMatchObject({ status: 0, stderr: '' });
  }
});

// runs only where a root of its own may be mounted
describe.runIf(isPossible)('the single file in a read-only root without Node.js', () => {
  let server: ChildProcess;
  let ready: Ready;
  let said = '';
  beforeAll(async () => {
    server = bare.start(['dev', '--data', '/data/dev']);
    for (const stream of [server.stdout, server.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
    const place = path.join(bare.data, 'dev/run/ready.json');
    await vi.waitFor(() => expect(fs.existsSync(place), said).toBe(true), { timeout: 60_000 });
    ready = JSON.parse(fs.readFileSync(place, 'utf8')) as Ready;
    // It is shown once the ports are open, and comes through a pipe.
    await vi.waitFor(() => expect(key(), said).not.toBe(''), { timeout: 60_000 });
  });
  afterAll(async () => {
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  });

  const key = (): string => /API key {2}(rk_\S+)/.exec(said)?.[1] ?? '';
  const rasket = (...words: string[]): string => {
    const ended = bare.run([...words, '--data', '/data/dev']);
    expect(ended, `${words.join(' ')}: ${ended.stderr}`).toMatchObject({ status: 0 });
    return ended.stdout;
  };
  const listed = (): { subject: string; last_event: string }[] =>
    (JSON.parse(rasket('emails', 'list', '--json')) as { data: { subject: string; last_event: string }[] }).data;

  it('delivers a first email by HTTP, by command and by SMTP', async () => {
    const email = { from: 'you@playground.test', to: 'someone@example.com', subject: 'By HTTP', text: 'It works.' };
    const answer = await fetch(`${ready.listeners.http.url}/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key()}`, 'content-type': 'application/json', 'user-agent': 'test' },
      body: JSON.stringify(email),
    });
    expect(answer.status).toBe(200);
    rasket('send', '--from', email.from, '--to', email.to, '--subject', 'By command', '--text', 'It works.');
    const door = ready.listeners.smtp.find(({ tls, doors }) => tls === 'starttls' && doors.includes('submission'));
    const client = createTransport({
      host: '127.0.0.1',
      port: door?.port ?? 0,
      auth: { user: 'rasket', pass: key() },
      tls: { rejectUnauthorized: false },
    });
    await client.sendMail({ ...email, subject: 'By SMTP' });
    client.close();
    await vi.waitFor(() =>
      expect(
        listed()
          .map(({ subject, last_event }) => `${subject}: ${last_event}`)
          .sort(),
      ).toEqual(['By HTTP: delivered', 'By SMTP: delivered', 'By command: delivered']),
    );
    expect(rasket('playground', 'latest')).toContain('SPF pass, DKIM pass and pass, DMARC pass');
  });

  it('receives mail, which its threads authenticate and read', async () => {
    const door = ready.listeners.smtp.find(({ doors }) => doors.includes('receiving'));
    const client = createTransport({ host: '127.0.0.1', port: door?.port ?? 0, tls: { rejectUnauthorized: false } });
    await client.sendMail({
      from: 'them@example.org',
      to: 'hello@playground.test',
      subject: 'From outside',
      text: 'Hi',
    });
    client.close();
    await vi.waitFor(() => expect(rasket('received', 'list')).toContain('From outside'), { timeout: 60_000 });
    expect(said).not.toContain('could not be checked');
  });

  it('serves its pages, the contract documents and the reference', async () => {
    const sizes: Record<string, number> = {
      playground: 1000,
      docs: 1000,
      'docs/scalar.js': 1_000_000,
      'openapi.json': 100_000,
      'openapi.yaml': 100_000,
    };
    for (const [page, bytes] of Object.entries(sizes)) {
      const answer = await fetch(`${ready.listeners.http.url}/${page}`);
      expect(answer.status, page).toBe(200);
      expect((await answer.text()).length, page).toBeGreaterThan(bytes);
    }
  });

  it('opens the console', async () => {
    const { words, env } = bare.line(['console', '--data', '/data/dev'], 'TERM=xterm-256color');
    const tmux = (...more: string[]): string =>
      execFileSync('tmux', ['-S', path.join(folder, 'tmux'), '-f', '/dev/null', ...more], { env, encoding: 'utf8' });
    tmux('new-session', '-d', '-x', '100', '-y', '30', ...words);
    try {
      await vi.waitFor(() => expect(tmux('capture-pane', '-p')).toMatch(/1 overview.*2 emails/), { timeout: 60_000 });
      tmux('send-keys', '2');
      await vi.waitFor(() => expect(tmux('capture-pane', '-p')).toContain('By SMTP'), { timeout: 60_000 });
    } finally {
      tmux('kill-server');
    }
  });

  it('makes a backup and reads it again', () => {
    rasket('backup', '/data/backup');
    expect(bare.run(['backup', 'verify', '/data/backup'], 'XDG_CACHE_HOME=/data/cache')).toMatchObject({ status: 0 });
  });
});
