import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createUser } from '../../../src/tenancy/users/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { mailsTo, subjectsTo, tokenTo } from '../../rig/mailbox.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const PASSWORD = 'correct horse battery staple';
const NEW = 'a new password';
let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  await team.domain();
});
afterEach(() => scene.clock.advance(61 * 60_000));
afterAll(() => scene.close());

const post = (path: string, body: unknown, headers: Record<string, string | null> = {}) =>
  scene.api('POST', path, { body, headers: { origin: scene.url, ...headers } });
const logIn = (email: string, password: string) => post('/auth/login', { email, password });
const ask = (email: string) => post('/auth/password-reset', { email });
const confirm = (token: string, password = NEW) => post('/auth/password-reset/confirm', { token, password });
const change = (cookie: string, body: object) => post('/auth/password', body, { cookie });
const refusal = ({ status, body }: ApiAnswer) => (status < 300 ? `${status}` : `${status} ${body.name}`);
const readCookie = ({ headers }: ApiAnswer): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';
const fetchStatus = async (cookie: string): Promise<number> =>
  (await scene.api('GET', '/auth/session', { headers: { cookie } })).status;

let people = 0;
async function person(): Promise<{ id: string; email: string }> {
  const email = `person${++people}@accounts.example`;
  const { id } = await createUser(scene.app.world, { email, name: 'Ada', password: PASSWORD, isVerified: true });
  const row = [randomUUID(), team.id, id, 'admin', scene.clock.now()];
  const columns = 'id, team_id, user_id, role, created_at';
  await scene.app.world.db.run(`insert into team_members (${columns}) values (?, ?, ?, ?, ?)`, row);
  return { id, email };
}

async function reset(email: string): Promise<string> {
  expect((await ask(email)).body).toEqual({ object: 'password_reset', requested: true });
  await scene.settled();
  return tokenTo(scene, email);
}

const entries = async (action: string): Promise<Record<string, unknown>[]> => {
  const { data } = (await scene.api('GET', '/audit?limit=100', { key: team.key })).body;
  return data.filter((one: { action: string }) => one.action === action);
};

describe('a new password', () => {
  it('is set through the link in the mail, ends every session, and is reported by mail', async () => {
    const { id, email } = await person();
    const cookies = [readCookie(await logIn(email, PASSWORD)), readCookie(await logIn(email, PASSWORD))];
    const token = await reset(email);
    expect(mailsTo(scene, email).at(-1)).toContain(`${scene.url}/reset-password?token=rp_`);
    const rows = await scene.app.world.db.all('select * from password_resets');
    expect(JSON.stringify(rows)).not.toContain(token);
    const done = await confirm(token);
    expect(done).toMatchObject({ status: 200, body: { object: 'user', id } });
    expect(done.headers.getSetCookie()).toEqual([]);
    expect(await Promise.all(cookies.map(fetchStatus))).toEqual([401, 401]);
    expect(refusal(await logIn(email, PASSWORD))).toBe('422 validation_error');
    expect((await logIn(email, NEW)).status).toBe(200);
    await scene.settled();
    expect(subjectsTo(scene, email)).toEqual(['Reset your password', 'Your password was reset']);
    expect(await entries('password.reset')).toMatchObject([{ subject_id: id, actor: { name: email } }]);
    expect(await entries('password.reset_requested')).toMatchObject([
      { subject_id: id, actor: { kind: 'system' }, address: '127.0.0.1', details: { email } },
    ]);
    expect(JSON.stringify(await entries('password.reset'))).not.toContain(token);
  });

  it.each([
    ['123456', 'password is one of the 3,000 most common passwords; choose another one.'],
    ['Football', 'password is one of the 3,000 most common passwords; choose another one.'],
    ['I like RasKet a lot', 'password must not contain the name rasket; choose another one.'],
    ['x PERSON@accounts.example x', 'password must not contain your email address; choose another one.'],
    [
      'my PERSON 1815',
      'password must not contain "PERSON", the part of your email address before the @; choose another one.',
    ],
  ])('a new password is refused when it is set by link, owner or operator, if it is %s', async (typed, says) => {
    const { email } = await person();
    const [local = ''] = email.split('@');
    const weak = typed.replace('PERSON', local.toUpperCase());
    const refused = { status: 422, body: { name: 'invalid_parameter', message: says.replace('PERSON', local) } };
    const token = await reset(email);
    expect(await confirm(token, weak)).toMatchObject(refused);
    const cookie = readCookie(await logIn(email, PASSWORD));
    expect(await change(cookie, { current_password: PASSWORD, password: weak })).toMatchObject(refused);
    const made = createUser(scene.app.world, { email, name: 'Ada', password: weak, isVerified: true });
    await expect(made).rejects.toThrow(refused.body.message);
    expect((await confirm(token)).status, 'the link still works').toBe(200);
  });

  it('revokes the access of apps', async () => {
    const { id, email } = await person();
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const member = { userId: id, email, memberId: '' };
    const tokens = await oauth.letIn(await createPeople(scene).session(member, team.id), app);
    expect((await scene.api('GET', '/team', { key: tokens.access_token })).status).toBe(200);
    await confirm(await reset(email));
    expect((await scene.api('GET', '/team', { key: tokens.access_token })).status).toBe(401);
    expect((await oauth.refresh(app, tokens.refresh_token)).body.error).toBe('invalid_grant');
    const { data } = (await scene.api('GET', '/oauth/grants', { key: team.key })).body;
    expect(data[0]).toMatchObject({ client_id: app.clientId, revoked_reason: 'user' });
  });

  it('can be set once with a token, even when two requests arrive at once', async () => {
    const { email } = await person();
    const token = await reset(email);
    const both = await Promise.all([confirm(token, 'password of one'), confirm(token, 'password of two')]);
    expect(both.map(refusal).toSorted()).toEqual(['200', '404 not_found']);
    expect(refusal(await confirm(token))).toBe('404 not_found');
    const winner = both[0]?.status === 200 ? 'password of one' : 'password of two';
    expect((await logIn(email, winner)).status).toBe(200);
  });

  it('can be set with any link of the last hour until one of them has been used', async () => {
    const { email } = await person();
    const first = await reset(email);
    const second = await reset(email);
    expect(second).not.toBe(first);
    expect((await confirm(first)).status).toBe(200);
    expect(refusal(await confirm(second))).toBe('404 not_found');
    const late = await reset(email);
    scene.clock.advance(60 * 60_000);
    expect(refusal(await confirm(late))).toBe('404 not_found');
    expect(refusal(await confirm('rp_nothing'))).toBe('404 not_found');
  });

  it('also ends a session that began while it was being set', async () => {
    for (let round = 0; round < 4; round++) {
      const { id, email } = await person();
      const token = await reset(email);
      const [, done] = await Promise.all([logIn(email, PASSWORD), confirm(token), logIn(email, PASSWORD)]);
      expect(done.status).toBe(200);
      const left = await scene.app.world.db.all('select id from sessions where user_id = ?', [id]);
      expect(left).toEqual([]);
    }
  });

  it('clears the failed sign-in attempts and leaves the second factor on', async () => {
    const { id, email } = await person();
    await scene.app.world.db.run('update users set mfa_enabled_at = 1 where id = ?', [id]);
    const token = await reset(email);
    for (let attempt = 0; attempt < 10; attempt++) await logIn(email, 'wrong');
    expect(refusal(await logIn(email, 'wrong'))).toBe('429 rate_limit_exceeded');
    expect((await confirm(token)).status).toBe(200);
    expect(refusal(await logIn(email, 'wrong'))).toBe('422 validation_error');
    const row = await scene.app.world.db.get<{ mfa_enabled_at: number }>('select * from users where id = ?', [id]);
    expect(Number(row?.mfa_enabled_at)).toBe(1);
  });

  it('verifies the address, because the link was mailed to it', async () => {
    const { id, email } = await person();
    await scene.app.world.db.run('update users set email_verified_at = null where id = ?', [id]);
    await confirm(await reset(email));
    expect((await logIn(email, NEW)).body.user.email_verified_at).not.toBeNull();
  });

  it('has 6 to 4096 characters', async () => {
    const { email } = await person();
    const token = await reset(email);
    for (const password of ['12345', 'x'.repeat(4097)])
      expect(await confirm(token, password)).toMatchObject({ status: 400, body: { errors: [{ path: 'password' }] } });
    expect((await confirm(token, 'ü'.repeat(4096))).status).toBe(200);
    expect((await logIn(email, 'ü'.repeat(4096))).status).toBe(200);
  });

  it('can be requested by at most 3 mails an hour, and an address without an account gets none', async () => {
    const { email } = await person();
    for (let asking = 0; asking < 5; asking++) expect((await ask(email)).status).toBe(200);
    await ask('nobody@accounts.example');
    await scene.settled();
    expect(subjectsTo(scene, email)).toHaveLength(3);
    expect(subjectsTo(scene, 'nobody@accounts.example')).toEqual([]);
    const rows = await scene.app.world.db.all("select id from password_resets where email_key like 'nobody%'");
    expect(rows).toEqual([]);
    for (let asking = 5; asking < 10; asking++) await ask(email);
    expect(refusal(await ask(email))).toBe('429 rate_limit_exceeded');
  });

  it('has its own mail limit: sign-up attempts with the address do not use it up, nor the other way round', async () => {
    const { email } = await person();
    for (let stranger = 0; stranger < 4; stranger++) await post('/auth/signup', { email, password: NEW });
    await scene.settled();
    expect(subjectsTo(scene, email)).toEqual(Array.from({ length: 3 }, () => 'You already have an account'));
    for (let asking = 0; asking < 4; asking++) await ask(email);
    await scene.settled();
    expect(subjectsTo(scene, email).slice(3)).toEqual(Array.from({ length: 3 }, () => 'Reset your password'));
  });

  it('can be requested on the page that the other account mails link to', async () => {
    const { email } = await person();
    await post('/auth/signup', { email, password: NEW });
    await scene.settled();
    await confirm(await reset(email));
    await scene.settled();
    const [exists = '', , replaced = ''] = mailsTo(scene, email);
    for (const mail of [exists, replaced]) {
      expect(mail).toContain(`${scene.url}/forgot-password`);
      expect(mail).not.toContain('/reset-password');
    }
  });
});

describe('the password of a signed-in person', () => {
  it('is changed with the current one, which ends other sessions and links and is reported by mail', async () => {
    const { id, email } = await person();
    const token = await reset(email);
    const own = readCookie(await logIn(email, PASSWORD));
    const other = readCookie(await logIn(email, PASSWORD));
    const done = await change(own, { current_password: PASSWORD, password: NEW });
    expect(done).toMatchObject({ status: 200, body: { object: 'user', id } });
    expect([await fetchStatus(own), await fetchStatus(other)]).toEqual([200, 401]);
    expect(refusal(await confirm(token))).toBe('404 not_found');
    expect((await logIn(email, NEW)).status).toBe(200);
    await scene.settled();
    expect(subjectsTo(scene, email).at(-1)).toBe('Your password was changed');
    const [entry] = await entries('password.changed');
    expect(entry).toMatchObject({ actor: { kind: 'user', id, name: email } });
    expect(JSON.stringify(entry)).not.toMatch(/new password|battery/);
  });

  it('is not changed with a wrong password or with none, and wrong guesses are counted', async () => {
    const { email } = await person();
    const own = readCookie(await logIn(email, PASSWORD));
    expect(refusal(await change(own, { password: NEW }))).toBe('422 missing_required_field');
    for (let guess = 0; guess < 10; guess++)
      expect(refusal(await change(own, { current_password: 'wrong', password: NEW }))).toBe('422 validation_error');
    const right = { current_password: PASSWORD, password: NEW };
    expect(refusal(await change(own, right))).toBe('429 rate_limit_exceeded');
    scene.clock.advance(16 * 60_000);
    expect(refusal(await change(own, right))).toBe('200');
  });

  it('cannot be changed or set by a program that signed in with a device code', async () => {
    const people = createPeople(scene);
    const someone = await people.person({ team });
    const key = await people.program(someone, team.id);
    const answer = await scene.api('POST', '/auth/password', { key, body: { password: NEW } });
    expect(refusal(answer)).toBe('403 invalid_permission');
    expect(answer.body.message).toContain('sign in with a browser');
    expect(refusal(await logIn(someone.email, NEW))).toBe('422 validation_error');
  });

  it('can be set without a current password if the person has none', async () => {
    const someone = await createPeople(scene).person({ team });
    const guess = { current_password: PASSWORD, password: NEW };
    expect(refusal(await someone.call('POST', '/auth/password', guess))).toBe('422 validation_error');
    expect((await someone.call('POST', '/auth/password', { password: NEW })).status).toBe(200);
    expect((await logIn(someone.email, NEW)).status).toBe(200);
  });

  it('cannot be changed without a session', async () => {
    expect(refusal(await post('/auth/password', { password: NEW }))).toBe('401 missing_api_key');
    const withKey = await scene.api('POST', '/auth/password', { key: team.key, body: { password: NEW } });
    expect(refusal(withKey)).toBe('403 invalid_permission');
  });
});

it('a failed sign-in attempt is entered in the audit log only if the account exists', async () => {
  const { id, email } = await person();
  await logIn(email, 'wrong');
  await logIn('nobody@accounts.example', 'wrong');
  await scene.settled();
  const [entry] = await entries('session.refused');
  expect(entry).toMatchObject({ subject_id: id, actor: { kind: 'system' }, address: '127.0.0.1', details: { email } });
  const key = await scene.operator();
  expect((await scene.api('GET', '/operator/audit?limit=100', { key })).text).not.toContain('nobody@');
  expect(await scene.app.world.db.all('select id from failed_sign_ins')).toEqual([]);
});

it('requests for a new password are deleted once they have ended, and records of notices 30 days later', async () => {
  const { email } = await person();
  await confirm(await reset(email));
  await reset(email);
  const forget = () => scene.app.jobs.find(({ name }) => name === 'forget-account-requests')?.run();
  scene.clock.advance(61 * 60_000);
  await forget();
  expect(await scene.app.world.db.all('select id from password_resets')).toEqual([]);
  expect(await scene.app.world.db.all('select id from account_notices')).not.toEqual([]);
  scene.clock.advance(31 * 24 * 3_600_000);
  await forget();
  expect(await scene.app.world.db.all('select id from account_notices')).toEqual([]);
});
