import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ApiAnswer } from '../../rig/api.ts';
import { mailsTo, subjectsTo, tokenTo } from '../../rig/mailbox.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 3_600_000;
let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ config: { accounts: { sign_up: 'open' } } });
  team = await scene.team();
  await team.domain();
});
// The limits of one test are not those of the next.
afterEach(() => scene.clock.advance(61 * 60_000));
afterAll(() => scene.close());

let addresses = 0;
const newAddress = (): string => `new${++addresses}@people.example`;
const post = (path: string, body: unknown, headers: Record<string, string | null> = {}, at: Scene = scene) =>
  at.api('POST', path, { body, headers: { origin: at.url, ...headers } });
const signUp = (email: string, password = PASSWORD, at: Scene = scene) =>
  post('/auth/signup', { email, password, name: 'Ada' }, {}, at);
const verifyElsewhere = (token: string, at: Scene = scene) => post('/auth/verify-email', { token }, {}, at);
const readCookie = ({ headers }: ApiAnswer): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';

/** The browser that requested an account, by the token of its mail. */
const browsers = new Map<string, string>();
const verify = (token: string, at: Scene = scene) =>
  post('/auth/verify-email', { token }, { cookie: browsers.get(token) ?? null }, at);
const logIn = (email: string, password = PASSWORD, at: Scene = scene) =>
  post('/auth/login', { email, password }, {}, at);
const refusal = ({ status, body }: ApiAnswer) => (status < 300 ? `${status}` : `${status} ${body.name}`);

/** Signs up and returns the token of the mail. */
async function asked(email: string, password = PASSWORD): Promise<string> {
  const answer = await signUp(email, password);
  expect(answer.status).toBe(200);
  await scene.settled();
  const token = tokenTo(scene, email);
  browsers.set(token, readCookie(answer));
  return token;
}

describe('signing up', () => {
  it('creates the account with its password through the link in the mail, and signs nobody in', async () => {
    const email = newAddress();
    const answer = await signUp(email);
    expect(answer).toMatchObject({
      status: 200,
      body: { object: 'user', email, name: 'Ada', email_verified_at: null },
    });
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^rasket_signup=rs_[\w-]+; Max-Age=259200; Path=\/; HttpOnly; SameSite=Lax/),
    ]);
    expect(refusal(await logIn(email))).toBe('422 validation_error');
    await scene.settled();
    const [mail = '', ...more] = mailsTo(scene, email);
    expect(more).toEqual([]);
    expect(mail).toContain(`${scene.url}/verify-email?token=rv_`);
    expect(mail).not.toContain(PASSWORD);
    browsers.set(tokenTo(scene, email), readCookie(answer));
    const verified = await verify(tokenTo(scene, email));
    expect(verified).toMatchObject({ status: 200, body: { object: 'user', id: answer.body.id, has_password: true } });
    expect(verified.body.email_verified_at).not.toBeNull();
    expect(verified.headers.getSetCookie()).toEqual([expect.stringMatching(/^rasket_signup=; Max-Age=0/)]);
    expect(await logIn(email)).toMatchObject({
      status: 200,
      body: { user: { id: answer.body.id, name: 'Ada', email_verified_at: verified.body.email_verified_at } },
    });
  });

  it('signing up is refused with a password that guessing programs try first, before any mail', async () => {
    const email = newAddress();
    const refused = await signUp(email, 'Trustno1');
    expect([refusal(refused), refused.body.message]).toEqual([
      '422 invalid_parameter',
      'password is one of the 3,000 most common passwords; choose another one.',
    ]);
    expect(refusal(await signUp(email, `${email.toUpperCase()}!`))).toBe('422 invalid_parameter');
    await scene.settled();
    expect(mailsTo(scene, email)).toEqual([]);
  });

  it('stores only hashes of token and password, and deletes the password hash when it is no longer needed', async () => {
    const email = newAddress();
    const token = await asked(email);
    const rows = JSON.stringify(await scene.app.world.db.all('select * from sign_ups'));
    expect(rows).not.toContain(token);
    expect(rows).not.toContain(PASSWORD);
    await verify(token);
    const row = await scene.app.world.db.get('select password_hash from sign_ups where email = ?', [email]);
    expect(row).toEqual({ password_hash: '' });
  });

  it('with an address that has an account mails its owner and changes nothing', async () => {
    const email = newAddress();
    await verify(await asked(email));
    const answer = await signUp(email, 'another password');
    expect(answer.body).toMatchObject({ email, email_verified_at: null });
    await scene.settled();
    expect(subjectsTo(scene, email)).toEqual(['Verify your email address', 'You already have an account']);
    expect(mailsTo(scene, email).at(-1)).not.toContain('token=');
    expect((await logIn(email)).status).toBe(200);
    expect(refusal(await logIn(email, 'another password'))).toBe('422 validation_error');
  });

  it('is entered in the audit log with the new account as the actor', async () => {
    const email = newAddress();
    const token = await asked(email);
    await verify(token);
    await verify(token);
    const key = await scene.operator();
    const { data } = (await scene.api('GET', '/operator/audit?limit=10', { key })).body;
    const made = data.filter((one: { actor: { name: string } }) => one.actor.name === email);
    expect(made).toMatchObject([{ action: 'account.created', actor: { kind: 'user' }, address: '127.0.0.1' }]);
    expect(JSON.stringify(data)).not.toContain(token);
  });

  it('accepts passwords of 6 to 4096 characters', async () => {
    for (const password of ['12345', 'x'.repeat(4097)]) {
      const answer = await signUp(newAddress(), password);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'password' }] } });
    }
    for (const password of ['wq4!ß2', 'ß'.repeat(4096)]) {
      const email = newAddress();
      await verify(await asked(email, password));
      expect((await logIn(email, password)).status).toBe(200);
      expect(refusal(await logIn(email, `${password.slice(0, -1)}!`))).toBe('422 validation_error');
    }
  });

  it('names the field that is missing or wrong', async () => {
    expect((await post('/auth/signup', {})).body).toMatchObject({ name: 'missing_required_field' });
    for (const email of ['nobody', 'Ada <ada@example.org>', 'a@b@c.example'])
      expect(await signUp(email)).toMatchObject({ status: 400, body: { errors: [{ path: 'email' }] } });
    const named = await post('/auth/signup', { email: newAddress(), password: PASSWORD, name: 'A\nB' });
    expect(named).toMatchObject({ status: 400, body: { errors: [{ path: 'name' }] } });
  });
});

describe('the sign-up token', () => {
  it('creates one account and gets the same answer when it is sent twice, even at once', async () => {
    const email = newAddress();
    const token = await asked(email);
    const answers = [...(await Promise.all([verify(token), verify(token)])), await verify(token)];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    scene.clock.advance(2 * DAY_MS);
    expect((await verify(token)).text).toBe(answers[0]?.text);
    const users = await scene.app.world.db.all('select id from users where email = ?', [email]);
    expect(users).toHaveLength(1);
  });

  it('expires after three days and then gets the same answer as an unknown one', async () => {
    const email = newAddress();
    const token = await asked(email);
    scene.clock.advance(3 * DAY_MS);
    expect(refusal(await verify(token))).toBe('404 not_found');
    expect(refusal(await verify('rv_nothing'))).toBe('404 not_found');
    await scene.app.jobs.find(({ name }) => name === 'forget-account-requests')?.run();
    expect(await scene.app.world.db.get('select id from sign_ups where email = ?', [email])).toBeUndefined();
  });

  it('sets only its own password, so an untrusted person cannot plant one by signing up with the address first', async () => {
    const email = newAddress();
    const stranger = await asked(email, 'planted by a stranger');
    const own = await asked(email);
    expect(own).not.toBe(stranger);
    expect((await verify(own)).status).toBe(200);
    expect((await logIn(email)).status).toBe(200);
    expect(refusal(await verify(stranger))).toBe('404 not_found');
    expect(refusal(await logIn(email, 'planted by a stranger'))).toBe('422 validation_error');
  });

  it('creates one account when two tokens of one address are used at once, with the password of the token that won', async () => {
    for (let round = 0; round < 3; round++) {
      const email = newAddress();
      const tokens = [await asked(email, 'password of one'), await asked(email, 'password of two')];
      const answers = await Promise.all(tokens.map((token) => verify(token)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      const winner = statuses[0] === 200 ? 'password of one' : 'password of two';
      expect((await logIn(email, winner)).status).toBe(200);
      scene.clock.advance(61 * 60_000);
    }
  });

  it('does not change an account that was created in the meantime', async () => {
    const email = newAddress();
    const token = await asked(email, 'planted by a stranger');
    await createPeople(scene).person({ email });
    expect(refusal(await verify(token))).toBe('409 resource_locked');
    expect(refusal(await logIn(email, 'planted by a stranger'))).toBe('422 validation_error');
  });
});

describe('a sign-up link opened in another browser than the one that requested it', () => {
  it('creates the account without a password, so the password of an untrusted requester is useless', async () => {
    const email = newAddress();
    const token = await asked(email, 'planted by a stranger');
    const began = await verifyElsewhere(token);
    expect(began).toMatchObject({ status: 200, body: { object: 'user', has_password: false } });
    expect(began.headers.getSetCookie()).toEqual([]);
    // The requester's own browser can no longer set its password.
    expect((await verify(token)).text).toBe(began.text);
    expect(refusal(await logIn(email, 'planted by a stranger'))).toBe('422 validation_error');
    await post('/auth/password-reset', { email });
    await scene.settled();
    const reset = tokenTo(scene, email);
    expect((await post('/auth/password-reset/confirm', { token: reset, password: PASSWORD })).status).toBe(200);
    expect((await logIn(email)).status).toBe(200);
    expect((await verifyElsewhere(token)).body.has_password).toBe(true);
  });

  it.each([
    ['of another sign-up', async () => readCookie(await signUp(newAddress()))],
    ['that is made up', async () => 'rasket_signup=rs_made-up'],
    ['that is empty', async () => 'rasket_signup='],
  ])('is also one that comes with a cookie %s', async (_what, cookie) => {
    const email = newAddress();
    const token = await asked(email);
    const began = await post('/auth/verify-email', { token }, { cookie: await cookie() });
    expect(began.body.has_password).toBe(false);
    expect(refusal(await logIn(email))).toBe('422 validation_error');
  });
});

describe('addresses that a reader may confuse', () => {
  it.each([
    ['strasse', 'straße'],
    ['iris', 'ıris'],
    ['Grace', 'gRACE'],
  ])('%s and %s are one account, and mail goes to the address that was verified', async (one, twin) => {
    const email = `${one}@zwilling.example`;
    const other = `${twin}@zwilling.example`;
    await verify(await asked(email));
    await signUp(other, 'password of the twin');
    await post('/auth/password-reset', { email: other });
    await scene.settled();
    expect(subjectsTo(scene, email).slice(1).toSorted()).toEqual([
      'Reset your password',
      'You already have an account',
    ]);
    const mails = await scene.app.world.db.all<{ to_list: string }>('select to_list from emails');
    expect(mails.filter(({ to_list: to }) => to.includes(other))).toEqual([]);
    expect(refusal(await logIn(other, 'password of the twin'))).toBe('422 validation_error');
    expect((await logIn(other)).status).toBe(200);
  });
});

describe('the right to sign up', () => {
  it('belongs by default to addresses with an open invitation, checked at the request and again at the link', async () => {
    await using one = await startScene();
    const host = await one.team();
    await host.domain();
    const owner = await createPeople(one).person({ team: host, role: 'owner' });
    const path = `/teams/${host.id}/invitations`;
    const guest = 'guest@people.example';
    const stranger = 'stranger@people.example';
    const { id } = (await owner.call('POST', path, { email: guest, role: 'member' })).body;
    for (const email of [guest, stranger]) expect((await signUp(email, PASSWORD, one)).status).toBe(200);
    await one.settled();
    expect(subjectsTo(one, stranger)).toEqual([]);
    expect(await one.app.world.db.all('select id from sign_ups where email = ?', [stranger])).toEqual([]);
    expect(subjectsTo(one, guest)).toContain('Verify your email address');
    const token = /token=(rv_[\w-]+)/.exec(mailsTo(one, guest).join('\n'))?.[1] ?? '';
    await owner.call('DELETE', `${path}/${id}`);
    expect(refusal(await verify(token, one))).toBe('404 not_found');
    await owner.call('POST', path, { email: guest, role: 'member' });
    expect(refusal(await verify(token, one))).toBe('200');
  });

  it('belongs to nobody when sign-ups are closed', async () => {
    await using one = await startScene({ config: { accounts: { sign_up: 'closed' } } });
    expect(refusal(await signUp(newAddress(), PASSWORD, one))).toBe('403 invalid_permission');
    expect(refusal(await verify('rv_any', one))).toBe('403 invalid_permission');
    const body = { token: 'ri_any', password: PASSWORD };
    expect(refusal(await post('/invitations/signup', body, {}, one))).toBe('403 invalid_permission');
  });
});

describe('limits of sign-up', () => {
  it('one network address may request 10 sign-ups of one address in 15 minutes, and each address gets 3 mails an hour', async () => {
    const email = newAddress();
    for (let asking = 0; asking < 10; asking++) expect((await signUp(email)).status).toBe(200);
    const refused = await signUp(email);
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await signUp(newAddress())).status).toBe(200);
    await scene.settled();
    expect(mailsTo(scene, email)).toHaveLength(3);
    scene.clock.advance(61 * 60_000);
    await signUp(email);
    await scene.settled();
    expect(mailsTo(scene, email)).toHaveLength(4);
  });
});

describe('pages of other origins', () => {
  it.each([
    ['/auth/signup', { email: 'a@people.example', password: PASSWORD }],
    ['/auth/verify-email', { token: 'rv_any' }],
    ['/auth/password-reset', { email: 'a@people.example' }],
    ['/auth/password-reset/confirm', { token: 'rp_any', password: PASSWORD }],
    ['/auth/password', { password: PASSWORD }],
    ['/invitations/signup', { token: 'ri_any', password: PASSWORD }],
  ])('cannot call %s', async (path, body) => {
    const person = await createPeople(scene).person();
    for (const origin of [null, 'null', 'https://evil.example', `${scene.url}.evil.example`, scene.url.toUpperCase()]) {
      const answer = await post(path, body, { cookie: person.headers['cookie'] ?? '', origin });
      expect([origin, refusal(answer)]).toEqual([origin, '403 invalid_permission']);
    }
  });
});
