// A person at a terminal: login with a browser, what people may do, logout.
import fs from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { login } from '../../cli/commands/login.ts';
import { openTerminal, type CommandProcess } from '../../cli/output/index.ts';
import { createPeople, type Person } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startAnswering, type Answer, type Asked } from './contract-server.ts';
import { runInProcess } from './in-process.ts';

let home: string;
beforeEach(() => {
  home = scratchFolder('rasket-people-');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const around = (env: Record<string, string> = {}) => ({ cwd: home, env: { HOME: home, ...env } });
const rasket = (words: string[], env?: Record<string, string>) => runInProcess(words, around(env));
const file = () => path.join(home, '.config/rasket/credentials.json');

interface Sat {
  shown: string;
  fault?: unknown;
}

/** `rasket login` at a terminal; `whenAsked` is what the person does once the code is shown, in the place of waiting. */
async function signIn(url: string, whenAsked: (code: string) => Promise<void>): Promise<Sat> {
  let shown = '';
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    shown += chunk.toString();
    done();
  };
  const screen = () => Object.assign(new Writable({ write }), { isTTY: true, columns: 200 });
  const stdin = Object.assign(Readable.from([]), { isTTY: true });
  const { env } = around();
  const stdout = screen();
  const stderr = screen();
  const its = { stdin, stdout, stderr, env, cwd: () => home, exitCode: undefined } as unknown as CommandProcess;
  const terminal = openTerminal({ out: stdout as never, err: stderr as never, env });
  const wait = (): Promise<void> => whenAsked(/([A-Z]{4}-[A-Z]{4})/.exec(shown)?.[1] ?? '');
  return login({ terminal, version: '9.9.9', process: its, wait }, { url }).then(
    () => ({ shown }),
    (fault: unknown) => ({ shown, fault }),
  );
}

describe('a person at a terminal', () => {
  let scene: Scene;
  let team: Team;
  let ada: Person;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team('Engines');
    await team.domain();
    ada = await createPeople(scene).person({ email: 'ada@people.example', team, role: 'owner' });
  });
  afterEach(() => scene.clock.advance(16 * 60_000));
  afterAll(() => scene.close());

  const decide = (verb: 'approve' | 'deny') => async (code: string) => {
    expect((await ada.call('POST', `/auth/device/${verb}`, { user_code: code })).status).toBe(200);
    scene.clock.advance(5000);
  };
  const tokenIn = (): string => (JSON.parse(fs.readFileSync(file(), 'utf8')) as { api_key: string }).api_key;
  const fetchStatus = async (key: string): Promise<number> => (await scene.api('GET', '/auth/session', { key })).status;

  it('signs in with a browser, and the token is saved like a key, readable only for its owner', async () => {
    const { shown, fault } = await signIn(scene.url, decide('approve'));
    expect(fault).toBeUndefined();
    expect(shown).toMatch(/^Open http\S+\/device in a browser and enter the code: [A-Z]{4}-[A-Z]{4}$/m);
    expect(shown).toContain('Signed in as ada@people.example, in the team Engines.');
    expect(shown).toContain(`The session for ${scene.url} is stored in ${file()}; not in a keyring`);
    expect(fs.statSync(file()).mode & 0o777).toBe(0o600);
    expect(tokenIn()).toMatch(/^rks_/);
    expect(shown).not.toContain(tokenIn());

    const who = await rasket(['whoami']);
    expect(who).toMatchObject({ code: 0 });
    for (const says of [/Sent +the session of a person/, /You are +ada@people.example/, /Team +Engines/, /Role +owner/])
      expect(who.stdout).toMatch(says);
    const doctor = await rasket(['doctor', '--json']);
    expect(JSON.parse(doctor.stdout)).toMatchObject({ key_state: 'accepted, for a person' });
    const sent = JSON.parse((await rasket(['sessions', 'list', '--json'])).stdout);
    expect(sent.data.find((one: { is_current: boolean }) => one.is_current)).toMatchObject({
      kind: 'device',
      client_name: `rasket on ${hostname().replaceAll(/[^\w.-]+/g, '-')}`,
      user_agent: 'rasket-cli/9.9.9',
    });
  });

  it('is told which of two credentials is used', async () => {
    await signIn(scene.url, decide('approve'));
    const env = { RASKET_API_KEY: team.key, RASKET_URL: scene.url };
    const who = await rasket(['whoami'], env);
    expect(who.stdout).toMatch(/Sent +an API key \(RASKET_API_KEY\)/);
    expect(who.stdout).toMatch(/Role +full access/);
    expect(who.stdout).toContain(`${file()} has another one, for ${scene.url}; RASKET_API_KEY takes precedence.`);
    expect(JSON.parse((await rasket(['whoami', '--json'], env)).stdout)).toMatchObject({
      kind: 'api_key',
      key_from: 'RASKET_API_KEY',
      team: { id: team.id },
      also: { from: file() },
    });
  });

  it('invites, gives roles and removes members in the team of the session', async () => {
    await signIn(scene.url, decide('approve'));
    const grace = await createPeople(scene).person({ email: 'grace@people.example', team, role: 'member' });
    const made = await rasket(['invitations', 'create', 'joan@people.example', '--role', 'viewer']);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    const listed = await rasket(['invitations', 'list', '--fields', 'email,role,status']);
    expect(listed.stdout).toBe('EMAIL\tROLE\tSTATUS\njoan@people.example\tviewer\tpending\n');
    const withdrawn = await rasket(['invitations', 'withdraw', 'joan@people.example', '--yes']);
    expect(withdrawn, withdrawn.stderr).toMatchObject({ code: 0 });
    expect((await rasket(['invitations', 'list', '--json'])).stdout).toContain('"data":[]');

    const raised = await rasket(['members', 'update', 'grace@people.example', '--role', 'admin']);
    expect(raised, raised.stderr).toMatchObject({ code: 0, stdout: 'grace@people.example is now admin.\n' });
    const removed = await rasket(['members', 'remove', 'Grace@people.example', '--yes']);
    expect(removed, removed.stderr).toMatchObject({ code: 0 });
    expect((await grace.call('GET', '/team')).status).toBe(401);
    expect((await rasket(['members', 'remove', 'grace@people.example', '--yes'])).code).toBe(66);
  });

  it('creates a team and works in it', async () => {
    await signIn(scene.url, decide('approve'));
    expect(await rasket(['team', 'create', 'Looms'])).toMatchObject({ code: 0 });
    const switched = await rasket(['team', 'switch', 'looms']);
    expect(switched, switched.stderr).toMatchObject({ code: 0, stdout: 'Switched to the team Looms.\n' });
    expect((await rasket(['team', 'get', '--fields', 'name'])).stdout).toContain('Looms');
    expect((await rasket(['invitations', 'list', '--json'])).stdout).toContain('"data":[]');
    expect(await rasket(['team', 'switch', 'nowhere'])).toMatchObject({
      code: 66,
      stderr: expect.stringContaining('there is no team nowhere among yours.'),
    });
  });

  it('accepts an invitation', async () => {
    const jean = await createPeople(scene).person({ email: 'jean@people.example' });
    const before = ada;
    ada = jean;
    const { shown } = await signIn(scene.url, decide('approve'));
    ada = before;
    expect(shown).toContain('Signed in as jean@people.example, in no team.');
    expect(await rasket(['invitations', 'list'])).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('This session has no team.'),
    });
    await ada.call('POST', `/teams/${team.id}/invitations`, { email: 'jean@people.example', role: 'viewer' });
    await scene.sink.waitFor(({ messages }) => messages.some(({ rcptTo }) => rcptTo.includes('jean@people.example')));
    const mail =
      scene.sink.messages.find(({ rcptTo }) => rcptTo.includes('jean@people.example'))?.data.toString() ?? '';
    const [token = ''] = /\bri_\S+/.exec(mail.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=')) ?? [];
    const accepted = await rasket(['invitations', 'accept', token]);
    expect(accepted, accepted.stderr).toMatchObject({
      code: 0,
      stdout: 'You are now in the team Engines, as viewer.\n',
    });
    expect(await rasket(['team', 'switch', 'Engines'])).toMatchObject({ code: 0 });
    expect(await rasket(['keys', 'create', 'x'])).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('See your role and your team with: rasket whoami'),
    });
  });

  it('ends another session, and this one with a logout, after which the server refuses it', async () => {
    await signIn(scene.url, decide('approve'));
    const first = tokenIn();
    // Nobody has the token of the former one any more.
    await signIn(scene.url, decide('approve'));
    const second = tokenIn();
    expect([await fetchStatus(first), await fetchStatus(second)]).toEqual([401, 200]);
    const other = await createPeople(scene).session(ada, team.id);
    const { data } = JSON.parse((await rasket(['sessions', 'list', '--json'])).stdout);
    for (const { id, is_current: isCurrent } of data)
      if (!isCurrent) expect(await rasket(['sessions', 'end', id])).toMatchObject({ code: 0 });
    expect((await other.call('GET', '/team')).status).toBe(401);
    // It had been approved in one of these.
    ada = await createPeople(scene).session(ada, team.id);
    const out = await rasket(['logout']);
    expect(out).toMatchObject({
      code: 0,
      stdout: `The session has ended, and its token was removed from ${file()}.\n`,
    });
    expect(await fetchStatus(second)).toBe(401);
    expect(fs.existsSync(file())).toBe(false);
  });

  it('is told that the session has expired, and how to sign in again', async () => {
    await signIn(scene.url, decide('approve'));
    await scene.api('POST', '/auth/logout', { key: tokenIn(), body: {} });
    const refused = await rasket(['domains', 'list']);
    expect(refused.code).toBe(77);
    expect(refused.stderr).toBe(
      `rasket: The session in ${file()} has ended at ${scene.url} (invalid_api_key). Sign in again with: rasket login --url ${scene.url}\n`,
    );
    expect(await rasket(['logout'])).toMatchObject({ code: 0 });
  });

  it('who denies the sign-in in the browser gets no credentials', async () => {
    const { fault } = await signIn(scene.url, decide('deny'));
    expect(String(fault)).toContain('the sign-in was denied in the browser; nothing was changed.');
    expect(fs.existsSync(file())).toBe(false);
  });

  it('who waits too long is told so, and can start again', async () => {
    const { fault } = await signIn(scene.url, async () => scene.clock.advance(10 * 60_000));
    expect(String(fault)).toContain('the code has expired; nothing was changed.');
  });

  it('is needed for some commands, which say so once to a key', async () => {
    const env = { RASKET_API_KEY: team.key, RASKET_URL: scene.url };
    for (const words of ['invitations list', 'sessions list', 'team list', 'team switch Engines']) {
      const refused = await rasket(words.split(' '), env);
      expect(refused, words).toMatchObject({ code: 77, stdout: '' });
      expect(refused.stderr).toBe(
        `rasket: This route does not accept an API key; sign in as a person (invalid_permission). Sign in with: rasket login --url ${scene.url}\n`,
      );
    }
    expect((await rasket(['members', 'list'], env)).code).toBe(0);
  });
});

describe('rasket login with a faulty server', () => {
  const begun = {
    object: 'device_login',
    device_code: 'rkd_x',
    user_code: 'BCDF-GHJK',
    verification_url: 'https://mail.example.com/device',
    verification_url_complete: 'file:///etc/passwd',
    expires_at: '2130-01-01T00:00:00.000Z',
    interval: 5,
  };
  const pending = { object: 'device_login', status: 'pending', token: null, expires_at: null };

  async function answering(answer: (asked: Asked, count: number) => Answer): Promise<Sat & { asked: Asked[] }> {
    const server = await startAnswering(answer);
    try {
      return { ...(await signIn(server.url, () => Promise.resolve())), asked: server.asked };
    } finally {
      server.close();
    }
  }

  it('asks again when the server restarts meanwhile', async () => {
    const { shown, asked } = await answering(({ path: at }, count) => {
      if (at === '/auth/device') return { status: 201, body: begun };
      if (at === '/auth/session')
        return { status: 200, body: { object: 'session', user: { email: 'ada@x.example' }, current_team: null } };
      if (count === 3) return 'hang up';
      const approved = { ...pending, status: 'approved', token: 'rks_y', expires_at: begun.expires_at };
      return { status: 200, body: count < 5 ? pending : approved };
    });
    expect(shown).toContain('Signed in as ada@x.example');
    expect(asked.filter((one) => one.path === '/auth/device/token')).toHaveLength(4);
    // No credential of before is sent along.
    expect(asked[0]?.headers.authorization).toBeUndefined();
  });

  it('explains how to save a key when the server is older', async () => {
    const body = { statusCode: 404, name: 'not_found', message: 'There is no POST /auth/device.' };
    const { fault } = await answering(() => ({ status: 404, body }));
    expect(String(fault)).toContain('this server does not support signing in from a terminal');
  });

  it('saves nothing when the server does not answer, and says that the session continues', async () => {
    fs.mkdirSync(path.dirname(file()), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file(), JSON.stringify({ url: 'http://127.0.0.1:1', api_key: 'rks_z' }), { mode: 0o600 });
    const out = await rasket(['logout']);
    expect(out).toMatchObject({ code: 69, stdout: `The token of the session was removed from ${file()}.\n` });
    expect(out.stderr).toContain('The session did not end on the server: ');
    expect(fs.existsSync(file())).toBe(false);
  });
});
