// people --> a service whose address is https: the cookie of a session has the prefix __Host-
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createApi, type Api, type ApiAnswer } from '../../rig/api.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const origin = 'https://mail.example.com';
const PASSWORD = 'long enough';

let scene: Scene;
let url: string;
let api: Api;
let email: string;
/** The cookie of a session that began before the prefix existed. */
let old: string;
beforeAll(async () => {
  scene = await startScene({ config: { http: { public_url: origin } } });
  url = `http://127.0.0.1:${scene.app.http?.port}`;
  api = createApi(url);
});
afterAll(() => scene.close());
beforeEach(async () => {
  const person = await createPeople(scene).person();
  await scene.app.world.db.run('update users set password_hash = ? where id = ?', [
    await scene.app.world.passwords.hash(PASSWORD),
    person.userId,
  ]);
  email = person.email;
  old = person.headers.cookie ?? '';
});

const logIn = (cookie?: string) =>
  api('POST', '/auth/login', {
    body: { email, password: PASSWORD },
    headers: { origin, ...(cookie === undefined ? {} : { cookie }) },
  });
const namesSet = ({ headers }: ApiAnswer) => headers.getSetCookie().map((line) => line.split('=')[0]);
const readCookie = ({ headers }: ApiAnswer): string => headers.getSetCookie()[0]?.split(';')[0] ?? '';
const fetchStatus = async (cookie: string) =>
  (await api('GET', '/auth/session', { headers: { cookie, origin } })).status;

it('the session cookie is limited to this host by its prefix, and its token is invalid without the prefix', async () => {
  const answer = await logIn();
  const form = /^__Host-rasket_session=rks_[\w-]{32}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/;
  expect(answer.headers.getSetCookie()[0]).toMatch(form);
  const cookie = readCookie(answer);
  expect(await fetchStatus(cookie)).toBe(200);
  // A neighboring host may set this one, with a session of its own.
  expect(await fetchStatus(cookie.replace('__Host-', ''))).toBe(401);
  const page = (given: string) =>
    fetch(`${url}/account`, { redirect: 'manual', headers: { cookie: given, accept: 'text/html' } });
  expect((await page(cookie)).status).toBe(200);
  expect((await page(cookie.replace('__Host-', ''))).headers.get('location')).toMatch(/^\/sign-in/);
});

it('a session cookie without the prefix from an earlier version works until it expires, but not under the new name', async () => {
  expect(await fetchStatus(old)).toBe(200);
  expect(await fetchStatus(`__Host-${old}`)).toBe(401);
});

it('a new sign-in ends the session of an older cookie and removes that cookie', async () => {
  const answer = await logIn(old);
  expect(namesSet(answer)).toEqual(expect.arrayContaining(['__Host-rasket_session', 'rasket_session']));
  expect(answer.headers.getSetCookie().find((line) => line.startsWith('rasket_session='))).toContain('Max-Age=0');
  expect([await fetchStatus(old), await fetchStatus(readCookie(answer))]).toEqual([401, 200]);
});

it('a planted cookie without the prefix is ignored if there is one with it', async () => {
  const cookie = readCookie(await logIn());
  const other = await createPeople(scene).person();
  const me = await api('GET', '/auth/me', { headers: { cookie: `${other.headers.cookie}; ${cookie}`, origin } });
  expect(me.body.email).toBe(email);
});

it('signing out removes both session cookies', async () => {
  const cookie = readCookie(await logIn());
  const out = await api('POST', '/auth/logout', { headers: { cookie: `${cookie}; ${old}`, origin } });
  expect(namesSet(out)).toEqual(['__Host-rasket_session', 'rasket_session']);
  expect(await fetchStatus(cookie)).toBe(401);
});
