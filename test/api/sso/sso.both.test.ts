import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { teamsOfLastWayIn } from '../../../src/tenancy/members/index.ts';
import { stopEnforcingSso } from '../../../src/features/identity/sso/sso-connection.ts';
import { disableUser } from '../../../src/tenancy/users/index.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { proveDomain } from '../../rig/sso.ts';
import { startStandInProvider, type StandInProvider, type Wrongs } from '../../rig/stand-in-provider.ts';

let scene: Scene;
let people: People;
let provider: StandInProvider;
beforeAll(async () => {
  scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
  people = createPeople(scene);
  provider = await startStandInProvider(() => scene.clock.now());
  given.issuer = provider.issuer;
});
afterAll(async () => {
  await provider.close();
  await scene.close();
});

const refusal = ({ status, body }: { status: number; body: { name?: string } }) =>
  status < 300 ? `${status}` : `${status} ${body.name}`;
const secret = 'very secret indeed';
const given = { issuer: '', client_id: 'rasket', client_secret: secret };

async function ownTeam() {
  const team = await scene.team();
  const owner = await people.person({ team, role: 'owner' });
  const at = `/teams/${team.id}/sso`;
  return { team, owner, at };
}

/** Records that somebody has signed in through it; another file tests the sign-in. */
const tested = ({ id }: Team) =>
  scene.app.world.db.run('update sso_connections set tested_at = ? where team_id = ?', [scene.clock.now(), id]);
const withPassword = async ({ userId }: Person) =>
  scene.app.world.db.run('update users set password_hash = ? where id = ?', [
    await scene.app.world.passwords.hash('long enough'),
    userId,
  ]);

async function enforcedTeam() {
  const made = await ownTeam();
  const { owner, team, at } = made;
  const domain = `${team.id}.example.net`;
  await owner.call('PUT', at, given);
  await proveDomain(scene, owner, team, domain);
  await tested(team);
  await withPassword(owner);
  await owner.call('PATCH', `/teams/${team.id}/members/${owner.memberId}`, { sso_exempt: true });
  const put = await owner.call('PUT', at, { ...given, enforced: true });
  expect(put.body).toMatchObject({ enforced: true, status: 'active' });
  return { ...made, domain };
}

describe('the SSO connection', () => {
  it('can be set up, is shown without its secret, and can be removed', async () => {
    const { team, owner, at } = await ownTeam();
    expect(refusal(await owner.call('GET', at))).toBe('404 not_found');
    expect((await owner.call('GET', '/team')).body.sso).toBeNull();
    const put = await owner.call('PUT', at, given);
    expect(put.body).toMatchObject({
      object: 'sso_connection',
      status: 'no_domain',
      issuer: given.issuer,
      client_id: 'rasket',
      enforced: false,
      default_role: 'member',
      domains: [],
      tested_at: null,
      redirect_uri: `${scene.url}/auth/sso/callback`,
    });
    expect((await owner.call('GET', at)).body).toEqual(put.body);
    const sso = { status: 'no_domain', issuer: given.issuer, client_id: 'rasket', enforced: false, domains: [] };
    expect((await scene.api('GET', '/team', { key: team.key })).body.sso).toEqual(sso);
    expect((await owner.call('GET', '/teams')).body.data[0].sso).toEqual(sso);
    const rows = await scene.app.world.db.all('select * from sso_connections where team_id = ?', [team.id]);
    expect(JSON.stringify([put.text, rows, scene.log])).not.toContain(secret);
    const audit = await owner.call('GET', '/audit');
    expect(audit.text).toContain('team_sso.updated');
    expect(audit.text).not.toContain(secret);
    expect((await owner.call('DELETE', at)).body).toEqual({ object: 'sso_connection', deleted: true });
    expect(refusal(await owner.call('GET', at))).toBe('404 not_found');
  });

  it('can be read by admins and changed by owners, in the team of the session, and not with a key', async () => {
    const { team, owner, at } = await ownTeam();
    await owner.call('PUT', at, given);
    const said: string[] = [];
    for (const role of ['viewer', 'member', 'admin'] as const) {
      const person = await people.person({ team, role });
      const calls = [
        await person.call('GET', at),
        await person.call('PUT', at, given),
        await person.call('DELETE', at),
        await person.call('POST', `${at}/domains`, { domain: 'a.example' }),
        await person.call('DELETE', `${at}/domains/a.example`),
        await person.call('POST', `${at}/domains/a.example/verify`),
      ];
      said.push(calls.map(({ status }) => status).join(' '));
    }
    expect(said).toEqual(['403 403 403 403 403 403', '403 403 403 403 403 403', '200 403 403 403 403 403']);
    expect(refusal(await scene.api('GET', at, { key: team.key }))).toBe('403 invalid_permission');
    const other = await ownTeam();
    expect(refusal(await other.owner.call('GET', at))).toBe('404 not_found');
  });

  it.each([
    [{ issuer: 'http://id.example.com' }, '422 invalid_parameter', /http is only allowed for 127\.0\.0\.1/],
    [{ issuer: 'http://127.0.0.1.example.com' }, '422 invalid_parameter', /http is only allowed for 127/],
    [{ issuer: 'https://10.1.2.3' }, '422 invalid_parameter', /sso\.allow_private/],
    [{ issuer: 'https://[::1]' }, '422 invalid_parameter', /sso\.allow_private/],
    [{ issuer: 'https://0x0a010203' }, '422 invalid_parameter', /10\.1\.2\.3/],
    [{ issuer: 'file:///etc/passwd' }, '422 invalid_parameter', /https URL/],
    [{ issuer: 'https://a:b@id.example.com' }, '422 invalid_parameter', /password/],
    [
      { issuer: 'https://id.example.com/realm/.well-known/openid-configuration' },
      '422 invalid_parameter',
      /issuer must not include \/\.well-known\/openid-configuration; send https:\/\/id\.example\.com\/realm\.$/,
    ],
    [{ issuer: 'https://id.example.com/?tenant=1' }, '422 invalid_parameter', /query/],
    [{ issuer: 'https://id.example.com/#a' }, '422 invalid_parameter', /fragment/],
    [{ client_id: 'a\nb' }, '400 validation_error', /client_id/],
    [{ client_secret: '' }, '400 validation_error', /client_secret must have 1 to 4096/],
    [{ client_secret: undefined }, '422 invalid_parameter', /client_secret is required/],
    [{ default_role: 'owner' }, '400 validation_error', /viewer or member/],
  ])('with %j is refused', async (wrong, name, says) => {
    const { owner, at } = await ownTeam();
    const answer = await owner.call('PUT', at, { ...given, ...wrong });
    expect(refusal(answer)).toBe(name);
    expect(answer.body.message).toMatch(says);
  });

  it.each([
    [{ serve: { path: '/.well-known/openid-configuration', answer: (r) => r.writeHead(503).end() } }, /answered 503/],
    [{ serve: { path: '/.well-known/openid-configuration', answer: (r) => r.end('<html>') } }, /is not JSON/],
    [{ discovery: { issuer: 'https://other.example' } }, /reports the issuer "https:\/\/other\.example"/],
    [{ discovery: { token_endpoint: undefined } }, /token_endpoint of the provider is missing/],
    [{ discovery: { id_token_signing_alg_values_supported: ['HS256'] } }, /signs with HS256/],
  ] satisfies [Wrongs, RegExp][])('a connection names issuer as the fault if discovery has %j', async (wrong, says) => {
    const { owner, at } = await ownTeam();
    provider.wrong = wrong;
    const refused = await owner.call('PUT', at, given);
    provider.wrong = {};
    expect(refusal(refused)).toBe('422 invalid_parameter');
    expect(refused.body).toMatchObject({ errors: [{ path: 'issuer' }], message: expect.stringMatching(says) });
    expect(refused.body.message).toMatch(/^issuer is not a usable OpenID Connect provider: /);
    expect(refusal(await owner.call('GET', at))).toBe('404 not_found');
  });

  it('the SSO connection names issuer as the fault if nobody answers there', async () => {
    const { owner, at } = await ownTeam();
    const refused = await owner.call('PUT', at, { ...given, issuer: 'http://127.0.0.1:3' });
    expect(refusal(refused)).toBe('422 invalid_parameter');
    expect(refused.body.message).toMatch(/127\.0\.0\.1:3: .*; check the URL, and that this server can reach it\.$/);
  });

  it('the SSO connection can stop being enforced while the provider is down', async () => {
    const { owner, at } = await enforcedTeam();
    provider.wrong = { serve: { path: '/.well-known/openid-configuration', answer: (r) => r.writeHead(503).end() } };
    const put = await owner.call('PUT', at, { issuer: given.issuer, client_id: given.client_id, enforced: false });
    provider.wrong = {};
    expect([put.status, put.body.enforced]).toEqual([200, false]);
  });

  it('keeps its secret if none is given, and another issuer or client makes it a new connection', async () => {
    const { team, owner, at } = await ownTeam();
    await owner.call('PUT', at, given);
    await tested(team);
    const { client_secret: _, ...without } = given;
    expect((await owner.call('PUT', at, { ...without, default_role: 'viewer' })).body).toMatchObject({
      default_role: 'viewer',
      tested_at: expect.any(String) as string,
    });
    expect(refusal(await owner.call('PUT', at, { ...without, client_id: 'other' }))).toBe('422 invalid_parameter');
    expect((await owner.call('PUT', at, { ...given, client_id: 'other' })).body.tested_at).toBeNull();
  });
});

describe('SSO domains', () => {
  it('are proven by a TXT record, and stay proven while it is missing for a moment', async () => {
    const { team, owner, at } = await ownTeam();
    const domain = `${team.id}.example.com`;
    expect(refusal(await owner.call('POST', `${at}/domains`, { domain }))).toBe('404 not_found');
    await owner.call('PUT', at, given);
    const added = await owner.call('POST', `${at}/domains`, { domain: domain.toUpperCase() });
    expect(added.body).toMatchObject({ domain, status: 'pending', diagnosis: null, verified_at: null });
    expect((await owner.call('POST', `${at}/domains`, { domain })).body).toEqual(added.body);
    const verify = async () => (await owner.call('POST', `${at}/domains/${domain}/verify`)).body;
    expect(await verify()).toMatchObject({ status: 'pending', diagnosis: expect.stringContaining('no TXT record') });
    scene.dns.set(added.body.record.name, 'TXT', [['rasket-sso=something else']]);
    expect(await verify()).toMatchObject({
      status: 'pending',
      diagnosis: expect.stringContaining('a different value'),
    });
    scene.dns.set(added.body.record.name, 'TXT', [['v=spf1 -all'], [added.body.record.value]]);
    const verifications = async () =>
      (await owner.call('GET', '/audit')).text.split('"team_sso.domain_verified"').length - 1;
    expect(await verifications()).toBe(0);
    expect(await verify()).toMatchObject({ status: 'verified', diagnosis: null });
    expect(await verifications()).toBe(1);
    scene.dns.set(added.body.record.name, 'TXT', []);
    expect((await verify()).status).toBe('verified');
    expect((await owner.call('GET', '/team')).body.sso).toMatchObject({ status: 'untested', domains: [domain] });
    expect((await owner.call('DELETE', `${at}/domains/${domain}`)).body.deleted).toBe(true);
    expect(refusal(await owner.call('DELETE', `${at}/domains/${domain}`))).toBe('404 not_found');
  });

  it('belong to one team once they are proven', async () => {
    const first = await ownTeam();
    const second = await ownTeam();
    const domain = `${first.team.id}.example.com`;
    for (const { owner, at } of [first, second]) await owner.call('PUT', at, given);
    expect((await proveDomain(scene, first.owner, first.team, domain)).body.status).toBe('verified');
    const taken = await proveDomain(scene, second.owner, second.team, domain);
    expect(refusal(taken)).toBe('409 resource_locked');
    await first.owner.call('DELETE', `${first.at}/domains/${domain}`);
    expect((await second.owner.call('POST', `${second.at}/domains/${domain}/verify`)).body.status).toBe('verified');
  });

  it('are limited in number and checked for their form', async () => {
    const { owner, at } = await ownTeam();
    await owner.call('PUT', at, given);
    for (const domain of ['a b.example', 'ada@example.com', '*.example.com', 'com', `${'a.'.repeat(123)}example`])
      expect(`${domain} ${refusal(await owner.call('POST', `${at}/domains`, { domain }))}`).toMatch(/ 4\d\d /);
    for (let n = 0; n < 50; n++) await owner.call('POST', `${at}/domains`, { domain: `d${n}.example.com` });
    const more = await owner.call('POST', `${at}/domains`, { domain: 'more.example.com' });
    expect([refusal(more), more.body.message]).toEqual([
      '422 validation_error',
      'Single sign-on has at most 50 domains.',
    ]);
  });
});

describe('enforcing SSO', () => {
  it('reports everything that is missing, until nothing is', async () => {
    const { team, owner, at } = await ownTeam();
    const enforce = async () => (await owner.call('PUT', at, { ...given, enforced: true })).body.message as string;
    expect(await enforce()).toMatch(/no domain is verified.*nobody has signed in.*no owner with a password is exempt/);
    expect(refusal(await owner.call('GET', at))).toBe('404 not_found');
    await owner.call('PUT', at, given);
    await proveDomain(scene, owner, team, `${team.id}.example.com`);
    expect(await enforce()).toMatch(/yet: nobody has signed in/);
    await tested(team);
    expect(await enforce()).toMatch(/yet: no owner with a password/);
    await owner.call('PATCH', `/teams/${team.id}/members/${owner.memberId}`, { sso_exempt: true });
    expect(await enforce()).toMatch(/yet: no owner with a password/);
    await withPassword(owner);
    expect(await enforce()).toBeUndefined();
  });

  it('ends password sessions of the team at once, except those of exempt people', async () => {
    const { team, owner } = await enforcedTeam();
    const member = await people.person({ team, role: 'member' });
    const other = await scene.team();
    const db = scene.app.world.db;
    await db.insertMany(
      'team_members',
      ['id', 'team_id', 'user_id', 'role', 'created_at'],
      [[crypto.randomUUID(), other.id, member.userId, 'member', scene.clock.now()]],
    );
    expect((await owner.call('GET', '/domains')).status).toBe(200);
    expect(refusal(await member.call('GET', '/domains'))).toBe('403 invalid_permission');
    expect((await member.call('GET', '/auth/session')).body.current_team).toBeNull();
    expect((await member.call('GET', '/auth/me')).body).toMatchObject({ current_team_id: null });
    const moved = await member.call('POST', `/teams/${team.id}/switch`);
    expect([refusal(moved), moved.body.message]).toEqual([
      '403 invalid_permission',
      `This team enforces single sign-on; sign in through its provider: ${scene.url}/auth/sso/start`,
    ]);
    expect((await member.call('POST', `/teams/${other.id}/switch`)).status).toBe(200);
    // A key is not a person.
    expect((await scene.api('GET', '/domains', { key: team.key })).status).toBe(200);
    const stranger = await people.person();
    expect(refusal(await stranger.call('POST', `/teams/${team.id}/switch`))).toBe('404 not_found');
  });

  it('cannot lose its last exempt owner or its last domain', async () => {
    const { team, owner, at, domain } = await enforcedTeam();
    const place = `/teams/${team.id}/members/${owner.memberId}`;
    const second = await people.person({ team, role: 'owner' });
    for (const answer of [
      await owner.call('PATCH', place, { sso_exempt: false }),
      await owner.call('PATCH', place, { role: 'admin' }),
      await owner.call('PATCH', place, { role: 'admin', sso_exempt: false }),
      await owner.call('DELETE', place),
      await owner.call('DELETE', `${at}/domains/${domain}`),
    ])
      expect(refusal(answer)).toBe('409 resource_locked');
    expect((await owner.call('GET', place)).body).toMatchObject({ role: 'owner', sso_exempt: true });
    await withPassword(second);
    await owner.call('PATCH', `/teams/${team.id}/members/${second.memberId}`, { sso_exempt: true });
    expect((await owner.call('PATCH', place, { sso_exempt: false })).body.sso_exempt).toBe(false);
    // From this moment on the session that began with a password is refused.
    expect(refusal(await owner.call('GET', place))).toBe('403 invalid_permission');
    expect((await second.call('DELETE', at)).status).toBe(200);
    expect((await owner.call('GET', place)).status).toBe(200);
  });

  it('names the teams that a disabled owner leaves without access', async () => {
    const { team, owner } = await enforcedTeam();
    const { world } = scene.app;
    const left = async () => (await teamsOfLastWayIn(world.db, owner.userId)).map(({ name }) => name);
    const named = (await owner.call('GET', '/team')).body.name as string;
    expect(await left()).toEqual([named]);
    const second = await people.person({ team, role: 'owner' });
    await owner.call('PATCH', `/teams/${team.id}/members/${second.memberId}`, { sso_exempt: true });
    expect(await left()).toEqual([named]);
    await withPassword(second);
    expect(await left()).toEqual([]);
    await disableUser(world, second.email);
    expect(await left()).toEqual([named]);
    await stopEnforcingSso(world, team.id);
    expect(await left()).toEqual([]);
  });

  it('can be switched off by an operator, as a last resort', async () => {
    const { team, owner, at } = await enforcedTeam();
    const { world } = scene.app;
    expect((await stopEnforcingSso(world, team.id)).id).toBe(team.id);
    expect((await owner.call('GET', at)).body).toMatchObject({ enforced: false, status: 'active' });
    await expect(stopEnforcingSso(world, team.id)).rejects.toThrow('does not enforce single sign-on');
    await expect(stopEnforcingSso(world, 'nobody')).rejects.toThrow('not found');
  });

  it('keeps one exempt owner when two leave at once', async () => {
    for (let round = 0; round < 5; round++) {
      const { team, owner } = await enforcedTeam();
      const second = await people.person({ team, role: 'owner' });
      await withPassword(second);
      const place = ({ memberId }: Person) => `/teams/${team.id}/members/${memberId}`;
      await owner.call('PATCH', place(second), { sso_exempt: true });
      const both = [owner, second].map((one) => one.call('PATCH', place(one), { sso_exempt: false }));
      expect((await Promise.all(both)).map(refusal).toSorted()).toEqual(['200', '409 resource_locked']);
    }
  });

  it('can have only owners exempt', async () => {
    const { team, owner } = await ownTeam();
    const admin = await people.person({ team, role: 'admin' });
    const place = `/teams/${team.id}/members/${admin.memberId}`;
    expect(refusal(await admin.call('PATCH', place, { sso_exempt: true }))).toBe('403 invalid_permission');
    expect(refusal(await admin.call('PATCH', place, {}))).toBe('400 validation_error');
    expect((await owner.call('PATCH', place, { sso_exempt: true, role: 'viewer' })).body).toMatchObject({
      sso_exempt: true,
      role: 'viewer',
    });
  });
});
