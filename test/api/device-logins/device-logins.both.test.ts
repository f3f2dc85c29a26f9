import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../../src/platform/secrets/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let ada: Person;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  people = createPeople(scene);
  ada = await people.person({ email: 'ada@people.example', team, role: 'admin' });
});
// The limits of one test are not those of the next.
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

const begin = (clientName = 'rasket on ada-laptop') =>
  scene.api('POST', '/auth/device', { body: { client_name: clientName }, headers: { 'user-agent': 'rasket-cli/9' } });
const poll = (deviceCode: string) => scene.api('POST', '/auth/device/token', { body: { device_code: deviceCode } });
const approve = (person: Person, userCode: string) =>
  person.call('POST', '/auth/device/approve', { user_code: userCode });
const as = (token: string) => ({ key: token });
const NOT_FOUND = { status: 404, body: { name: 'not_found', message: 'Code not found.' } };

/** Returns the token of a session that a person has approved. */
async function obtainToken(person: Person): Promise<string> {
  const { body } = await begin();
  expect((await approve(person, body.user_code)).status).toBe(200);
  const answer = await poll(body.device_code);
  expect(answer).toMatchObject({ status: 200, body: { status: 'approved' } });
  return answer.body.token as string;
}

describe('a device login', () => {
  it('signs a program in once its person approves the code in a browser, as that person in the same team', async () => {
    const begun = await begin();
    expect(begun).toMatchObject({ status: 201, body: { object: 'device_login', interval: 5 } });
    const { device_code: deviceCode, user_code: userCode, verification_url: url } = begun.body;
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(url).toBe(`${scene.app.world.origin()}/device`);
    expect(begun.body.verification_url_complete).toBe(`${url}?code=${userCode}`);
    expect(await poll(deviceCode)).toMatchObject({ status: 200, body: { status: 'pending', token: null } });

    const asked = await ada.call('GET', `/auth/device?user_code=${userCode}`);
    const asks = { client_name: 'rasket on ada-laptop', address: '127.0.0.1', user_agent: 'rasket-cli/9' };
    expect(asked).toMatchObject({ status: 200, body: { status: 'pending', ...asks } });
    // The code is entered as people type it.
    const typed = ` ${userCode.toLowerCase().replace('-', ' ')} `;
    expect(await approve(ada, typed)).toMatchObject({ status: 200, body: { status: 'approved', ...asks } });

    scene.clock.advance(5000);
    const { body } = await poll(deviceCode);
    expect(body).toMatchObject({ status: 'approved', token: expect.stringMatching(/^rks_[\w-]{32}$/) });
    expect(Date.parse(body.expires_at) - scene.clock.now()).toBe(30 * 86_400_000);
    expect(await scene.api('GET', '/auth/session', as(body.token))).toMatchObject({
      status: 200,
      body: { user: { id: ada.userId }, current_team: { id: team.id } },
    });
    const made = await scene.api('POST', '/segments', { ...as(body.token), body: { name: 'By a person' } });
    expect(made.status).toBe(201);

    const { data } = (await scene.api('GET', '/audit?limit=3', { key: team.key })).body;
    const actor = { kind: 'user', id: ada.userId, name: 'ada@people.example' };
    expect(data).toMatchObject([
      { action: 'segment.created', actor },
      { action: 'session.begun', actor, details: { kind: 'device', client_name: 'rasket on ada-laptop' } },
      { action: 'device_login.approved', actor },
    ]);
    expect(JSON.stringify(await scene.app.world.db.all('select * from sessions'))).not.toContain(body.token.slice(4));
  });

  it('creates a session that copies the approving one, except for its own columns', async () => {
    const token = await obtainToken(ada);
    const { db } = scene.app.world;
    const [begun] = await db.all('select * from sessions where token_hash = ?', [hashToken(token)]);
    // A new column must be copied by `copySession` or named here: a session must not have more access than the one before it.
    const own = [
      'id',
      'token_hash',
      'kind',
      'client_name',
      'created_at',
      'last_used_at',
      'expires_at',
      'address',
      'user_agent',
      // Its token is in no cookie.
      'host_cookie',
    ];
    const copied = ['user_id', 'current_team_id', 'sso_team_id', 'sso_sid_hash'];
    expect(Object.keys(begun ?? {}).sort()).toEqual([...own, ...copied].sort());
    expect(begun).toMatchObject({ kind: 'device', user_id: ada.userId, current_team_id: team.id });
  });

  it('follows changes of team and role like any other session', async () => {
    const token = await obtainToken(ada);
    const other = await scene.team();
    await createPeople(scene).person({ team: other });
    expect((await scene.api('POST', `/teams/${other.id}/switch`, as(token))).status).toBe(404);
    const { db } = scene.app.world;
    await db.run("update team_members set role = 'viewer' where id = ?", [ada.memberId]);
    expect((await scene.api('POST', '/segments', { ...as(token), body: { name: 'x' } })).status).toBe(403);
    await db.run("update team_members set role = 'admin' where id = ?", [ada.memberId]);
  });

  it('ends with a clear status when the person denies it', async () => {
    const { body } = await begin();
    expect(await ada.call('POST', '/auth/device/deny', { user_code: body.user_code })).toMatchObject({
      status: 200,
      body: { status: 'denied' },
    });
    expect((await poll(body.device_code)).body).toMatchObject({ status: 'denied', token: null });
    expect(await approve(ada, body.user_code)).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
  });

  it('expires after ten minutes and is then removed', async () => {
    const { body } = await begin();
    scene.clock.advance(10 * 60_000);
    expect(await approve(ada, body.user_code)).toMatchObject(NOT_FOUND);
    expect((await poll(body.device_code)).body.status).toBe('expired');
    await scene.app.jobs.find(({ name }) => name === 'remove-device-logins')?.run();
    expect(await scene.app.world.db.all('select id from device_logins')).toEqual([]);
  });
});

describe('a device code', () => {
  it('begins one session when polled by many clients at once, and none afterwards', async () => {
    const { body } = await begin();
    await approve(ada, body.user_code);
    const before = (await ada.call('GET', '/auth/sessions?limit=100')).body.data.length;
    const asked: Promise<ApiAnswer>[] = [];
    // Each comes on time, while earlier ones are still being answered.
    for (let i = 0; i < 40; i++) {
      asked.push(poll(body.device_code));
      await new Promise((resolve) => void setImmediate(resolve));
      scene.clock.advance(5000);
    }
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer.body.status === 'approved')).toHaveLength(1);
    expect((await ada.call('GET', '/auth/sessions?limit=100')).body.data).toHaveLength(before + 1);
    scene.clock.advance(5000);
    expect((await poll(body.device_code)).body).toMatchObject({ status: 'expired', token: null });
  });

  it('may be polled every five seconds, and answers slow down when polled sooner', async () => {
    const { body } = await begin();
    expect((await poll(body.device_code)).status).toBe(200);
    scene.clock.advance(3000);
    const early = await poll(body.device_code);
    expect(early).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(early.headers.get('retry-after')).toBe('5');
    scene.clock.advance(2000);
    expect((await poll(body.device_code)).status).toBe(200);
  });

  it('that is unknown, empty or a user code is not accepted', async () => {
    const { body } = await begin();
    for (const code of ['rkd_nobody', body.user_code]) expect((await poll(code)).body.status).toBe('expired');
    expect(await poll('')).toMatchObject({ status: 400, body: { name: 'validation_error' } });
  });
});

describe('an approved device login begins no session', () => {
  const approved = async (person: Person): Promise<string> => {
    const { body } = await begin();
    expect((await approve(person, body.user_code)).status).toBe(200);
    return body.device_code as string;
  };
  const fetchStatus = async (code: string): Promise<string> => (await poll(code)).body.status as string;

  it('if its approving session ended because the person signed out everywhere', async () => {
    const grace = await people.person({ team });
    const code = await approved(grace);
    await grace.call('POST', '/auth/logout', { all: true });
    expect(await fetchStatus(code)).toBe('denied');
  });

  it('if the person was removed from the team', async () => {
    const grace = await people.person({ team });
    const code = await approved(grace);
    expect((await ada.call('DELETE', `/teams/${team.id}/members/${grace.memberId}`)).status).toBe(200);
    expect(await fetchStatus(code)).toBe('denied');
    const { data } = (await scene.api('GET', '/audit?limit=1', { key: team.key })).body;
    expect(data).toMatchObject([{ action: 'team_member.removed' }]);
  });

  it('and signing out everywhere ends the session that it began', async () => {
    const grace = await people.person({ team });
    const token = await obtainToken(grace);
    expect((await scene.api('GET', '/team', as(token))).status).toBe(200);
    await grace.call('POST', '/auth/logout', { all: true });
    expect((await scene.api('GET', '/team', as(token))).status).toBe(401);
  });
});

describe('attacks on device logins', () => {
  it('a token from a cookie is not accepted as a header, nor the other way round', async () => {
    const cookie = ada.headers['cookie'] ?? '';
    const value = cookie.slice(cookie.indexOf('=') + 1);
    expect(await scene.api('GET', '/team', as(value))).toMatchObject({ status: 401 });
    const token = await obtainToken(ada);
    const { origin } = new URL(scene.url);
    const planted = { headers: { cookie: `rasket_session=${token}`, origin } };
    expect(await scene.api('GET', '/auth/session', planted)).toMatchObject({ status: 401 });
  });

  it('a request with a token needs no Origin, whatever page it claims to come from', async () => {
    const token = await obtainToken(ada);
    const headers = { origin: 'https://evil.example' };
    const made = await scene.api('POST', '/segments', { key: token, headers, body: { name: 'Elsewhere' } });
    expect(made.status).toBe(201);
  });

  it('a page of another site cannot approve with the cookie of a person', async () => {
    const { body } = await begin();
    for (const origin of [null, 'https://evil.example', 'null']) {
      const headers = { ...ada.headers, origin };
      const asked = await scene.api('POST', '/auth/device/approve', { headers, body: { user_code: body.user_code } });
      expect(asked).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    }
    expect((await poll(body.device_code)).body.status).toBe('pending');
  });

  it('a signed-in program cannot approve another one, nor can a key', async () => {
    const token = await obtainToken(ada);
    const { body } = await begin();
    const given = { body: { user_code: body.user_code } };
    for (const verb of ['approve', 'deny'])
      for (const key of [token, team.key])
        expect(await scene.api('POST', `/auth/device/${verb}`, { key, ...given })).toMatchObject({ status: 403 });
    expect((await poll(body.device_code)).body.status).toBe('pending');
  });

  it('a person may guess ten user codes, from any address, and then even the right one is refused', async () => {
    const { body } = await begin();
    const eve = await people.person({ email: 'eve@people.example' });
    const guesses = await Promise.all(Array.from({ length: 30 }, () => approve(eve, 'BBBB-BBBB')));
    expect(guesses.filter((answer: ApiAnswer) => answer.status === 404)).toHaveLength(10);
    expect(guesses.filter((answer: ApiAnswer) => answer.status === 429)).toHaveLength(20);
    const late = await approve(eve, body.user_code);
    expect(late).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
    expect(late.headers.get('retry-after')).toBe('900');
    // The address is the same, so another account does not help.
    expect((await approve(ada, body.user_code)).status).toBe(429);
    scene.clock.advance(15 * 60_000);
    const again = await begin();
    for (let i = 0; i < 15; i++)
      expect((await ada.call('GET', `/auth/device?user_code=${again.body.user_code}`)).status).toBe(200);
    expect((await approve(ada, again.body.user_code)).status).toBe(200);
  });

  it.each([
    ['a line break', 'rasket\nApproved by your administrator'],
    ['an escape sequence', 'rasket \u001b[2J'],
    ['a change of direction', 'rasket \u202egnp.exe'],
    ['an invisible character', 'ras\u200bket'],
    ['nothing to see', '   '],
    ['101 characters', 'x'.repeat(101)],
    ['nothing', ''],
  ])('a client name with %s is refused', async (_, name) => {
    expect(await begin(name)).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'client_name' }] },
    });
  });

  it('markup in a client name is returned as text', async () => {
    const { body } = await begin('<b>rasket</b> & „Söhne“');
    const asked = await ada.call('GET', `/auth/device?user_code=${body.user_code}`);
    expect(asked.body.client_name).toBe('<b>rasket</b> & „Söhne“');
  });

  it('a network address may begin thirty logins in a quarter of an hour', async () => {
    const answers = await Promise.all(Array.from({ length: 35 }, () => begin()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5);
  });
});
