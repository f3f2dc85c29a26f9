import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createUser, listUsers } from '../../../src/tenancy/users/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const PASSWORD = 'correct horse battery staple';
const WRONG = { status: 422, body: { name: 'validation_error', message: 'The email or the password is wrong.' } };
let scene: Scene;
let team: Team;
let userId: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  userId = await person('Ada@Example.com', 'admin');
});
// The limits of one test are not those of the next.
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

async function person(email: string, role?: string): Promise<string> {
  const { db, clock } = scene.app.world;
  const { id } = await createUser(scene.app.world, { email, name: 'Ada', password: PASSWORD, isVerified: true });
  const columns = 'id, team_id, user_id, role, created_at';
  const row = [randomUUID(), team.id, id, role ?? '', clock.now()];
  if (role) await db.run(`insert into team_members (${columns}) values (?, ?, ?, ?, ?)`, row);
  return id;
}

const own = () => ({ origin: scene.app.world.origin() });
const logIn = (email = 'ada@example.com', password = PASSWORD, headers: Record<string, string | null> = own()) =>
  scene.api('POST', '/auth/login', { body: { email, password }, headers });
const readCookie = ({ headers }: ApiAnswer): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';
const as = (cookie: string) => ({ headers: { cookie, ...own() } });
const fetchStatus = async (cookie: string): Promise<number> =>
  (await scene.api('GET', '/auth/session', as(cookie))).status;

describe('signing in', () => {
  it('returns the session, sets a cookie that scripts and other sites cannot read, and stores only its hash', async () => {
    const answer = await logIn();
    expect(answer).toMatchObject({
      status: 200,
      body: { object: 'session', user: { id: userId, email: 'Ada@example.com' }, current_team: { id: team.id } },
    });
    const [cookie = ''] = answer.headers.getSetCookie();
    const form = /^rasket_session=rks_[\w-]{32}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/;
    expect(cookie).toMatch(form);
    const rows = await scene.app.world.db.all('select * from sessions');
    expect(JSON.stringify(rows)).not.toContain(cookie.slice(15, 40));
    expect(answer.text).not.toContain('password');
  });

  it('allows the person what their role allows in the team, and nothing more', async () => {
    const cookie = readCookie(await logIn());
    expect(await scene.api('GET', '/auth/me', as(cookie))).toMatchObject({
      status: 200,
      body: { id: userId, current_team_id: team.id, teams: [{ id: team.id }] },
    });
    expect((await scene.api('GET', '/api-keys', as(cookie))).status).toBe(200);
    await scene.app.world.db.run("update team_members set role = 'viewer' where user_id = ?", [userId]);
    const body = { name: 'Made by a viewer' };
    expect((await scene.api('POST', '/segments', { ...as(cookie), body })).status).toBe(403);
    await scene.app.world.db.run("update team_members set role = 'admin' where user_id = ?", [userId]);
    expect((await scene.api('POST', '/segments', { ...as(cookie), body })).status).toBe(201);
  });

  it('is entered in the audit log under the person’s name, as is signing out', async () => {
    const cookie = readCookie(await logIn());
    expect((await scene.api('POST', '/auth/logout', { ...as(cookie), body: {} })).status).toBe(200);
    const { data } = (await scene.api('GET', '/audit?limit=2', { key: team.key })).body;
    const actor = { kind: 'user', id: userId, name: 'Ada@example.com' };
    expect(data).toMatchObject([
      { action: 'session.ended', actor, address: '127.0.0.1' },
      { action: 'session.begun', actor, address: '127.0.0.1' },
    ]);
  });

  it('without a team gives access to the person’s own data and to no team', async () => {
    await person('alone@example.com');
    const cookie = readCookie(await logIn('alone@example.com'));
    expect((await scene.api('GET', '/auth/session', as(cookie))).body.current_team).toBeNull();
    expect(await scene.api('GET', '/domains', as(cookie))).toMatchObject({ status: 403 });
  });
});

describe('a session ends', () => {
  it('when its person signs out, at once, and the cookie is removed', async () => {
    const one = readCookie(await logIn());
    const other = readCookie(await logIn());
    const out = await scene.api('POST', '/auth/logout', { ...as(one), body: {} });
    expect(out).toMatchObject({ status: 200, body: { object: 'session', revoked: true } });
    expect(out.headers.getSetCookie()[0]).toMatch(/^rasket_session=; Max-Age=0; Path=\//);
    expect([await fetchStatus(one), await fetchStatus(other)]).toEqual([401, 200]);
  });

  it('everywhere when its person signs out everywhere', async () => {
    const cookies = [readCookie(await logIn()), readCookie(await logIn())];
    await scene.api('POST', '/auth/logout', { ...as(cookies[0] ?? ''), body: { all: true } });
    expect(await Promise.all(cookies.map(fetchStatus))).toEqual([401, 401]);
  });

  it('after its lifetime, however much it was used, and is then deleted', async () => {
    const cookie = readCookie(await logIn());
    scene.clock.advance(30 * 86_400_000 - 1);
    expect(await fetchStatus(cookie)).toBe(200);
    scene.clock.advance(1);
    expect(await fetchStatus(cookie)).toBe(401);
    await scene.app.jobs.find(({ name }) => name === 'remove-expired-sessions')?.run();
    expect(await scene.app.world.db.all('select id from sessions')).toEqual([]);
    expect(await scene.app.world.db.all('select party from sign_in_attempts')).toEqual([]);
  });

  it('with the next request in a team that the person has left or that is suspended', async () => {
    const id = await person('leaver@example.com', 'owner');
    const cookie = readCookie(await logIn('leaver@example.com'));
    const { db } = scene.app.world;
    expect((await scene.api('GET', '/team', as(cookie))).status).toBe(200);
    await db.run("update teams set risk_state = 'suspended' where id = ?", [team.id]);
    expect((await scene.api('GET', '/team', as(cookie))).status).toBe(403);
    await db.run("update teams set risk_state = 'normal' where id = ?", [team.id]);
    await db.run('delete from team_members where user_id = ?', [id]);
    expect((await scene.api('GET', '/team', as(cookie))).status).toBe(403);
  });
});

describe('attacks on sign-in', () => {
  it('get the same answer, byte for byte, for an unknown address and a wrong password', async () => {
    const unknown = await logIn('nobody@example.com', 'wrong');
    const wrong = await logIn('ada@example.com', 'wrong');
    expect(unknown).toMatchObject(WRONG);
    expect(unknown.text).toBe(wrong.text);
    expect(unknown.headers.getSetCookie()).toEqual([]);
  });

  it('are stopped after ten guesses at an account, even with the right password, and may go on later', async () => {
    for (let i = 0; i < 10; i++) expect(await logIn('ada@example.com', `guess ${i}`)).toMatchObject(WRONG);
    const stopped = await logIn();
    expect(stopped).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(Number(stopped.headers.get('retry-after'))).toBe(900);
    expect((await logIn('nobody@example.com', 'wrong')).status).toBe(422);
    scene.clock.advance(15 * 60_000);
    expect((await logIn()).status).toBe(200);
  });

  it('gain nothing from many guesses at once', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => logIn('ada@example.com', `guess ${i}`)));
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });

  it('do not lock a person out of a browser they have used, which allows no more guesses either', async () => {
    const findBrowser = ({ headers }: ApiAnswer): string =>
      headers
        .getSetCookie()
        .find((one) => one.startsWith('rasket_browser='))
        ?.split(';')[0] ?? '';
    const before = await logIn();
    const [, kept = ''] = before.headers.getSetCookie();
    expect(kept).toMatch(
      /^rasket_browser=[\w-]{32}\.[\w-]{43}; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const known = { ...own(), cookie: findBrowser(before) };
    for (let i = 0; i < 10; i++) await logIn('ada@example.com', `guess ${i}`);
    expect((await logIn()).status).toBe(429);
    expect((await logIn(undefined, undefined, known)).status).toBe(200);
    // It does not work for another account, nor after a change; and it is not a session.
    await person('mallory@example.com');
    const others = { ...own(), cookie: findBrowser(await logIn('mallory@example.com')) };
    expect((await logIn(undefined, undefined, others)).status).toBe(429);
    const changed = known.cookie.replace(/=./, (start) => (start === '=A' ? '=B' : '=A'));
    expect((await logIn(undefined, undefined, { ...own(), cookie: changed })).status).toBe(429);
    expect(await fetchStatus(known.cookie)).toBe(401);
    for (let i = 0; i < 10; i++) expect((await logIn(undefined, `guess ${i}`, known)).status).toBe(422);
    expect((await logIn(undefined, undefined, known)).status).toBe(429);
    scene.clock.advance(15 * 60_000);
    expect(findBrowser(await logIn(undefined, undefined, known))).toBe(known.cookie);
  });

  it('from one address on many accounts are stopped after fifty, and successes do not count', async () => {
    for (let i = 0; i < 55; i++) expect((await logIn()).status).toBe(200);
    for (let i = 0; i < 50; i++) expect((await logIn(`guess${i}@example.com`, 'wrong')).status).toBe(422);
    expect((await logIn('guess51@example.com', 'wrong')).status).toBe(429);
  });

  it.each([null, 'null', 'https://evil.example', 'http://127.0.0.1', 'https://rasket.test'])(
    'from a page at the origin %s sign nobody in or out, whatever the Host, and change nothing',
    async (origin) => {
      const foreign = { origin, host: 'evil.example' };
      const refused = { status: 403, body: { name: 'invalid_permission' } };
      expect(await logIn('ada@example.com', PASSWORD, foreign)).toMatchObject(refused);
      const cookie = readCookie(await logIn());
      const headers = { ...foreign, cookie };
      expect(await scene.api('POST', '/auth/logout', { body: {}, headers })).toMatchObject(refused);
      expect(await scene.api('POST', '/segments', { body: { name: 'Planted' }, headers })).toMatchObject(refused);
      expect(await fetchStatus(cookie)).toBe(200);
    },
  );

  it('gain no second account from two spellings of one address', async () => {
    await person('stra\u00dfe@example.com');
    expect((await logIn('STRASSE@example.com')).status).toBe(200);
    await expect(person('strasse@example.com')).rejects.toThrow(/already/);
  });

  it.each(['', 'rks_nobody', '"', 'x'.repeat(5000)])('with the unknown cookie %.12s are refused', async (token) => {
    expect(await fetchStatus(`rasket_session=${token}`)).toBe(401);
  });
});

it.each([
  [{ password: 'x' }, 422, 'email'],
  [{ email: 'ada@example.com' }, 422, 'password'],
  [{ email: 'a@', password: 'x' }, 400, 'email must be an address of 3 to 320 characters'],
  [{ email: 'a'.repeat(321), password: 'x' }, 400, '320'],
  [{ email: 'ada@example.com', password: '' }, 400, '4096'],
  [{ email: 'ada@example.com', password: 'x'.repeat(4097) }, 400, '4096'],
  [{ email: 'ada@example.com', password: 7 }, 400, 'password'],
  [{ email: 'ada@example.com', password: 'x', code: '1' }, 400, 'code'],
])('an invalid sign-in body gets an error with field and limit: %j', async (body, status, says) => {
  const answer = await scene.api('POST', '/auth/login', { body, headers: own() });
  expect(answer.status).toBe(status);
  expect(answer.body.message).toContain(says);
});

it('a sign-in ends the session that the browser had before', async () => {
  const first = readCookie(await logIn());
  const second = readCookie(await logIn(undefined, undefined, { ...own(), cookie: first }));
  expect([await fetchStatus(first), await fetchStatus(second)]).toEqual([401, 200]);
});

it('a session cookie that is sent twice is ignored, since a neighboring host may have set one', async () => {
  const cookie = readCookie(await logIn());
  expect(await fetchStatus(`${cookie}; rasket_session=other`)).toBe(401);
  expect(await fetchStatus(`other=1; ${cookie}`)).toBe(200);
});

it('a server error does not count as a wrong password', async () => {
  const { db } = scene.app.world;
  await person('grace@example.com');
  const sql = "update users set password_hash = ? where email = 'grace@example.com'";
  const { password_hash: hash } = (await db.get<{ password_hash: string }>(
    "select password_hash from users where email = 'grace@example.com'",
  )) ?? { password_hash: '' };
  await db.run(sql, ['unreadable']);
  for (let tries = 0; tries < 12; tries++) expect((await logIn('grace@example.com')).status).toBe(500);
  await db.run(sql, [hash]);
  expect((await logIn('grace@example.com')).status).toBe(200);
});

it('people who can sign in are listed in the order in which they were added', async () => {
  const made = [await person('first@list.example'), await person('second@list.example')];
  const listed = await listUsers(scene.app.world.db);
  expect(listed.map(({ id }) => id).filter((id) => made.includes(id))).toEqual(made);
});
