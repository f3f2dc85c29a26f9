import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endAllTokens } from '../../../src/features/identity/oauth/grants.ts';
import { disableUser, enableUser } from '../../../src/tenancy/users/index.ts';
import { answerIn, newVerifier, createOauth, type OauthApp } from '../../rig/oauth.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register();
  owner = await people.person({ team, role: 'owner' });
});
afterAll(() => scene.close());

const origin = () => scene.app.world.origin();
const metadata = (name: string) => `resource_metadata="${origin()}/.well-known/${name}"`;
const call = (token: string, method = 'GET', path = '/team', body?: unknown) =>
  scene.api(method, path, { key: token, ...(body === undefined ? {} : { body }) });
const NOT_VALID = { status: 401, body: { name: 'invalid_api_key' } };
const newestGrant = async (key = team.key) => (await scene.api('GET', '/oauth/grants', { key })).body.data[0];
const newestAudit = async () => (await scene.api('GET', '/audit', { key: team.key })).body.data[0];

describe('OAuth metadata', () => {
  it('names the issuer as its own address, and has what clients require', async () => {
    const { body } = await scene.api('GET', '/.well-known/oauth-authorization-server');
    expect(body).toMatchObject({
      issuer: origin(),
      token_endpoint: `${origin()}/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    });
    expect(body.scopes_supported).toEqual(expect.arrayContaining(['emails:send', 'billing:read', 'ai:use']));
  });

  it.each(['', '/mcp'])('names the resource %j and its authorization server', async (path) => {
    const { body } = await scene.api('GET', `/.well-known/oauth-protected-resource${path}`);
    expect(body).toMatchObject({
      resource: `${origin()}${path}`,
      authorization_servers: [origin()],
      bearer_methods_supported: ['header'],
    });
  });

  it.each([
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/oauth/register',
    '/oauth/token',
    '/oauth/revoke',
  ])('at %s can be fetched by other origins, without cookies', async (path) => {
    const headers = {
      origin: 'https://app.example.com',
      'user-agent': 'Browser',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const preflight = await fetch(scene.url + path, { method: 'OPTIONS', headers });
    expect(preflight.status).toBe(204);
    const { headers: answer } = await fetch(scene.url + path, { headers: { 'user-agent': 'Browser' } });
    for (const { headers: got } of [preflight, { headers: answer }]) {
      expect(got.get('access-control-allow-origin')).toBe('*');
      expect(got.get('access-control-allow-credentials')).toBeNull();
    }
  });

  it('does not open the API itself to other origins', async () => {
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET', 'user-agent': 'B' };
    const answer = await fetch(`${scene.url}/team`, { method: 'OPTIONS', headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });
});

describe('the authorization of an app', () => {
  it('leads through consent to a code and to tokens that reach what their scopes name', async () => {
    const verifier = newVerifier();
    const { visitor, page } = await oauth.asked(owner, app, verifier, { scope: 'team:read emails:send' });
    expect(page.heading).toBe('Authorize Newsletter Desk');
    expect(page.text).toContain('Newsletter Desk');
    expect(page.text).toContain('Send emails from your team’s domains');
    const answer = await visitor.send(page, 'Authorize');
    expect(answer.leadsTo).toMatch(/^https:\/\/app\.example\.com\/callback\?code=rkc_[\w-]{32}&state=state-1&iss=/);
    expect(answerIn(answer).get('iss')).toBe(origin());
    const tokens = await oauth.exchange(app, answerIn(answer).get('code') ?? '', verifier);
    expect(tokens).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3600, scope: 'team:read emails:send' },
    });
    expect(tokens.headers.get('cache-control')).toBe('no-store');
    expect(tokens.body.access_token).toMatch(/^rko_/);
    expect(tokens.body.refresh_token).toMatch(/^rkr_/);
    expect(await call(tokens.body.access_token)).toMatchObject({ status: 200, body: { id: team.id } });
    expect(await newestAudit()).toMatchObject({
      action: 'oauth_grant.allowed',
      subject_id: (await newestGrant()).id,
      actor: { kind: 'user', id: owner.userId },
      details: { client_id: app.clientId, scopes: ['team:read', 'emails:send'] },
    });
  });

  it('that is denied is reported to the app', async () => {
    const { visitor, page } = await oauth.asked(owner, app, newVerifier());
    const answer = answerIn(await visitor.send(page, 'Cancel'));
    expect(Object.fromEntries(answer)).toMatchObject({ error: 'access_denied', state: 'state-1', iss: origin() });
    expect(answer.get('code')).toBeNull();
  });

  it('first asks a signed-out person to sign in, and then returns', async () => {
    const visitor = oauth.visitorOf({ ...owner, headers: { cookie: 'other=1' } });
    const query = oauth.queryOf(app, newVerifier());
    const asked = await visitor.open(`/oauth/authorize?${query}`);
    expect(asked.status).toBe(302);
    const led = await visitor.open(asked.leadsTo ?? '');
    const next = new URL(led.leadsTo ?? '', origin()).searchParams.get('next');
    expect(next).toMatch(/^\/oauth\/consent\?response_type=code&client_id=rkoc_/);
  });

  it('uses the registered scopes of the client if none is requested, or else the read scopes', async () => {
    const registered = await oauth.register({ scope: 'emails:send' });
    expect((await oauth.letIn(owner, registered, { scope: undefined })).scope).toBe('emails:send');
    const { scope } = await oauth.letIn(owner, app, { scope: undefined });
    expect(scope.split(' ').every((name) => name.endsWith(':read'))).toBe(true);
  });

  it('of a client with authorization_code alone gives no refresh token and allows no refresh', async () => {
    const once = await oauth.register({ grant_types: ['authorization_code'] });
    expect(await oauth.letIn(owner, once)).not.toHaveProperty('refresh_token');
    expect(await oauth.refresh(once, 'rkr_x')).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
  });
});

describe('an access token', () => {
  const as = async (scope: string, person = owner) => (await oauth.letIn(person, app, { scope })).access_token;

  it('reaches what the table of credentials says', async () => {
    const read = await as('team:read');
    const write = await as('team:write');
    const every = await as(
      'emails:send emails:read broadcasts:read broadcasts:write billing:read team:read team:write ai:use',
    );
    const change = { ai_assist_enabled: true };
    const table = [];
    for (const token of [read, write, every]) {
      const answers = [
        await call(token),
        await call(token, 'PATCH', '/team', change),
        await call(token, 'GET', '/team/members'),
      ];
      table.push(answers.map(({ status }) => status));
      for (const { status, body } of answers) if (status === 403) expect(body.name).toBe('invalid_permission');
    }
    expect(table).toEqual([
      [200, 403, 403],
      [403, 200, 403],
      [200, 200, 403],
    ]);
    for (const [method, path] of [
      ['GET', '/oauth/grants'],
      ['DELETE', `/oauth/grants/${(await newestGrant()).id}`],
    ] as const) {
      expect(await call(every, method, path)).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    }
  });

  it('without a required scope gets an error that names it, so that the app can request it', async () => {
    const answer = await call(await as('team:read'), 'PATCH', '/team', { ai_assist_enabled: true });
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="team:write", ${metadata('oauth-protected-resource')}`,
    );
  });

  it('that is unknown gets another error than a missing one', async () => {
    const wrong = await call('rko_nobody');
    expect(wrong).toMatchObject(NOT_VALID);
    expect(wrong.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", ${metadata('oauth-protected-resource')}`,
    );
    const none = await scene.api('GET', '/team');
    expect(none.headers.get('www-authenticate')).toBe(`Bearer ${metadata('oauth-protected-resource')}`);
  });

  it('expires after an hour', async () => {
    const token = await as('team:read');
    scene.clock.advance(3_599_000);
    expect((await call(token)).status).toBe(200);
    scene.clock.advance(1000);
    expect(await call(token)).toMatchObject(NOT_VALID);
  });

  it('never reaches more than the current role of its person', async () => {
    const person = await people.person({ team, role: 'admin' });
    const token = await as('team:read team:write', person);
    const { db } = scene.app.world;
    expect((await call(token, 'PATCH', '/team', { ai_assist_enabled: true })).status).toBe(200);
    await db.run("update team_members set role = 'viewer' where id = ?", [person.memberId]);
    const refused = await call(token, 'PATCH', '/team', { ai_assist_enabled: true });
    expect(refused).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    expect(refused.body.message).toContain('the role admin');
    expect((await call(token)).status).toBe(200);
  });

  it('ends with the membership, and does not come back with the person', async () => {
    const person = await people.person({ team, role: 'member' });
    const tokens = await oauth.letIn(person, app);
    const verifier = newVerifier();
    const code = await oauth.codeFor(person, app, verifier);
    expect((await owner.call('DELETE', `/teams/${team.id}/members/${person.memberId}`)).status).toBe(200);
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    const at = new Date(scene.clock.now()).toISOString();
    expect(await newestGrant()).toMatchObject({ revoked_reason: 'membership', revoked_at: at });
    const columns = 'id, team_id, user_id, role, created_at';
    const again = [scene.app.world.ids.uuid(), team.id, person.userId, 'owner', scene.clock.now()];
    await scene.app.world.db.run(`insert into team_members (${columns}) values (?, ?, ?, ?, ?)`, again);
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    expect(await oauth.refresh(app, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    expect(await oauth.exchange(app, code, verifier)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('ends when its person is disabled, and does not come back with them', async () => {
    const person = await people.person({ team, role: 'owner' });
    const tokens = await oauth.letIn(person, app);
    const pending = newVerifier();
    const verifier = newVerifier();
    const code = await oauth.codeFor(person, app, pending);
    await disableUser(scene.app.world, person.email);
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    await enableUser(scene.app.world, person.email);
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    expect((await oauth.refresh(app, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await oauth.exchange(app, code, pending)).body.error).toBe('invalid_grant');
    expect((await newestGrant()).revoked_reason).toBe('operator');
    const again = await people.session(person, team.id);
    expect((await oauth.exchange(app, await oauth.codeFor(again, app, verifier), verifier)).status).toBe(200);
  });

  it('is invalid in a restored copy, and its app asks again', async () => {
    const tokens = await oauth.letIn(owner, app);
    await scene.app.world.db.tx((tx) => endAllTokens(tx));
    expect(await call(tokens.access_token)).toMatchObject(NOT_VALID);
    expect((await oauth.refresh(app, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await oauth.letIn(owner, app)).scope).toBe('team:read');
  });

  it('stays in its team whatever team the session switches to', async () => {
    const other = await scene.team();
    const person = await people.person({ team, role: 'owner' });
    const columns = 'id, team_id, user_id, role, created_at';
    const row = [scene.app.world.ids.uuid(), other.id, person.userId, 'owner', scene.clock.now()];
    await scene.app.world.db.run(`insert into team_members (${columns}) values (?, ?, ?, ?, ?)`, row);
    const { access_token: token } = await oauth.letIn(person, app);
    await scene.app.world.db.run('update sessions set current_team_id = ? where user_id = ?', [
      other.id,
      person.userId,
    ]);
    expect((await call(token)).body.id).toBe(team.id);
  });

  it('is invalid while the team is suspended, and a refresh token is not used up by that', async () => {
    const other = await scene.team();
    const person = await people.person({ team: other, role: 'owner' });
    const tokens = await oauth.letIn(person, app);
    const set = (state: string) =>
      scene.app.world.db.run('update teams set risk_state = ? where id = ?', [state, other.id]);
    await set('suspended');
    expect(await call(tokens.access_token)).toMatchObject({ status: 403, body: { name: 'suspended_api_key' } });
    expect((await oauth.refresh(app, tokens.refresh_token)).body.error).toBe('invalid_grant');
    await set('normal');
    expect((await oauth.refresh(app, tokens.refresh_token)).status).toBe(200);
  });

  it('for /mcp reaches nothing else, and one for the service may be narrowed to it', async () => {
    const mcp = `${origin()}/mcp`;
    const { access_token: token, refresh_token: refreshToken } = await oauth.letIn(owner, app, { resource: mcp });
    expect(await call(token)).toMatchObject({
      ...NOT_VALID,
      body: { message: `This access token is only valid for ${mcp}.` },
    });
    const wide = { resource: `${origin()}/` };
    expect((await oauth.refresh(app, refreshToken, wide)).body.error).toBe('invalid_target');
    const tokens = await oauth.letIn(owner, app, wide);
    expect((await call(tokens.access_token)).status).toBe(200);
    const narrow = await oauth.refresh(app, tokens.refresh_token, { resource: mcp });
    expect(await call(narrow.body.access_token)).toMatchObject(NOT_VALID);
  });
});

describe('a refresh of tokens', () => {
  it('returns a new pair, narrows the scope on request and never widens it', async () => {
    const first = await oauth.letIn(owner, app, { scope: 'team:read emails:read' });
    const second = await oauth.refresh(app, first.refresh_token, { scope: 'emails:read' });
    expect(second).toMatchObject({ status: 200, body: { scope: 'emails:read' } });
    expect((await call(second.body.access_token)).status).toBe(403);
    const wider = await oauth.refresh(app, second.body.refresh_token, { scope: 'emails:read team:write' });
    expect(wider).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    const unknown = await oauth.refresh(app, second.body.refresh_token, { scope: 'everything' });
    expect(unknown).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    const third = await oauth.refresh(app, second.body.refresh_token);
    expect(third.body.scope).toBe('team:read emails:read');
    expect((await call(third.body.access_token)).status).toBe(200);
  });

  it('with a used token revokes the grant, and list and audit log have the reason', async () => {
    const first = await oauth.letIn(owner, app);
    const second = await oauth.refresh(app, first.refresh_token);
    // The row is made older instead of moving the clock, which would fire every timer.
    await scene.app.world.db.run('update oauth_grants set refreshed_at = refreshed_at - 10000');
    const reused = await oauth.refresh(app, first.refresh_token);
    expect(reused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    for (const token of [first.access_token, second.body.access_token])
      expect(await call(token)).toMatchObject(NOT_VALID);
    expect((await oauth.refresh(app, second.body.refresh_token)).body.error).toBe('invalid_grant');
    const grant = await newestGrant();
    expect(grant).toMatchObject({
      revoked_reason: 'refresh_reuse',
      client: { name: 'Newsletter Desk', logo_uri: null },
    });
    expect(await newestAudit()).toMatchObject({
      action: 'oauth_grant.revoked',
      subject_id: grant.id,
      actor: { kind: 'system', name: 'oauth' },
      details: { revoked_reason: 'refresh_reuse' },
    });
  });

  it('leaves two rows however often it is repeated, and any earlier token revokes the grant', async () => {
    const { db } = scene.app.world;
    const first = await oauth.letIn(owner, app);
    const { id } = await newestGrant();
    let pair = first;
    for (let count = 0; count < 25; count++) pair = (await oauth.refresh(app, pair.refresh_token)).body;
    expect(await db.all('select kind from oauth_tokens where grant_id = ?', [id])).toHaveLength(2);
    expect(await call(first.access_token)).toMatchObject(NOT_VALID);
    expect((await call(pair.access_token)).status).toBe(200);
    expect((await oauth.refresh(app, first.refresh_token)).body.error).toBe('invalid_grant');
    expect(await newestGrant()).toMatchObject({ id, revoked_reason: 'refresh_reuse' });
    expect(await call(pair.access_token)).toMatchObject(NOT_VALID);
  });

  it('is allowed 60 times an hour, and a refused one does not use up the token', async () => {
    const first = await oauth.letIn(owner, app);
    const { id } = await newestGrant();
    await scene.app.world.db.run('update oauth_grants set refreshes = 59, refreshes_since = ? where id = ?', [
      scene.clock.now(),
      id,
    ]);
    const last = await oauth.refresh(app, first.refresh_token);
    expect(last.status).toBe(200);
    const many = await oauth.refresh(app, last.body.refresh_token);
    expect(many).toMatchObject({ status: 429, body: { error: 'invalid_request' } });
    expect(Number(many.headers.get('retry-after'))).toBe(3600);
    await scene.app.world.db.run('update oauth_grants set refreshes_since = refreshes_since - 3600000 where id = ?', [
      id,
    ]);
    expect((await oauth.refresh(app, last.body.refresh_token)).status).toBe(200);
  });

  it('ends if nobody has refreshed for oauth.refresh_days', async () => {
    const { refresh_token: token } = await oauth.letIn(owner, app);
    // Rows are made older instead of moving the clock, which would fire every timer.
    await scene.app.world.db.run('update oauth_tokens set expires_at = expires_at - ?', [90 * 24 * 3_600_000]);
    expect((await oauth.refresh(app, token)).body.error).toBe('invalid_grant');
    await scene.app.world.db.run('delete from oauth_tokens where expires_at <= ?', [scene.clock.now()]);
    expect((await oauth.refresh(app, token)).body.error).toBe('invalid_grant');
    // It was old, and not a second use.
    expect((await newestGrant()).revoked_reason).toBe(null);
  });
});

describe('the revocation of a token', () => {
  it('ends an access token alone, or with a refresh token all tokens of its grant, which stays active', async () => {
    const first = await oauth.letIn(owner, app);
    const give = (token: string, clientId = app.clientId) =>
      oauth.form('/oauth/revoke', { token, client_id: clientId, token_type_hint: 'no_such_hint' });
    expect(await give(first.access_token)).toMatchObject({ status: 200, text: '' });
    expect(await call(first.access_token)).toMatchObject(NOT_VALID);
    const second = (await oauth.refresh(app, first.refresh_token)).body;
    const other = await oauth.register();
    expect(await give(second.refresh_token, other.clientId)).toMatchObject({ status: 200, text: '' });
    expect((await call(second.access_token)).status).toBe(200);
    expect(await give(second.refresh_token)).toMatchObject({ status: 200, text: '' });
    expect(await call(second.access_token)).toMatchObject(NOT_VALID);
    expect((await oauth.refresh(app, second.refresh_token)).body.error).toBe('invalid_grant');
    expect(await newestGrant()).toMatchObject({ revoked_at: null, revoked_reason: null });
    expect(await give('rko_unknown', 'rkoc_unknown')).toMatchObject({ status: 200, text: '' });
    expect((await oauth.form('/oauth/revoke', { token: 'x' })).body.error).toBe('invalid_request');
  });
});
