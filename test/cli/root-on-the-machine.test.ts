// Commands of root on the machine of an installation: the machine is examined whichever key is kept, and operator commands
// need no key.
import fs from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { Desk, type Ended, type Server } from './desk.ts';

vi.setConfig({ testTimeout: 240_000 });

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const desk = new Desk();
let dns: DnsRig;
let server: Server;
let env: Record<string, string | undefined>;
let teamKey: string;
let operatorToken: string;
/** The address by which the machine itself reaches the server, whose public name is another one. */
let local: string;
/** Another server, which records the credentials of each request. */
let elsewhere: string;
const credentials: string[] = [];
const stranger = createServer((request, response) => {
  credentials.push(request.headers.authorization ?? '');
  const isKeyTried = request.url?.startsWith('/emails') === true;
  const body = isKeyTried
    ? { object: 'list', has_more: false, data: [] }
    : { statusCode: 403, name: 'invalid_permission', message: 'Not with this key.' };
  response
    .writeHead(isKeyTried ? 200 : 403, { 'content-type': 'application/json', 'x-request-id': 'of-elsewhere' })
    .end(JSON.stringify(body));
});

beforeAll(async () => {
  dns = await startDns();
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  env = {
    ...(await desk.database()),
    RASKET_DATA: desk.at('data'),
    RASKET_DNS_SERVERS: dns.server,
    RASKET_HTTP_PUBLIC_URL: 'https://public.rasket.test',
    RASKET_DOCTOR_CHECKS: 'files',
    SUDO_USER: undefined,
  };
  const made = await desk.rasket(['init', '--data', 'data', '--json'], { env });
  teamKey = (JSON.parse(made.stdout) as { api_key: string }).api_key;
  const operator = await desk.rasket(['operators', 'create', 'Ada', '--data', 'data', '--json'], { env });
  operatorToken = (JSON.parse(operator.stdout) as { token: string }).token;
  server = await desk.serve(['serve', '--data', 'data'], { env });
  local = `http://127.0.0.1:${server.ready.listeners.http?.port}`;
});
afterAll(async () => {
  await desk.clear();
  await dns.close();
  stranger.close();
});
beforeEach(() => {
  fs.rmSync(desk.at('config'), { recursive: true, force: true });
  credentials.length = 0;
});

const run = (words: string, more: Record<string, string | undefined> = {}): Promise<Ended> =>
  desk.run(words.split(' '), { env: { ...env, ...more } });

async function done(words: string, more: Record<string, string | undefined> = {}): Promise<string> {
  const ended = await run(words, more);
  expect(ended, `${words}\n${ended.stdout}${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

async function keep(url: string, key: string, profile?: string): Promise<void> {
  const words = ['login', '--url', url, '--api-key', ...(profile === undefined ? [] : ['--profile', profile])];
  const kept = await desk.run(words, { env, input: key });
  expect(kept, kept.stderr).toMatchObject({ code: 0 });
  credentials.length = 0;
}

describe('rasket doctor as root', () => {
  it.each(['127.0.0.1', 'localhost', '127.0.0.1 by RASKET_URL'])(
    'examines the machine although the key is for %s, and not for its public name',
    async (how) => {
      const [host = '', byVariable] = how.split(' by ');
      const url = local.replace('127.0.0.1', host);
      if (byVariable === undefined) await keep(url, teamKey);
      const ended = await run('doctor', byVariable === undefined ? {} : { RASKET_URL: url, RASKET_API_KEY: teamKey });
      expect(ended, ended.stdout + ended.stderr).toMatchObject({ code: 0 });
      expect(ended.stdout).toMatch(/^This machine +\S+\/data, /m);
      expect(ended.stdout).toMatch(/^files\tpassed\t/m);
      expect(ended.stdout).toMatch(/^It is +accepted$/m);
      expect(ended.stdout).not.toContain('not examined');
    },
  );

  it.each(['a kept key', '--url', '--profile'])(
    'reports in one line that the machine was not examined, and fails, when %s leads to another server',
    async (how) => {
      if (how === 'a kept key') await keep(elsewhere, 'rk_of_another_server');
      if (how === '--profile') await keep(elsewhere, 'rk_of_another_server', 'other');
      const words = how === '--url' ? ` --url ${elsewhere}` : how === '--profile' ? ' --profile other' : '';
      const ended = await run(`doctor${words}`);
      expect(ended.code).not.toBe(0);
      const lines = ended.stdout.split('\n').filter((line) => line.includes('not examined'));
      expect(lines).toEqual([
        expect.stringMatching(
          /^The machine was not examined: http:\S+ is not the server of this machine\. Examine it with: rasket doctor --data \S+\/data$/,
        ),
      ]);
      expect(credentials.filter((one) => one.includes('rkmp_'))).toEqual([]);
    },
  );

  it('asks the server on the machine itself when its public name cannot be reached from there', async () => {
    const ended = await run('doctor');
    expect(ended, ended.stdout + ended.stderr).toMatchObject({ code: 0 });
    const lines = ended.stdout.split('\n').filter((line) => line.includes('cannot be reached'));
    expect(lines).toEqual([
      expect.stringMatching(
        /^https:\/\/public\.rasket\.test\/? cannot be reached from this machine: .+; the server was asked at http:\S+\.$/,
      ),
    ]);
    await server.stop();
    const silent = await run('doctor');
    server = await desk.serve(['serve', '--data', 'data'], { env });
    local = `http://127.0.0.1:${server.ready.listeners.http?.port}`;
    expect(silent, silent.stdout + silent.stderr).toMatchObject({ code: 69 });
  });

  it('reports RASKET_API_KEY as the key only when it is in force', async () => {
    const named = await run(`doctor --data ${desk.at('data')}`, { RASKET_API_KEY: teamKey });
    expect(named.stdout).toMatch(/^API key +none\. RASKET_API_KEY is not used, as --data names the server\.$/m);
    expect(named.stdout).not.toContain('RASKET_API_KEY, which takes precedence');
  });
});

describe('an operator command as root', () => {
  interface Entry {
    action: string;
    actor: { kind: string; id: string | null; name: string };
  }
  const readAudit = async (more = {}): Promise<Entry[]> =>
    (JSON.parse(await done('audit all --json', more)) as { data: Entry[] }).data;

  it('works without a key, and the audit log names the account that typed it', async () => {
    expect(await done('queue')).toContain('The queue is empty.');
    expect(await done('queue list')).toBeDefined();
    const hold = (await done('queue hold --destination example.org --reason Moves', { SUDO_USER: 'ada' })).trim();
    expect(await done('queue holds')).toContain('example.org');
    const unknown = await run(`queue explain ${hold}`);
    expect(unknown, unknown.stderr).toMatchObject({ code: 66 });
    expect(await done('queue retry --destination example.org')).toContain('0 deliveries due now.');
    expect(await done(`queue release ${hold}`)).toContain('Released');
    expect(await done('queue drop --destination example.org --reason Gone --yes')).toBe('0 dropped.\n');
    await done('tls');
    await done('providers');
    await done('breakers');
    await done('egress');
    await done('reputation');
    await done('relays list');
    await done('findings all');
    await done('findings examine');
    const entries = await readAudit();
    const changes = entries.filter(({ action }) => action.startsWith('queue.'));
    const me = isRoot ? 'root' : expect.any(String);
    expect(changes.map(({ action, actor }) => ({ action, ...actor }))).toEqual([
      { action: 'queue.released', kind: 'command', id: null, name: me, app: null },
      { action: 'queue.held', kind: 'command', id: null, name: 'ada', app: null },
    ]);
    expect(credentials).toEqual([]);
  });

  it.each(['kept for the server', 'set as RASKET_API_KEY'])('works although a team’s key is %s', async (how) => {
    if (how === 'kept for the server') await keep(local, teamKey);
    const more = how === 'kept for the server' ? {} : { RASKET_API_KEY: teamKey };
    expect(await done('queue', more)).toContain('The queue is empty.');
    expect(await done(`queue --data ${desk.at('data')}`, more)).toContain('The queue is empty.');
  });

  it.each(['--api-key', 'RASKET_API_KEY', '--profile', 'a kept key'])(
    'acts as the operator whose token is given by %s',
    async (how) => {
      if (how === '--profile') await keep(local, operatorToken, 'operator');
      if (how === 'a kept key') await keep(local, operatorToken);
      const words = how === '--api-key' ? ` --url ${local} --api-key ${operatorToken}` : '';
      const named = how === '--profile' ? ' --profile operator' : words;
      const more = how === 'RASKET_API_KEY' ? { RASKET_URL: local, RASKET_API_KEY: operatorToken } : {};
      const hold = (await done(`queue hold --destination example.net --reason Moves${named}`, more)).trim();
      await done(`queue release ${hold}${named}`, more);
      const [released] = await readAudit();
      expect(released).toMatchObject({ action: 'queue.released', actor: { kind: 'operator', name: 'Ada' } });
    },
  );

  it.each(['--url', 'RASKET_URL', 'a kept key'])(
    'sends no machine credential to another server that %s names',
    async (how) => {
      if (how === 'a kept key') await keep(elsewhere, 'rk_of_another_server');
      const words = how === '--url' ? ` --url ${elsewhere} --api-key rk_of_another_server` : '';
      const more = how === 'RASKET_URL' ? { RASKET_URL: elsewhere, RASKET_API_KEY: 'rk_of_another_server' } : {};
      expect((await run(`queue${words}`, more)).code).not.toBe(0);
      expect(credentials).toEqual(['Bearer rk_of_another_server']);
    },
  );

  it('with a team’s key names the credential that works, and does not suggest a login', async () => {
    const refused = await run(`queue --url ${local} --api-key ${teamKey}`);
    expect(refused.code).toBe(77);
    expect(refused.stderr).toContain('As root on the server’s machine, this command needs no key.');
    expect(refused.stderr).toMatch(/Create one on the server’s machine with: rasket operators create NAME/);
    expect(refused.stderr).not.toContain('login --url');
  });

  // runs only as root, who can become another account
  it.runIf(isRoot)('from another account says that root needs no key', async () => {
    const words = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', desk.at('path/rasket'), 'queue'];
    fs.chmodSync(desk.folder, 0o755);
    for (const more of [[], ['--data', desk.at('data')]]) {
      const around = { env: { ...env, HOME: '/nonexistent', XDG_CONFIG_HOME: undefined, XDG_CACHE_HOME: undefined } };
      const refused = await desk.start('setpriv', [...words, ...more], around).ended;
      expect(refused, refused.stderr).toMatchObject({ code: 77, stdout: '' });
      expect(refused.stderr).toContain('As root on the server’s machine, this command needs no key.');
      expect(refused.stderr).not.toContain('login --url');
    }
  });

  // runs only as root, whose commands become the account that owns the folder
  it.runIf(isRoot)(
    'on a data folder appears as root in the audit log, even when it runs as the service account',
    async () => {
      const own = await desk.database('empty');
      const folder = ['--data', 'theirs'];
      const there = { env: { ...env, ...own } };
      fs.chmodSync(desk.folder, 0o755);
      expect(await desk.rasket(['init', ...folder], there)).toMatchObject({ code: 0 });
      await desk.sh(`chown -R ${NOBODY}:${NOBODY} theirs`);
      const made = await desk.run(['teams', 'create', 'Xochi', ...folder], there);
      expect(made, made.stderr).toMatchObject({ code: 0 });
      const exportTo = (to: string) => desk.run(['teams', 'export', 'xochi', '--to', to, ...folder], there);
      const exported = await exportTo(desk.at('new-folder'));
      expect(exported, exported.stderr).toMatchObject({ code: 0 });
      await desk.sh(`install -d -o ${NOBODY} -m 700 ready`);
      expect(await exportTo(desk.at('ready'))).toMatchObject({ code: 0 });
      for (const to of ['new-folder', 'ready']) {
        const { uid, mode } = fs.statSync(desk.at(to));
        expect({ uid, mode: mode & 0o777 }).toEqual({ uid: NOBODY, mode: 0o700 });
        expect(fs.existsSync(desk.at(`${to}/manifest.json`))).toBe(true);
      }
      fs.mkdirSync(desk.at('of-root'), { mode: 0o755 });
      for (const to of ['of-root', 'absent/deep']) {
        const denied = await exportTo(desk.at(to));
        expect(denied.code).not.toBe(0);
        expect(denied.stderr).toMatch(/as root: install -d -o \S+ -m 700 \S+$/m);
      }
      const off = await desk.run(['sending', 'off', '--reason', 'Moves', ...folder], there);
      expect(off, off.stderr).toMatchObject({ code: 0 });
      const theirs = await desk.serve(['serve', ...folder], there);
      const { data } = JSON.parse((await desk.run(['audit', 'all', '--json', ...folder], there)).stdout) as {
        data: Entry[];
      };
      expect(data[0]).toMatchObject({
        action: 'sending.switched_off',
        actor: { kind: 'command', id: null, name: 'root' },
      });
      await theirs.stop();
    },
  );

  it('reports when no server runs, and names the command that examines it', async () => {
    const own = { RASKET_DATA: desk.at('stopped'), ...(await desk.database('empty')) };
    expect(await desk.rasket(['init', '--data', desk.at('stopped')], { env: { ...env, ...own } })).toMatchObject({
      code: 0,
    });
    const silent = await run('queue', own);
    expect(silent, silent.stderr).toMatchObject({ code: 69, stdout: '' });
    expect(silent.stderr).toMatch(/^rasket: No server is running on \S+\/stopped\. Check it with: rasket doctor\n$/);
  });
});
