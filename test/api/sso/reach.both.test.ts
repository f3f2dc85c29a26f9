// The provider of one team has no effect on a person's other teams or on the account itself.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeSsoDomain } from '../../../src/features/identity/sso/sso-domains.ts';
import { mailsTo } from '../../rig/mailbox.ts';
import { createOauth, type Tokens } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { asSignedIn, signInBySso, teamWithSso } from '../../rig/sso.ts';
import { startStandInProvider, type StandInProvider } from '../../rig/stand-in-provider.ts';

let scene: Scene;
let people: People;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'], session_hours: 720 } } });
  people = createPeople(scene);
  provider = await startStandInProvider(() => scene.clock.now());
});
afterAll(async () => {
  await provider.close();
  await scene.close();
});

let made = 0;
const REFUSED = /is limited to that team; sign in with your password/;

/** Creates a person of a team, whom the provider of another team vouches for. */
async function personOfTwo() {
  const one = await teamWithSso(scene, people, provider);
  const other = await scene.team();
  const email = `bob${++made}@${one.domain}`;
  const bob = await people.person({ email, team: other, role: 'owner' });
  await scene.app.world.db.run('update users set password_hash = ? where id = ?', [
    await scene.app.world.passwords.hash('long enough'),
    bob.userId,
  ]);
  provider.person = { sub: `subject ${made}`, email, email_verified: true };
  const done = await signInBySso(scene, email);
  expect(done.status).toBe(303);
  return { one, other, bob, browser: done.browser, call: asSignedIn(scene, done.browser) };
}

const fetchIds = async (call: Person['call'], path: string): Promise<string[]> =>
  ((await call('GET', path)).body.data as { id: string }[]).map(({ id }) => id);

describe('a session through the SSO provider of a team', () => {
  it('works in that team alone, and sees no other', async () => {
    const { one, other, bob, call, browser } = await personOfTwo();
    expect((await call('GET', '/auth/session')).body).toMatchObject({
      user: { id: bob.userId },
      current_team: { id: one.team.id },
    });
    expect((await call('GET', '/auth/me')).body.teams).toMatchObject([{ id: one.team.id }]);
    expect(await fetchIds(call, '/teams')).toEqual([one.team.id]);
    const moved = await call('POST', `/teams/${other.id}/switch`);
    expect([moved.status, moved.body.message]).toEqual([403, expect.stringMatching(REFUSED)]);
    // This is the state that an earlier release left.
    const { db } = scene.app.world;
    await db.run('update sessions set current_team_id = ? where sso_team_id = ?', [other.id, one.team.id]);
    expect((await call('GET', '/domains')).status).toBe(403);
    expect((await call('GET', '/auth/session')).body.current_team).toBeNull();
    expect((await call('POST', `/teams/${one.team.id}/switch`)).status).toBe(200);
    expect((await call('GET', '/domains')).status).toBe(200);
    const page = await browser.get(`${scene.url}/account`);
    expect(page.text).toContain('gives access to this team only');
    expect(page.text).not.toContain(other.id);
    // A sign-in by password reaches both.
    expect((await fetchIds(bob.call, '/teams')).toSorted()).toEqual([one.team.id, other.id].toSorted());
  });

  it('sees and ends the access of apps in that team alone', async () => {
    const { one, other, bob, browser } = await personOfTwo();
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const here = await people.session({ userId: bob.userId, email: bob.email, memberId: '' }, one.team.id);
    await oauth.letIn(here, app);
    await oauth.letIn(bob, app);
    const { db } = scene.app.world;
    const sql = 'select id from oauth_grants where user_id = ? and team_id = ?';
    const grantIn = async (teamId: string) => (await db.get<{ id: string }>(sql, [bob.userId, teamId]))?.id ?? '';
    const ofOne = await grantIn(one.team.id);
    const ofOther = await grantIn(other.id);
    const { text } = await browser.get(`${scene.url}/account/apps`);
    expect([text.includes(ofOne), text.includes(ofOther)]).toEqual([true, false]);
  });

  it('cannot change password or second factor, or create a team', async () => {
    const { call, bob } = await personOfTwo();
    const password = { current_password: 'long enough', password: 'even longer than that' };
    const refused = [
      await call('POST', '/auth/password', password),
      await call('POST', '/auth/mfa/enrol'),
      await call('POST', '/auth/mfa/confirm', { code: '123456', password: 'long enough' }),
      await call('POST', '/auth/mfa/disable', { code: '123456' }),
      await call('POST', '/auth/mfa/recovery-codes', { code: '123456' }),
      await call('POST', '/teams', { name: 'Mine' }),
    ];
    expect(refused.map(({ status, body }) => [status, REFUSED.test(body.message)])).toEqual(
      Array(refused.length).fill([403, true]),
    );
    expect((await bob.call('POST', '/auth/password', password)).status).toBe(200);
  });

  it('can neither see nor end the person’s other sessions', async () => {
    const { call, bob } = await personOfTwo();
    const [own, ...more] = await fetchIds(call, '/auth/sessions');
    expect([own, more]).toEqual([expect.any(String), []]);
    const all = await fetchIds(bob.call, '/auth/sessions');
    expect(all).toHaveLength(2);
    const elsewhere = all.find((id) => id !== own);
    expect((await call('DELETE', `/auth/sessions/${elsewhere}`)).status).toBe(404);
    expect((await call('POST', '/auth/logout', { all: true })).status).toBe(200);
    expect((await call('GET', '/auth/me')).status).toBe(401);
    expect((await bob.call('GET', '/auth/me')).status).toBe(200);
  });

  it('cannot accept an invitation to another team', async () => {
    const { call, bob } = await personOfTwo();
    const inviting = await scene.team();
    await inviting.domain();
    const owner = await people.person({ team: inviting, role: 'owner' });
    const invited = { email: bob.email, role: 'admin' };
    expect((await owner.call('POST', `/teams/${inviting.id}/invitations`, invited)).status).toBe(201);
    await scene.settled();
    const [, token] = /token=(ri_[\w-]+)/.exec(mailsTo(scene, bob.email).at(-1) ?? '') ?? [];
    const answer = await call('POST', '/invitations/accept', { token });
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringMatching(REFUSED)]);
    expect((await bob.call('POST', '/invitations/accept', { token })).status).toBe(200);
  });

  it('can sign in a program for that team alone, which ends with it', async () => {
    const { one, other, call, bob } = await personOfTwo();
    const begun = (await scene.api('POST', '/auth/device', { body: { client_name: 'rasket on a-laptop' } })).body;
    expect((await call('POST', '/auth/device/approve', { user_code: begun.user_code })).status).toBe(200);
    const { token: key } = (await scene.api('POST', '/auth/device/token', { body: { device_code: begun.device_code } }))
      .body;
    const byProgram = (method: string, path: string, body?: unknown) =>
      scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
    expect((await byProgram('GET', '/auth/session')).body.current_team.id).toBe(one.team.id);
    expect((await byProgram('POST', `/teams/${other.id}/switch`)).status).toBe(403);
    const { data } = (await one.owner.call('GET', `/teams/${one.team.id}/members`)).body;
    const id = (data as { id: string; email: string }[]).find(({ email }) => email === bob.email)?.id;
    expect((await one.owner.call('DELETE', `/teams/${one.team.id}/members/${id}/sso`)).status).toBe(200);
    expect((await byProgram('GET', '/auth/session')).status).toBe(401);
  });
});

describe('an SSO domain whose record is missing', () => {
  const DAY_MS = 24 * 3_600_000;
  const recheck = () => scene.app.jobs.find(({ name }) => name === 'recheck-sso-domains')?.run();
  const lookAgain = async () => {
    scene.clock.advance(DAY_MS);
    await recheck();
  };
  const fetchState = async ({ one }: Awaited<ReturnType<typeof personOfTwo>>) =>
    (await one.owner.call('GET', `/teams/${one.team.id}/sso`)).body.domains[0];
  const isIn = async ({ call }: Awaited<ReturnType<typeof personOfTwo>>) =>
    (await call('GET', '/auth/session')).status === 200;

  it('stays proven for a grace period, and then its sessions and apps end', async () => {
    const given = await personOfTwo();
    const other = await personOfTwo();
    const app = await createOauth(scene).register();
    const listGrants = async (teamId: string): Promise<unknown[]> =>
      scene.app.world.db.all('select id from oauth_grants where team_id = ? and revoked_at is null', [teamId]);
    const member = { userId: given.bob.userId, email: given.bob.email, memberId: '' };
    await createOauth(scene).letIn(await people.session(member, given.one.team.id), app);
    await createOauth(scene).letIn(given.bob, app);
    const { record } = await fetchState(given);
    scene.dns.set(record.name, 'TXT', []);
    for (const _day of [1, 2]) await lookAgain();
    expect(await fetchState(given)).toMatchObject({ status: 'verified', diagnosis: expect.stringContaining('no TXT') });
    scene.dns.set(record.name, 'TXT', [[record.value]]);
    await lookAgain();
    expect(await fetchState(given)).toMatchObject({ status: 'verified', diagnosis: null });
    scene.dns.set(record.name, 'TXT', [['rasket-sso=of somebody else']]);
    for (const _day of [1, 2, 3]) await lookAgain();
    expect([await isIn(given), (await fetchState(given)).status]).toEqual([true, 'verified']);
    await lookAgain();
    expect(await fetchState(given)).toMatchObject({
      status: 'pending',
      diagnosis: expect.stringContaining('a different value'),
    });
    expect([await isIn(given), await isIn(other), (await fetchState(other)).status]).toEqual([false, true, 'verified']);
    expect((await given.bob.call('GET', '/auth/me')).status).toBe(200);
    expect([(await listGrants(given.one.team.id)).length, (await listGrants(given.other.id)).length]).toEqual([0, 1]);
    const audit = (await given.one.owner.call('GET', '/audit')).body.data as { action: string; details: unknown }[];
    expect(audit.filter(({ action }) => action === 'team_sso.domain_lost')).toMatchObject([
      { details: { domain: given.one.domain } },
    ]);
    await lookAgain();
    expect((await signInBySso(scene, given.bob.email)).status).toBe(404);
  });

  it('stays proven while DNS does not answer', async () => {
    const given = await personOfTwo();
    const { record } = await fetchState(given);
    scene.dns.set(record.name, 'TXT', 'SERVFAIL');
    for (const _day of [1, 2, 3, 4, 5]) await lookAgain();
    expect(await fetchState(given)).toMatchObject({ status: 'verified', diagnosis: null });
  });

  it('can be removed by an operator, and then requires another record', async () => {
    const given = await personOfTwo();
    const { world } = scene.app;
    const before = await fetchState(given);
    await expect(takeSsoDomain(world, given.one.team.id, 'other.example')).rejects.toThrow('not found');
    expect((await takeSsoDomain(world, given.one.team.id, given.one.domain.toUpperCase())).id).toBe(given.one.team.id);
    expect([await isIn(given), await fetchState(given)]).toEqual([false, undefined]);
    const again = await given.one.owner.call('POST', `/teams/${given.one.team.id}/sso/domains`, {
      domain: given.one.domain,
    });
    expect(again.body.record.value).not.toBe(before.record.value);
  });

  it('loses the apps of a person in this team when the person is unlinked', async () => {
    const { one, bob } = await personOfTwo();
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const here = await people.session({ userId: bob.userId, email: bob.email, memberId: '' }, one.team.id);
    const inOne = await oauth.letIn(here, app);
    const inOther = await oauth.letIn(bob, app);
    const { data } = (await one.owner.call('GET', `/teams/${one.team.id}/members`)).body;
    const id = (data as { id: string; email: string }[]).find(({ email }) => email === bob.email)?.id;
    expect((await one.owner.call('DELETE', `/teams/${one.team.id}/members/${id}/sso`)).status).toBe(200);
    const fetchStatus = async ({ access_token: key }: Tokens) => (await scene.api('GET', '/team', { key })).status;
    expect([await fetchStatus(inOne), await fetchStatus(inOther)]).toEqual([401, 200]);
  });
});
