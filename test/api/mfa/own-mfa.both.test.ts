import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { createPeople } from '../../rig/people.ts';
import { Browser, enrolled, PASSWORD, createPerson, setUp, STEP_MS, wrongCode } from './authenticator.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
beforeEach(() => scene.clock.advance(25 * 3_600_000));
afterAll(() => scene.close());

const WRONG = { status: 422, body: { name: 'validation_error', errors: [{ path: 'code' }] } };

async function signedIn(): Promise<Browser & { email: string; id: string }> {
  const person = await createPerson(scene, team);
  const browser = new Browser(scene);
  await browser.logIn(person.email);
  return Object.assign(browser, person);
}

/** Passwords are derived in threads of libuv. */
const THREADS = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);

/**
 * Blocks all threads with reads of a pipe, so that no password is derived: one comparison holds the slot, and 40 fill
 * the queue. Returns a function that releases them.
 */
function fillPasswordSlots(): () => Promise<void> {
  const pipe = path.join(scene.dataDir, 'nobody-writes');
  execFileSync('mkfifo', [pipe]);
  const held = Array.from({ length: THREADS }, () => open(pipe, 'r'));
  const hash = `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  const waiting = Array.from({ length: 41 }, () => scene.app.world.passwords.matches('x', hash));
  return async () => {
    const writer = openSync(pipe, 'r+');
    for (const file of await Promise.all(held)) await file.close();
    closeSync(writer);
    await Promise.all(waiting);
  };
}

const status = async (browser: Browser) => (await browser.call('GET', '/auth/mfa')).body;
const isSignedIn = async (browser: Browser) => (await browser.call('GET', '/auth/session')).status === 200;

const audit = async (): Promise<{ action: string; details: object | null }[]> =>
  (await scene.api('GET', '/audit?limit=5', { key: team.key })).body.data;

describe('setting up an authenticator app', () => {
  it('changes nothing until a code is confirmed, and shows the secret once', async () => {
    const browser = await signedIn();
    const off = { object: 'mfa', enabled: false, enabled_at: null, recovery_codes_remaining: 0, has_password: true };
    expect(await status(browser)).toEqual({ ...off, enrolling: false });
    expect((await browser.call('GET', '/auth/me')).body.mfa_enabled_at).toBeNull();
    const answer = await browser.call('POST', '/auth/mfa/enrol');
    expect(answer.body).toEqual({
      object: 'mfa_enrolment',
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauth_url: expect.stringMatching(
        new RegExp(
          `^otpauth://totp/rasket%20127.0.0.1:person\\d+%40mfa.example\\?secret=${answer.body.secret}&issuer=`,
        ),
      ),
    });
    expect(await status(browser)).toEqual({ ...off, enrolling: true });
    expect((await new Browser(scene).logIn(browser.email)).body.object).toBe('session');
    const [row] = await scene.app.world.db.all<{ secret: string }>('select secret from mfa_secrets where user_id = ?', [
      browser.id,
    ]);
    expect(row?.secret).toMatch(/^v2\./);
  });

  it('again makes the earlier secret invalid', async () => {
    const browser = await signedIn();
    const first = await setUp(browser);
    const second = await setUp(browser);
    const confirm = (code: string) => browser.call('POST', '/auth/mfa/confirm', { code, password: PASSWORD });
    expect(await confirm(first.code())).toMatchObject(WRONG);
    expect((await confirm(second.code())).status).toBe(200);
    expect((await browser.call('POST', '/auth/mfa/enrol')).status).toBe(422);
  });

  it('counts no password as wrong that was not checked for lack of capacity', async () => {
    const browser = await signedIn();
    const app = await setUp(browser);
    const confirm = () => browser.call('POST', '/auth/mfa/confirm', { code: app.code(), password: PASSWORD });
    const letGo = fillPasswordSlots();
    // One more than the daily limit of wrong ones.
    const answers = await Promise.all(Array.from({ length: 21 }, confirm));
    expect(new Set(answers.map(({ body }) => body.name))).toEqual(new Set(['service_unavailable']));
    await letGo();
    expect((await confirm()).status).toBe(200);
  });

  it('expires after an hour, and the secret is deleted', async () => {
    const browser = await signedIn();
    const app = await setUp(browser);
    scene.clock.advance(3_600_000);
    expect(await status(browser)).toMatchObject({ enrolling: false });
    const late = await browser.call('POST', '/auth/mfa/confirm', { code: app.code(), password: PASSWORD });
    expect(late).toMatchObject({ status: 422, body: { message: expect.stringContaining('more than an hour ago') } });
    await scene.app.jobs.find(({ name }) => name === 'remove-expired-sessions')?.run();
    const left = await scene.app.world.db.all('select id from mfa_secrets where user_id = ?', [browser.id]);
    expect(left).toEqual([]);
  });
});

it.each([
  ['enrol', undefined],
  ['confirm', { code: '123456' }],
  ['disable', { code: '123456' }],
  ['recovery-codes', { code: '123456' }],
])('%s is refused for a program, with the reason', async (verb, body) => {
  const people = createPeople(scene);
  const key = await people.program(await people.person({ team }), team.id);
  const answer = await scene.api('POST', `/auth/mfa/${verb}`, { key, ...(body ? { body } : {}) });
  expect(answer).toMatchObject({
    status: 403,
    body: {
      name: 'invalid_permission',
      message: 'A program cannot change how a person signs in; sign in with a browser to do this.',
    },
  });
});

describe('switching the second factor on', () => {
  it('returns ten recovery codes, stores only hashes, and ends the other sessions of the person', async () => {
    const browser = await signedIn();
    const other = new Browser(scene);
    await other.logIn(browser.email);
    const app = await setUp(browser);
    const answer = await browser.call('POST', '/auth/mfa/confirm', { code: app.code(), password: PASSWORD });
    expect(answer.body).toEqual({
      object: 'mfa',
      enabled: true,
      enabled_at: new Date(scene.clock.now()).toISOString(),
      recovery_codes: Array.from({ length: 10 }, () => expect.stringMatching(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)),
    });
    expect(new Set(answer.body.recovery_codes).size).toBe(10);
    expect([await isSignedIn(browser), await isSignedIn(other)]).toEqual([true, false]);
    expect(await status(browser)).toMatchObject({ enabled: true, enrolling: false, recovery_codes_remaining: 10 });
    const rows = await scene.app.world.db.all('select code_hash from mfa_recovery_codes where user_id = ?', [
      browser.id,
    ]);
    for (const code of answer.body.recovery_codes as string[]) {
      expect(JSON.stringify(rows)).not.toContain(code);
      expect(JSON.stringify(rows)).not.toContain(code.replaceAll('-', ''));
    }
    expect((await audit())[0]).toMatchObject({ action: 'mfa.enabled', actor: { id: browser.id }, details: null });
  });

  it('requires the password if the person has one', async () => {
    const browser = await signedIn();
    const { code } = await setUp(browser);
    const confirm = (body: object) => browser.call('POST', '/auth/mfa/confirm', { code: code(), ...body });
    expect(await confirm({})).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
    expect(await confirm({ password: 'wrong' })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'password' }] },
    });
    expect((await confirm({ password: PASSWORD })).status).toBe(200);
    const without = await createPeople(scene).person({ team });
    expect((await without.call('GET', '/auth/mfa')).body.has_password).toBe(false);
    const theirs = await setUp(Object.assign(new Browser(scene), { call: without.call }));
    const given = { code: theirs.code(), password: 'x' };
    expect(await without.call('POST', '/auth/mfa/confirm', given)).toMatchObject({
      body: { errors: [{ path: 'password' }] },
    });
    expect((await without.call('POST', '/auth/mfa/confirm', { code: theirs.code() })).status).toBe(200);
  });

  it('twice at once takes effect once', async () => {
    const browser = await signedIn();
    const { code } = await setUp(browser);
    const body = { code: code(), password: PASSWORD };
    const tries = await Promise.all([1, 2, 3].map(() => browser.call('POST', '/auth/mfa/confirm', body)));
    expect(tries.map((one) => one.status).sort()).toEqual([200, 422, 422]);
    expect(await status(browser)).toMatchObject({ recovery_codes_remaining: 10 });
  });

  it('ends a session that signs in with the password alone at the same moment', async () => {
    const browser = await signedIn();
    const { code } = await setUp(browser);
    const others = Array.from({ length: 4 }, () => new Browser(scene));
    const confirm = browser.call('POST', '/auth/mfa/confirm', { code: code(), password: PASSWORD });
    await Promise.all([confirm, ...others.map((other) => other.logIn(browser.email))]);
    expect((await confirm).status).toBe(200);
    for (const other of others) expect(await isSignedIn(other)).toBe(false);
  });

  it('is refused after 20 wrong passwords in a day, even with the right one', async () => {
    const browser = await signedIn();
    const { code } = await setUp(browser);
    const confirm = (password: string) => browser.call('POST', '/auth/mfa/confirm', { code: code(), password });
    for (let n = 0; n < 20; n++) expect((await confirm(`guess ${n}`)).status).toBe(422);
    const stopped = await confirm(PASSWORD);
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBe(24 * 3600);
  });
});

describe('switching the second factor off', () => {
  it.each(['a code', 'a recovery code'])('accepts %s, and deletes all of its data', async (kind) => {
    const { browser, id, code, recovery, email } = await enrolled(scene, team);
    scene.clock.advance(STEP_MS);
    const body = { code: kind === 'a code' ? code() : recovery[3]?.toUpperCase().replaceAll('-', ' ') };
    const answer = await browser.call('POST', '/auth/mfa/disable', body);
    expect(answer).toMatchObject({ status: 200, body: { object: 'mfa', enabled: false, enabled_at: null } });
    expect(await status(browser)).toMatchObject({ enabled: false, enrolling: false, recovery_codes_remaining: 0 });
    for (const table of ['mfa_secrets', 'mfa_recovery_codes', 'mfa_failures']) {
      expect(await scene.app.world.db.all(`select 1 from ${table} where user_id = ?`, [id])).toEqual([]);
    }
    expect((await new Browser(scene).logIn(email)).body.object).toBe('session');
    expect((await audit())[1]).toMatchObject({ action: 'mfa.disabled', actor: { id }, details: null });
    expect((await browser.call('POST', '/auth/mfa/disable', body)).status).toBe(422);
  });

  it('is refused with a wrong or used code and after too many guesses, without an audit entry', async () => {
    const person = await enrolled(scene, team);
    const before = await audit();
    const disable = (code: string) => person.browser.call('POST', '/auth/mfa/disable', { code });
    // This is the code that switched it on.
    expect(await disable(person.code())).toMatchObject(WRONG);
    for (let n = 0; n < 19; n++) expect(await disable(wrongCode(person))).toMatchObject(WRONG);
    expect((await disable(person.code(1))).status).toBe(429);
    expect(await audit()).toEqual(before);
    expect(await status(person.browser)).toMatchObject({ enabled: true, recovery_codes_remaining: 10 });
    // The owner still has the recovery codes.
    expect((await disable(person.recovery[0] ?? '')).status).toBe(200);
  });
});

it('new recovery codes invalidate the earlier ones', async () => {
  const { browser, id, code, recovery } = await enrolled(scene, team);
  scene.clock.advance(STEP_MS);
  const replace = (given: string) => browser.call('POST', '/auth/mfa/recovery-codes', { code: given });
  expect((await replace(recovery[0] ?? '')).status).toBe(422);
  const answer = await replace(code());
  expect(answer).toMatchObject({ status: 200, body: { object: 'mfa_recovery_codes' } });
  expect(answer.body.recovery_codes).toHaveLength(10);
  expect((await audit())[0]).toMatchObject({ action: 'mfa.recovery_codes_replaced', actor: { id }, details: null });
  const disable = (given: string) => browser.call('POST', '/auth/mfa/disable', { code: given });
  expect((await disable(recovery[0] ?? '')).status).toBe(422);
  expect((await disable(answer.body.recovery_codes[0])).status).toBe(200);
  expect((await replace(code())).body.message).toBe('Two-factor authentication is off.');
});

it.each([
  ['confirm', {}, 422, 'code'],
  ['confirm', { code: '' }, 400, 'code must have 1 to 64 characters'],
  ['confirm', { code: '1'.repeat(65) }, 400, '64'],
  ['confirm', { code: '123456', password: 'x'.repeat(4097) }, 400, '4096'],
  ['confirm', { code: '12345' }, 422, 'six digits'],
  ['disable', { code: 'abc' }, 422, 'six digits that the app shows, or a recovery code'],
  ['disable', { code: 123456 }, 400, 'code'],
  ['recovery-codes', { code: '123456', password: 'x' }, 400, 'password'],
  ['verify', { code: '123456' }, 422, 'challenge_token'],
  ['verify', { challenge_token: 'x'.repeat(513), code: '123456' }, 400, '512'],
  ['verify', { challenge_token: 'x', code: 'k3vq-7mzc-p2ya-w5td' }, 422, 'six digits'],
  ['recovery', { challenge_token: 'x', recovery_code: '123456' }, 422, 'recovery_code must be'],
  ['recovery', { challenge_token: 'x', recovery_code: 'x'.repeat(65) }, 400, '64'],
])('an invalid body of %s gets an error with field and limit: %j', async (path, body, code, says) => {
  const person = await createPeople(scene).person({ team });
  const answer = await person.call('POST', `/auth/mfa/${path}`, body);
  expect(answer.status).toBe(code);
  expect(JSON.stringify(answer.body)).toContain(says);
});

it.each(['', '/enrol', '/confirm', '/disable', '/recovery-codes'])(
  '/auth/mfa%s requires a session and our own pages',
  async (path) => {
    const method = path === '' ? 'GET' : 'POST';
    const body = path === '' ? undefined : path === '/enrol' ? {} : { code: '123456' };
    expect((await scene.api(method, `/auth/mfa${path}`, { key: team.key, body })).status).toBe(403);
    const browser = await signedIn();
    browser.origin = 'https://evil.example';
    expect((await browser.call(method, `/auth/mfa${path}`, body)).status).toBe(method === 'GET' ? 200 : 403);
    browser.cookies.clear();
    expect((await browser.call(method, `/auth/mfa${path}`, body)).status).toBe(401);
  },
);

it('the team can see who has a second factor', async () => {
  const { id } = await enrolled(scene, team);
  const { data } = (await scene.api('GET', '/team/members?limit=100', { key: team.key })).body;
  const found = data.find((member: { user_id: string }) => member.user_id === id);
  expect(found).toMatchObject({ mfa_enabled: true });
});
