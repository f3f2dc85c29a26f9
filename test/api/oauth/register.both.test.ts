import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;
const APP = { client_name: 'Desk', redirect_uris: ['https://app.example.com/callback'] };
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';
let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { http: { trusted_proxies: ['127.0.0.0/8'] } } });
});
afterAll(() => scene.close());

let addresses = 0;
/** Registers from an address of its own, so that only the tests of the limit meet it. */
const register = (body: unknown, from = `198.51.${Math.floor(++addresses / 250)}.${addresses % 250}`) =>
  scene.api('POST', '/oauth/register', { body, headers: { 'x-forwarded-for': from } });
const manage = (method: string, path: string, token: string, body?: unknown) =>
  scene.api(method, path, { key: token, ...(body === undefined ? {} : { body }) });

describe('the registration of an app', () => {
  it('returns what was registered, as RFC 7591 defines', async () => {
    const given = {
      ...APP,
      scope: 'emails:read emails:send emails:read',
      client_uri: 'https://app.example.com/',
      logo_uri: 'https://app.example.com/logo.svg',
      software_id: 'desk',
      software_version: '1.0',
      // Clients send fields of RFC 7591, and of later documents.
      application_type: 'native',
      contacts: ['dev@example.com'],
      tos_uri: 'https://app.example.com/tos',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    };
    const { status, body, headers } = await register(given);
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      client_id: expect.stringMatching(/^rkoc_[\w-]{32}$/),
      client_id_issued_at: Math.floor(scene.clock.now() / 1000),
      registration_access_token: expect.stringMatching(/^rkor_[\w-]{32}$/),
      registration_client_uri: `${scene.app.world.origin()}/oauth/register/${body.client_id}`,
      ...APP,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'emails:read emails:send',
      client_uri: given.client_uri,
      logo_uri: given.logo_uri,
      software_id: 'desk',
      software_version: '1.0',
    });
    const rows = await scene.app.world.db.all('select * from oauth_clients');
    expect(JSON.stringify(rows)).not.toContain(body.registration_access_token);
  });

  it.each([
    'https://app.example.com',
    'https://app.example.com:8443/a?b=c',
    'http://127.0.0.1/',
    'http://127.0.0.1:33418/callback',
    'http://[::1]:8080/callback',
    'http://localhost:1/cb?x=1',
    CURSOR,
  ])('accepts the redirect address %s', async (uri) => {
    expect(await register({ ...APP, redirect_uris: [uri] })).toMatchObject({
      status: 201,
      body: { redirect_uris: [uri] },
    });
  });

  it.each([
    'http://app.example.com/callback',
    'http://localhost.evil.example/callback',
    'http://localhost@evil.example/callback',
    'http://127.0.0.1.evil.example/',
    'http://127.0.0.2/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::2]/',
    'http://%6cocalhost/',
    'https://user@app.example.com/',
    'https://user:pw@app.example.com/',
    'https://app.example.com/#here',
    'https://app.example.com\\@evil.example/',
    'https:app.example.com',
    'https:///callback',
    ' https://app.example.com/',
    'https://app.example.com/\n',
    'https://app.exämple.com/',
    "https://app';script-src.example/",
    'https://a,b.example/',
    'https://*.example/',
    'https://a b.example/',
    '//app.example.com/callback',
    '/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'app.example:/callback',
    `${CURSOR}/`,
    `${CURSOR}?x=1`,
    'CURSOR://anysphere.cursor-mcp/oauth/callback',
    `https://app.example.com/${'a'.repeat(2048)}`,
    '',
    7,
  ])('refuses the redirect address %s', async (uri) => {
    const { status, body } = await register({ ...APP, redirect_uris: [APP.redirect_uris[0], uri] });
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri']);
    expect(body.error_description).toMatch(/^redirect_uris\.1 /);
  });

  it('names the setting in the error for an address with a custom scheme', async () => {
    const { body } = await register({ ...APP, redirect_uris: ['app.example:/callback'] });
    expect(body.error_description).toContain('oauth.private_scheme_redirects');
    expect(body.error_description).toContain('app.example:/callback');
  });

  it.each([
    [{ redirect_uris: undefined }, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: Array.from({ length: 11 }, (_, at) => `https://app.example.com/${at}`) }, 'invalid_redirect_uri'],
    [{ client_name: undefined }, 'invalid_client_metadata'],
    [{ client_name: ' ' }, 'invalid_client_metadata'],
    [{ client_name: 'x'.repeat(201) }, 'invalid_client_metadata'],
    [{ client_name: 'Desk\u202eteksaR' }, 'invalid_client_metadata'],
    [{ client_name: 'Rasket\u3164' }, 'invalid_client_metadata'],
    [{ client_name: 'Desk\u2066' }, 'invalid_client_metadata'],
    [{ client_name: 'Desk\n\nRasket itself' }, 'invalid_client_metadata'],
    [{ client_name: 'Ras\u200bket' }, 'invalid_client_metadata'],
    [{ client_name: ['Desk'] }, 'invalid_client_metadata'],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, 'invalid_client_metadata'],
    [{ response_types: ['token'] }, 'invalid_client_metadata'],
    [{ response_types: ['code', 'token'] }, 'invalid_client_metadata'],
    [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    [{ grant_types: ['refresh_token'] }, 'invalid_client_metadata'],
    [{ scope: 'emails:read everything' }, 'invalid_client_metadata'],
    [{ logo_uri: 'javascript:alert(1)' }, 'invalid_client_metadata'],
    [{ logo_uri: 'http://169.254.169.254/' }, 'invalid_client_metadata'],
    [{ client_uri: 'https://user:pw@app.example.com/' }, 'invalid_client_metadata'],
    [{ software_id: 'x'.repeat(256) }, 'invalid_client_metadata'],
  ])('refuses %j', async (more, error) => {
    expect(await register({ ...APP, ...more })).toMatchObject({ status: 400, body: { error } });
  });

  it.each(['', '[]', 'no json', '{"redirect_uris":[],"client_name":"a","client_name":"b"}', '"text"'])(
    'refuses the body %j',
    async (body) => {
      const { status } = await register(body);
      expect(status).toBe(400);
    },
  );

  it('accepts only JSON', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await scene.api('POST', '/oauth/register', { body: 'client_name=Desk', headers });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});

describe('limits of registration', () => {
  it('allow ten an hour from one address, and the error says when the next is allowed', async () => {
    const from = '203.0.113.7';
    for (let made = 0; made < 10; made++) {
      expect((await register(APP, from)).status).toBe(201);
      scene.clock.advance(60_000);
    }
    // A request refused for its metadata is not counted, but is not accepted over the limit either.
    const over = await register(APP, from);
    expect(over).toMatchObject({ status: 429, body: { error: 'invalid_request' } });
    expect(over.headers.get('retry-after')).toBe('3000');
    expect((await register(APP, '203.0.113.8')).status).toBe(201);
    scene.clock.advance(3_000_000);
    expect((await register(APP, from)).status).toBe(201);
    expect((await register(APP, from)).status).toBe(429);
  });

  it('allow ten at once and refuse the eleventh', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => register(APP, '203.0.113.99')));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  });

  it('allow a thousand a day in total', async () => {
    scene.clock.advance(DAY_MS);
    const { db } = scene.app.world;
    const now = scene.clock.now();
    const columns = [
      'client_id',
      'registration_hash',
      'name',
      'redirect_uris',
      'grant_types',
      'address_hash',
      'created_at',
    ];
    const rows = Array.from({ length: 999 }, (_, at) => [`rkoc_${at}`, `h${at}`, 'Many', '[]', '[]', `a${at}`, now]);
    await db.insertMany('oauth_clients', columns, rows);
    expect((await register(APP)).status).toBe(201);
    const over = await register(APP);
    expect(over).toMatchObject({ status: 429, body: { error: 'invalid_request' } });
    expect(over.headers.get('retry-after')).toBe(`${DAY_MS / 1000}`);
    scene.clock.advance(DAY_MS);
    expect((await register(APP)).status).toBe(201);
  });
});

describe('the management of a registration', () => {
  const made = async (more: object = {}) => {
    const { body } = await register({ ...APP, ...more });
    return { path: `/oauth/register/${body.client_id}`, token: body.registration_access_token, body };
  };

  it('reads it without its token', async () => {
    const { path, token, body } = await made({ scope: 'emails:read' });
    const { registration_access_token: _, ...client } = body;
    expect(await manage('GET', path, token)).toMatchObject({ status: 200, body: client });
    expect((await manage('GET', path, token)).body).toEqual(client);
  });

  it('replaces every field, clears omitted ones, and keeps the token', async () => {
    const { path, token, body } = await made({ scope: 'emails:read', logo_uri: 'https://app.example.com/l.png' });
    const other = { client_name: 'Other', redirect_uris: ['http://127.0.0.1:9/cb'] };
    const replaced = await manage('PUT', path, token, { ...other, client_id: body.client_id });
    expect(replaced).toMatchObject({ status: 200, body: { client_id: body.client_id, ...other } });
    for (const name of ['scope', 'logo_uri', 'registration_access_token'])
      expect(replaced.body).not.toHaveProperty(name);
    expect((await manage('GET', path, token)).body).toEqual(replaced.body);
    for (const wrong of [{ registration_access_token: token }, { client_id: 'rkoc_other' }, { client_name: '' }]) {
      expect(await manage('PUT', path, token, { ...other, ...wrong })).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata' },
      });
    }
  });

  it('deletes it with every grant of every team, which get the reason', async () => {
    const oauth = createOauth(scene);
    const { path, token, body } = await made();
    const app = { clientId: body.client_id, registrationToken: token, redirectUri: APP.redirect_uris[0] ?? '' };
    const teams = [await scene.team(), await scene.team()];
    const tokens = [];
    for (const team of teams) {
      const person = await createPeople(scene).person({ team, role: 'owner' });
      tokens.push((await oauth.letIn(person, app)).access_token);
    }
    expect(await manage('DELETE', path, token)).toMatchObject({ status: 200, body: { deleted: true } });
    for (const [at, team] of teams.entries()) {
      expect((await scene.api('GET', '/team', { key: tokens[at] })).status).toBe(401);
      const grants = await scene.api('GET', '/oauth/grants', { key: team.key });
      expect(grants.body.data).toMatchObject([{ client_id: body.client_id, revoked_reason: 'client' }]);
      const audit = await scene.api('GET', '/audit', { key: team.key });
      expect(audit.body.data[0]).toMatchObject({
        action: 'oauth_grant.revoked',
        details: { revoked_reason: 'client' },
      });
    }
    expect((await manage('GET', path, token)).status).toBe(401);
    expect((await oauth.refresh(app, 'rkr_any')).body).toMatchObject({ error: 'invalid_client' });
  });

  it('is refused without its own token, and reveals no other clients', async () => {
    const one = await made();
    const other = await made();
    const team = await scene.team();
    const answers = [];
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const token of [other.token, team.key, 'rkor_unknown', undefined]) {
        answers.push(await scene.api(method, one.path, { key: token, ...(method === 'PUT' ? { body: APP } : {}) }));
      }
      answers.push(await manage(method, '/oauth/register/rkoc_unknown', one.token));
      answers.push(await manage(method, '/oauth/register/%00', one.token));
    }
    for (const { status, body, headers } of answers) {
      expect([status, body.error]).toEqual([401, 'invalid_token']);
      expect(body).toEqual(answers[0]?.body);
      expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    }
    expect((await manage('GET', one.path, one.token)).status).toBe(200);
  });
});

it('an app that nobody has authorized is deleted after a month, and one whose grants have ended after a year', async () => {
  const oauth = createOauth(scene);
  const team = await scene.team();
  const person = await createPeople(scene).person({ team, role: 'owner' });
  const used = await oauth.register();
  await oauth.letIn(person, used);
  const { body } = await register(APP);
  const job = async (name: string) => scene.app.jobs.find((one) => one.name === name)?.run();
  const count = async (table: string) =>
    Number((await scene.app.world.db.get<{ n: number }>(`select count(*) as n from ${table}`))?.n);
  scene.clock.advance(3_600_000);
  await job('remove-expired-oauth');
  expect([await count('oauth_codes'), await count('oauth_consents')]).toEqual([0, 0]);
  // Makes rows older: moving the clock a year would fire every timer of the program.
  const older = (table: string, column: string, days: number) =>
    scene.app.world.db.run(`update ${table} set ${column} = ${column} - ?`, [days * DAY_MS]);
  await older('oauth_clients', 'created_at', 30);
  await job('remove-unused-oauth');
  const find = (id: string) => scene.app.world.db.get('select * from oauth_clients where client_id = ?', [id]);
  expect(await find(body.client_id)).toBeUndefined();
  expect(await find(used.clientId)).toBeDefined();
  const { data } = (await scene.api('GET', '/oauth/grants', { key: team.key })).body;
  await scene.api('DELETE', `/oauth/grants/${data[0].id}`, { key: team.key });
  await job('remove-unused-oauth');
  expect((await scene.api('GET', '/oauth/grants', { key: team.key })).body.data).toHaveLength(1);
  await older('oauth_grants', 'revoked_at', 365);
  await job('remove-unused-oauth');
  expect((await scene.api('GET', '/oauth/grants', { key: team.key })).body.data).toEqual([]);
  expect(await count('oauth_tokens')).toBe(0);
});
