import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openDb, type Db } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { createPeople } from '../rig/people.ts';
import { startScene } from '../rig/scene.ts';
import { startStandInProvider } from '../rig/stand-in-provider.ts';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 240_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

/** Scenes store passwords at next to no cost; a program of our own has to do it at the full one. */
async function storedHashes(): Promise<unknown[]> {
  const rows = await inDatabase((db) => db.all('select password_hash from users', []));
  return rows.map((row) => row['password_hash']);
}

async function inDatabase<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const file = desk.at('data/rasket.db');
  const db = await openDb({ driver, url: env['RASKET_DATABASE_URL'] ?? '', file, poolMax: 1 });
  return work(db).finally(() => db.close());
}

it('the first person is created on the machine, and signs in with the password that was shown once', async () => {
  const data = ['--data', 'data'];
  expect(await desk.rasket(['init', ...data], { env })).toMatchObject({ code: 0 });
  const create = ['users', 'create', 'ada@example.com', '--team', 'my-team', ...data];
  const made = await desk.rasket([...create, '--name', 'Ada', '--json'], { env });
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const { password, id } = JSON.parse(made.stdout) as { password: string; id: string };
  const again = await desk.rasket(create, { env });
  expect(again.code).toBe(65);
  expect(again.stderr).toContain('A user with the address ada@example.com already exists.');
  expect(again.stderr).toContain('List them with: rasket users list');
  const nowhere = await desk.rasket(['users', 'create', 'bob@example.com', '--team', 'none', ...data], { env });
  expect(nowhere).toMatchObject({ code: 66, stderr: expect.stringContaining('Team not found.') });
  const badRole = await desk.rasket([...create, '--role', 'king'], { env });
  expect(badRole).toMatchObject({ code: 64, stderr: expect.stringContaining('viewer, member, admin, owner') });
  const listed = await desk.rasket(['users', 'list', ...data, '--json'], { env });
  const state = { state: 'active', disabled_at: null, mfa_enabled_at: null };
  expect(JSON.parse(listed.stdout)).toMatchObject([{ id, email: 'ada@example.com', name: 'Ada', ...state }]);
  expect(listed.stdout).not.toContain('argon2');
  expect(await storedHashes()).toEqual([expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)]);

  const server = await desk.serve(['serve', ...data], { env });
  const answer = await fetch(`${server.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ email: 'ada@example.com', password }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ user: { id }, current_team: { slug: 'my-team' } });
});

it('a person is disabled and enabled on the machine, with a reason that the audit log keeps', async () => {
  const data = ['--data', 'data'];
  expect(await desk.rasket(['init', ...data], { env })).toMatchObject({ code: 0 });
  const create = ['users', 'create', 'ada@example.com', '--team', 'my-team', ...data, '--json'];
  const { password } = JSON.parse((await desk.rasket(create, { env })).stdout) as { password: string };
  const server = await desk.serve(['serve', ...data], { env });
  const logIn = async () => {
    const headers = { 'content-type': 'application/json', origin: server.url };
    const body = JSON.stringify({ email: 'ada@example.com', password });
    return (await fetch(`${server.url}/auth/login`, { method: 'POST', headers, body })).status;
  };
  const users = (verb: string, ...more: string[]) =>
    desk.rasket(['users', verb, 'Ada@Example.com', ...more, ...data], { env });
  expect(await logIn()).toBe(200);
  expect(await users('disable')).toMatchObject({ code: 64, stderr: expect.stringContaining('--reason') });
  expect(await users('disable', '--reason', 'two\nlines')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--reason must be one line of 1 to 200 characters'),
  });
  expect(await users('disable', '--reason', 'left the company')).toMatchObject({
    code: 0,
    stdout:
      'ada@example.com is disabled: all sessions have ended, and sign-ins are refused. Open invitations from this person that were withdrawn: 0.\n',
  });
  expect(await logIn()).toBe(403);
  const again = await users('disable', '--reason', 'left the company');
  expect(again.code).toBe(65);
  expect(again.stderr).toContain('ada@example.com is already disabled.');
  expect((await desk.rasket(['users', 'list', ...data], { env })).stdout).toMatch(/ada@example.com.*\tdisabled\toff\t/);
  expect(await users('disable-mfa', '--reason', 'lost')).toMatchObject({
    stderr: expect.stringContaining('Two-factor authentication of ada@example.com is already off.'),
  });
  expect(await users('enable', '--reason', 'came back', '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"state":"active"'),
  });
  expect(await logIn()).toBe(200);
  const nobody = await desk.rasket(['users', 'disable', 'bob@example.com', '--reason', 'x', ...data], { env });
  expect(nobody).toMatchObject({ code: 66, stderr: expect.stringContaining('User not found.') });

  const operator = await desk.rasket(['operators', 'create', 'Grace', ...data, '--json'], { env });
  const { token } = JSON.parse(operator.stdout) as { token: string };
  const headers = { authorization: `Bearer ${token}`, 'user-agent': 'test' };
  const { data: entries } = (await (await fetch(`${server.url}/operator/audit?limit=100`, { headers })).json()) as {
    data: { action: string; actor: { kind: string }; details: object }[];
  };
  const ofUsers = entries.filter(({ action }) => /^user\.(dis|en)abled$/.test(action));
  expect(ofUsers).toMatchObject([
    { action: 'user.enabled', actor: { kind: 'command' }, details: { email: 'Ada@Example.com', reason: 'came back' } },
    { action: 'user.disabled', details: { email: 'Ada@Example.com', reason: 'left the company' } },
  ]);
});

it('disabling the last owner who can sign in without the provider warns about it, and says how people get in', async () => {
  await using scene = await startScene({ roles: ['http'], config: { sso: { allow_private: ['127.0.0.0/8'] } } });
  await using provider = await startStandInProvider(() => scene.clock.now());
  const { db, config } = scene.app.world;
  const url = config.database.url;
  const its = { RASKET_DATABASE_DRIVER: driver, ...(url === '' ? {} : { RASKET_DATABASE_URL: url }) };
  const team = await scene.team('Engines');
  const people = createPeople(scene);
  const ada = await people.person({ team, role: 'owner' });
  const grace = await people.person({ team, role: 'owner' });
  await db.run("update users set password_hash = 'x'");
  await db.run('update team_members set sso_exempt = 1');
  const connection = { issuer: provider.issuer, client_id: 'x', client_secret: 'secret' };
  await ada.call('PUT', `/teams/${team.id}/sso`, connection);
  await db.run('update sso_connections set enforced = 1');
  const disable = ({ email }: { email: string }) =>
    desk.rasket(['users', 'disable', email, '--reason', 'left', '--data', scene.dataDir], { env: its });
  expect(await disable(ada)).toMatchObject({ code: 0, stderr: '' });
  const last = await disable(grace);
  expect(last).toMatchObject({ code: 0, stdout: expect.stringContaining('is disabled') });
  expect(last.stderr).toContain(
    'The team Engines enforces single sign-on, and no remaining owner can sign in without it',
  );
  const [, slug = ''] = /rasket teams sso-off (\S+) --reason TEXT\n$/.exec(last.stderr) ?? [];
  const off = await desk.rasket(['teams', 'sso-off', slug, '--reason', 'x', '--data', scene.dataDir], { env: its });
  expect(off, off.stderr).toMatchObject({ code: 0 });
});

it('the first person of a team becomes its owner, and later ones become members by default', async () => {
  const data = ['--data', 'data'];
  const init = await desk.rasket(['init', ...data, '--owner', 'Grace@example.com', '--json'], { env });
  const { team, password } = JSON.parse(init.stdout) as { team: string; password: string };
  const made = async (email: string, more: string[] = []) => {
    const create = ['users', 'create', email, '--team', team, ...more, ...data, '--json'];
    return (JSON.parse((await desk.rasket(create, { env })).stdout) as { role: string }).role;
  };
  expect(await made('ada@example.com')).toBe('member');
  expect(await made('bob@example.com', ['--role', 'viewer'])).toBe('viewer');
  const second = await desk.rasket(['init', ...data, '--team', 'Second', '--owner', 'grace@example.com'], { env });
  expect(second.stdout).toContain('Owner    Grace@example.com, with the password of before');
  await desk.rasket(['init', ...data, '--team', 'Third'], { env });
  const third = ['users', 'create', 'carl@example.com', '--team', 'third', ...data, '--json'];
  expect(JSON.parse((await desk.rasket(third, { env })).stdout)).toMatchObject({ role: 'owner' });
  const bad = await desk.rasket(['init', ...data, '--team', 'Fourth', '--owner', 'nobody'], { env });
  expect([bad.code === 0, bad.stderr]).toEqual([false, expect.stringContaining('email must be an address')]);

  const server = await desk.serve(['serve', ...data], { env });
  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify(body),
    });
  const signedIn = await post('/auth/login', { email: 'grace@example.com', password });
  expect(await signedIn.json()).toMatchObject({ current_team: { slug: team } });
});

it('an operator can create links for a new password, with a reason, and for joining a team', async () => {
  const data = ['--data', 'data'];
  await desk.rasket(['init', ...data, '--owner', 'ada@example.com'], { env });
  const server = await desk.serve(['serve', ...data], { env });
  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify(body),
    });
  const reset = ['users', 'reset', 'ada@example.com', ...data];
  expect((await desk.rasket(reset, { env })).stderr).toContain('--reason');
  const made = await desk.rasket([...reset, '--reason', 'Lost the mailbox', '--json'], { env });
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const { url } = JSON.parse(made.stdout) as { url: string };
  expect(url).toMatch(new RegExp(`^${server.url}/reset-password\\?token=rp_`));
  const token = new URL(url).searchParams.get('token');
  const password = 'chosen by its owner';
  expect((await post('/auth/password-reset/confirm', { token, password })).status).toBe(200);
  expect((await post('/auth/password-reset/confirm', { token, password })).status).toBe(404);
  expect((await post('/auth/login', { email: 'ada@example.com', password })).status).toBe(200);
  const nobody = await desk.rasket(['users', 'reset', 'nobody@example.com', '--reason', 'x', ...data], { env });
  expect(nobody.stderr).toContain('User not found.');

  const invite = ['users', 'invite', 'bob@example.com', '--team', 'my-team', '--role', 'admin', ...data];
  const invited = await desk.rasket([...invite, '--json'], { env });
  const link = new URL((JSON.parse(invited.stdout) as { url: string }).url);
  expect(`${link.origin}${link.pathname}`).toBe(`${server.url}/invitation`);
  const joined = await post('/invitations/signup', { token: link.searchParams.get('token'), password });
  expect(await joined.json()).toMatchObject({ user: { email: 'bob@example.com' }, current_team: { slug: 'my-team' } });
  const unmailed = await desk.rasket([...invite.slice(0, 2), 'eve@example.com', ...invite.slice(3), '--mail'], { env });
  expect(unmailed.stderr).toContain('no verified domain');
  const operator = await desk.rasket(['operators', 'create', 'Grace', ...data, '--json'], { env });
  const { token: key } = JSON.parse(operator.stdout) as { token: string };
  const audit = await fetch(`${server.url}/operator/audit`, {
    headers: { authorization: `Bearer ${key}`, 'user-agent': 'rasket-tests/1' },
  });
  const text = await audit.text();
  expect(text).toContain('Lost the mailbox');
  expect(text).not.toMatch(/r[pi]_[\w-]{20}/);
});

it('a name with text direction marks is refused, and a stored one does not control the terminal', async () => {
  const data = ['--data', 'data'];
  expect(await desk.rasket(['init', ...data], { env })).toMatchObject({ code: 0 });
  const create = ['users', 'create', 'ada@example.com', '--team', 'my-team', ...data];
  const refused = await desk.rasket([...create, '--name', '\u202Eadmin'], { env });
  expect(refused.code).toBe(65);
  expect(refused.stderr).toMatch(/^rasket: name must be one line of at most 200 characters, without characters/);
  // Marks that scripts from right to left are written with are kept.
  expect(await desk.rasket([...create, '--name', 'עדה\u200F (Ada)'], { env })).toMatchObject({ code: 0 });
  const refusedTeam = await desk.rasket(['teams', 'create', '\u202Eevil', ...data], { env });
  expect(refusedTeam).toMatchObject({ code: 65, stderr: expect.stringContaining('bidirectional') });
  expect(await desk.rasket(['teams', 'create', 'evil', ...data], { env })).toMatchObject({ code: 0 });
  await inDatabase((db) => db.run("update teams set name = ? where slug = 'evil'", ['\u202Eevil']));
  const shown = await desk.rasket(['operators', 'create', '\u202Eeve', ...data], { env });
  expect(shown.stdout).toContain('\uFFFDeve is now an operator.');
  const steering = /[\u202A-\u202E\u2066-\u2069]/;
  for (const words of [
    ['teams', 'list'],
    ['teams', 'list', '--json'],
    ['teams', 'suspend', 'evil'],
    ['teams', 'resume', 'evil', '--json'],
    ['operators', 'list', '--json'],
  ]) {
    const { code, stdout } = await desk.rasket([...words, ...data], { env });
    expect([words, code, steering.test(stdout)]).toEqual([words, 0, false]);
  }
});
