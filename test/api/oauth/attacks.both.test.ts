import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../../rig/api.ts';
import { answerIn, newVerifier, createOauth, REDIRECT_URI, type OauthApp } from '../../rig/oauth.ts';
import { PageVisitor } from '../../rig/page-visitor.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSecondPort } from '../../rig/second-port.ts';

let scene: Scene;
let team: Team;
let people: People;
let oauth: ReturnType<typeof createOauth>;
let app: OauthApp;
let owner: Person;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  people = createPeople(scene);
  oauth = createOauth(scene);
  app = await oauth.register({ redirect_uris: [REDIRECT_URI, 'http://[::1]:8080/cb', 'http://127.0.0.1:8080/cb?a=b'] });
  owner = await people.person({ team, role: 'owner' });
});
afterAll(() => scene.close());

const origin = () => scene.app.world.origin();
const bad = (error: string) => ({ status: 400, body: { error } });
const statusWith = async (token: string) => (await scene.api('GET', '/team', { key: token })).status;
const reasons = async () =>
  (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data.map(
    (grant: { revoked_reason: string }) => grant.revoked_reason,
  );
/** Makes the rows older instead of moving the clock, which would fire every timer. */
const endGrace = () => scene.app.world.db.run('update oauth_grants set refreshed_at = refreshed_at - 10000');
const visitor = () => new PageVisitor(scene);
const authorize = (query: string) => oauth.visitorOf(owner).open(`/oauth/authorize?${query}`);

describe('an authorization code', () => {
  it('that is used a second time revokes the grant and all its tokens', async () => {
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    const first = await oauth.exchange(app, code, verifier);
    expect(first.status).toBe(200);
    expect(await oauth.exchange(app, code, verifier)).toMatchObject(bad('invalid_grant'));
    expect(await statusWith(first.body.access_token)).toBe(401);
    expect((await oauth.refresh(app, first.body.refresh_token)).body.error).toBe('invalid_grant');
    expect((await reasons())[0]).toBe('code_reuse');
  });

  it('that is used at once on two servers gives one pair, which is then revoked', async () => {
    const port = await startSecondPort(scene, {});
    try {
      const second = createApi(`http://127.0.0.1:${port.port}`);
      for (let round = 0; round < scaled(3); round++) {
        const verifier = newVerifier();
        const code = await oauth.codeFor(owner, app, verifier);
        const fields = {
          grant_type: 'authorization_code',
          client_id: app.clientId,
          code,
          redirect_uri: app.redirectUri,
        };
        const body = new URLSearchParams({ ...fields, code_verifier: verifier }).toString();
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        const send = (api: typeof second) => api('POST', '/oauth/token', { body, headers });
        const answers = await Promise.all([send(scene.api), send(second), send(scene.api)]);
        const pairs = answers.filter(({ status }) => status === 200);
        expect(pairs).toHaveLength(1);
        expect(await statusWith(pairs[0]?.body.access_token)).toBe(401);
        expect((await reasons())[0]).toBe('code_reuse');
      }
    } finally {
      await port.close(0);
    }
  });

  it('with another client, redirect address or verifier is refused and not used up', async () => {
    const other = await oauth.register();
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    expect(await oauth.exchange(other, code, verifier)).toMatchObject(bad('invalid_grant'));
    for (const uri of [`${REDIRECT_URI}/`, 'http://[::1]:8080/cb']) {
      expect(await oauth.exchange(app, code, verifier, { redirect_uri: uri })).toMatchObject(bad('invalid_grant'));
    }
    expect(await oauth.exchange(app, code, newVerifier())).toMatchObject(bad('invalid_grant'));
    expect(await oauth.exchange({ ...app, clientId: 'rkoc_unknown' }, code, verifier)).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    expect((await oauth.exchange(app, code, verifier)).status).toBe(200);
  });

  it('expires after five minutes', async () => {
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    scene.clock.advance(5 * 60_000);
    expect(await oauth.exchange(app, code, verifier)).toMatchObject(bad('invalid_grant'));
  });

  it.each([
    [42, 400],
    [43, 200],
    [128, 200],
    [129, 400],
  ])('with a verifier of %i characters returns %i', async (length, status) => {
    const verifier = 'aB3-._~x'.repeat(20).slice(0, length);
    const code = await oauth.codeFor(owner, app, verifier);
    const answer = await oauth.exchange(app, code, verifier);
    expect(answer.status).toBe(status);
    if (status !== 200) expect(answer.body.error).toBe('invalid_request');
  });

  it.each(['code', 'redirect_uri', 'code_verifier', 'client_id', 'grant_type'])(
    'without %s returns invalid_request',
    async (name) => {
      const verifier = newVerifier();
      expect(await oauth.exchange(app, 'rkc_x', verifier, { [name]: '' })).toMatchObject(bad('invalid_request'));
    },
  );
});

describe('an authorization request', () => {
  it.each<[string, Record<string, string | undefined>]>([
    ['unsupported_response_type', { response_type: 'token' }],
    ['invalid_request', { response_type: undefined }],
    ['invalid_request', { code_challenge: undefined }],
    ['invalid_request', { code_challenge_method: undefined }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge: 'a'.repeat(42) }],
    ['invalid_request', { code_challenge: 'a'.repeat(44) }],
    ['invalid_request', { code_challenge: `${'a'.repeat(42)}=` }],
    ['invalid_request', { state: undefined }],
    ['invalid_request', { state: 's'.repeat(513) }],
    ['invalid_scope', { scope: 'emails:read everything' }],
    ['invalid_target', { resource: 'https://elsewhere.example' }],
    ['invalid_target', { resource: 'mcp' }],
  ])('returns %s to the app for %j', async (error, more) => {
    const answer = await authorize(oauth.queryOf(app, newVerifier(), more));
    expect(answer.status).toBe(302);
    expect(answer.leadsTo).toMatch(/^https:\/\/app\.example\.com\/callback\?error=/);
    const told = answerIn(answer);
    expect(told.get('error')).toBe(error);
    expect(told.get('iss')).toBe(origin());
    expect(told.get('state')).toBe('state' in more ? (more['state'] ?? null) : 'state-1');
    expect(told.get('error_description')).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  it('with an error that is too long to return to after signing in is answered at once', async () => {
    const app = await oauth.register();
    const state = 'x'.repeat(2000);
    const query = `${oauth.queryOf(app, newVerifier(), { scope: 'everything', state })}`;
    const told = await visitor().open(`/oauth/authorize?${query}`);
    expect([told.status, told.leadsTo]).toEqual([400, undefined]);
    expect(told.text).toMatch(/its address has \d{4} characters.*at most 2000.*Sign in first/s);
    expect((await oauth.visitorOf(owner).open(`/oauth/authorize?${query}`)).leadsTo).toMatch(/\?error=invalid_/);
  });

  it('with an error leads a signed-out person to sign in first, and reports to the app afterwards', async () => {
    const evil = await oauth.register({ redirect_uris: ['https://evil.example/login'] });
    for (const more of ['&scope=everything', '&state=b']) {
      const query = `${oauth.queryOf(evil, newVerifier(), { scope: undefined })}${more}`;
      const led = await visitor().open(`/oauth/authorize?${query}`);
      expect([led.status, led.leadsTo?.split('?')[0]]).toEqual([302, '/sign-in']);
      const ended = oauth.visitorOf({ ...owner, headers: { cookie: 'rasket_session=rks_ended' } });
      expect((await ended.open(`/oauth/authorize?${query}`)).leadsTo).toBe(led.leadsTo);
      const next = new URL(led.leadsTo ?? '', origin()).searchParams.get('next') ?? '';
      const told = await oauth.visitorOf(owner).open(next);
      expect(told.leadsTo).toMatch(/^https:\/\/evil\.example\/login\?error=invalid_/);
      expect((await visitor().open(next.replace('/authorize', '/consent'))).leadsTo ?? '').not.toContain('//evil');
    }
  });

  it('accepts a state of 512 characters and returns it unchanged', async () => {
    const state = `"${'ä&=%#+ '.repeat(80)}`.slice(0, 512).padEnd(512, '.');
    const { visitor: browser, page } = await oauth.asked(owner, app, newVerifier(), { state });
    expect(answerIn(await browser.send(page, 'Authorize')).get('state')).toBe(state);
  });

  it('accepts a resource in each of its forms, and ignores unknown parameters', async () => {
    for (const resource of [origin(), `${origin()}/`, `${origin()}/mcp`, `${origin()}/mcp/`, `${origin()}/api/v1`]) {
      const query = `${oauth.queryOf(app, newVerifier(), { resource })}&prompt=none&prompt=login`;
      expect((await authorize(query)).leadsTo).toMatch(/^\/oauth\/consent\?/);
    }
  });

  it.each(['state', 'scope', 'resource', 'code_challenge', 'response_type'])(
    'returns invalid_request for a repeated %s',
    async (name) => {
      const once = { resource: origin() };
      const query = `${oauth.queryOf(app, newVerifier(), once)}&${name}=${encodeURIComponent(origin())}`;
      const told = answerIn(await authorize(query));
      expect(told.get('error')).toBe('invalid_request');
      expect(told.getAll('state')).toEqual(name === 'state' ? [] : ['state-1']);
    },
  );

  it.each([
    'https://app.example.com/callback/',
    'https://app.example.com/callback?x=1',
    'https://app.example.com/Callback',
    'https://app.example.com:443/callback',
    'https://app.example.com/%63allback',
    'https://app.example.com/%2e/callback',
    'https://app.example.com/x/../callback',
    'https://user@app.example.com/callback',
    'https://app.example.com@evil.example/callback',
    'https://app.example.com.evil.example/callback',
    'http://app.example.com/callback',
    'http://[::1]:8081/cb',
    'http://[0:0:0:0:0:0:0:1]:8080/cb',
    'http://127.0.0.1:8080/cb',
    'http://localhost:8080/cb?a=b',
    'http://localhost.evil.example:8080/cb',
    'javascript:alert(1)',
    '//evil.example',
    '',
  ])('is not redirected to the unregistered address %s', async (uri) => {
    const answer = await authorize(oauth.queryOf(app, newVerifier(), { redirect_uri: uri }));
    expect([answer.status, answer.leadsTo, answer.headers['content-type']]).toEqual([
      400,
      undefined,
      'text/html; charset=utf-8',
    ]);
    expect(answer.html).not.toContain('evil.example');
    const consent = await oauth
      .visitorOf(owner)
      .open(`/oauth/consent?${oauth.queryOf(app, newVerifier(), { redirect_uri: uri })}`);
    expect([consent.status, consent.leadsTo]).toEqual([400, undefined]);
  });

  it.each(['rkoc_unknown', '', '\0', `rkoc_${'x'.repeat(4000)}`])(
    'is not redirected for the unknown client %j',
    async (clientId) => {
      const answer = await authorize(oauth.queryOf(app, newVerifier(), { client_id: clientId }));
      expect([answer.status, answer.leadsTo]).toEqual([400, undefined]);
    },
  );

  it('is not redirected with two clients or two addresses', async () => {
    for (const more of [`client_id=${app.clientId}`, `redirect_uri=${encodeURIComponent(REDIRECT_URI)}`]) {
      const answer = await authorize(`${oauth.queryOf(app, newVerifier())}&${more}`);
      expect([answer.status, answer.leadsTo]).toEqual([400, undefined]);
    }
  });

  it('keeps the query of the redirect address, and the loopback port', async () => {
    const query = oauth.queryOf(app, newVerifier(), { redirect_uri: 'http://127.0.0.1:8080/cb?a=b', state: undefined });
    expect((await authorize(query)).leadsTo).toMatch(/^http:\/\/127\.0\.0\.1:8080\/cb\?a=b&error=invalid_request&/);
  });
});

describe('OAuth tokens', () => {
  it('a refresh token used several times at once gives the same pair of tokens, and a later use revokes the grant', async () => {
    for (let round = 0; round < scaled(3); round++) {
      const { refresh_token: token } = await oauth.letIn(owner, app);
      const answers = await Promise.all([1, 2, 3].map(() => oauth.refresh(app, token)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const pair = answers[0]?.body;
      expect(await statusWith(pair.access_token)).toBe(200);
      await endGrace();
      expect((await oauth.refresh(app, token)).body.error).toBe('invalid_grant');
      expect(await statusWith(pair.access_token)).toBe(401);
      expect((await reasons())[0]).toBe('refresh_reuse');
    }
  });

  it('a refresh that was just made revokes the grant when another client repeats it', async () => {
    const other = await oauth.register();
    const { refresh_token: token } = await oauth.letIn(owner, app);
    const { body: pair } = await oauth.refresh(app, token);
    expect((await oauth.refresh(other, token)).body.error).toBe('invalid_grant');
    expect(await statusWith(pair.access_token)).toBe(401);
    expect((await reasons())[0]).toBe('refresh_reuse');
  });

  it('the tokens of a repeated refresh cover the scope of each, and not one token that was revoked in between', async () => {
    const { refresh_token: token } = await oauth.letIn(owner, app, { scope: 'team:read emails:read' });
    const { body: first } = await oauth.refresh(app, token);
    const { body: narrow } = await oauth.refresh(app, token, { scope: 'emails:read' });
    expect([narrow.scope, narrow.refresh_token]).toEqual(['emails:read', first.refresh_token]);
    expect(await statusWith(narrow.access_token)).toBe(403);
    expect(await statusWith(first.access_token)).toBe(200);
    await oauth.form('/oauth/revoke', { token: first.access_token, client_id: app.clientId });
    expect(await statusWith(first.access_token)).toBe(401);
    expect((await oauth.refresh(app, token)).body.error).toBe('invalid_grant');
    expect(await statusWith(first.access_token)).toBe(401);
  });

  it('revoked during a refresh leave no valid token', async () => {
    for (let round = 0; round < scaled(3); round++) {
      const { refresh_token: token } = await oauth.letIn(owner, app);
      const [pair] = await Promise.all([
        oauth.refresh(app, token),
        oauth.form('/oauth/revoke', { token, client_id: app.clientId }),
      ]);
      // In either order, the revoked token is invalid, and so are the tokens it was exchanged for.
      if (pair.status === 200) expect(await statusWith(pair.body.access_token)).toBe(401);
      else expect(pair.body.error).toBe('invalid_grant');
    }
  });

  it('of another client or of the other kind are refused', async () => {
    const other = await oauth.register();
    const tokens = await oauth.letIn(owner, app);
    expect(await oauth.refresh(other, tokens.refresh_token)).toMatchObject(bad('invalid_grant'));
    expect(await oauth.refresh(app, tokens.access_token)).toMatchObject(bad('invalid_grant'));
    expect(await statusWith(tokens.refresh_token)).toBe(401);
    expect((await oauth.refresh(app, tokens.refresh_token)).status).toBe(200);
  });

  it('with a repeated field return invalid_request, as a form and as JSON', async () => {
    const one = `grant_type=refresh_token&client_id=${app.clientId}&refresh_token=rkr_a`;
    for (const name of ['grant_type', 'client_id', 'refresh_token', 'scope', 'resource']) {
      const twice = `${one}&scope=team%3Aread&resource=${encodeURIComponent(origin())}&${name}=x`;
      expect(await oauth.form('/oauth/token', twice)).toMatchObject(bad('invalid_request'));
    }
    const json = `{"grant_type":"refresh_token","client_id":"${app.clientId}","refresh_token":"a","refresh_\\u0074oken":"b"}`;
    expect(await scene.api('POST', '/oauth/token', { body: json })).toMatchObject(bad('invalid_request'));
    expect(await oauth.form('/oauth/revoke', `token=a&token=b&client_id=${app.clientId}`)).toMatchObject(
      bad('invalid_request'),
    );
    // Unknown parameters may be repeated.
    expect(await oauth.form('/oauth/token', `${one}&audience=a&audience=b`)).toMatchObject(bad('invalid_grant'));
  });

  it('can be exchanged as JSON too', async () => {
    const { refresh_token: token } = await oauth.letIn(owner, app);
    const body = { grant_type: 'refresh_token', client_id: app.clientId, refresh_token: token, client_secret: '' };
    expect((await scene.api('POST', '/oauth/token', { body })).status).toBe(200);
  });

  it.each([
    ['text/plain', 'grant_type=refresh_token'],
    ['application/json', '[]'],
    ['application/json', '{'],
    ['application/x-www-form-urlencoded', Buffer.from([0x67, 0xff])],
    ['multipart/form-data; boundary=x', '--x--'],
  ])('are refused for a body of %s', async (type, body) => {
    const answer = await scene.api('POST', '/oauth/token', { body, headers: { 'content-type': type } });
    expect(answer).toMatchObject(bad('invalid_request'));
  });

  it.each(['client_credentials', 'password', 'urn:ietf:params:oauth:grant-type:device_code'])(
    'are not issued for %s',
    async (type) => {
      const answer = await oauth.form('/oauth/token', { grant_type: type, client_id: app.clientId });
      expect(answer).toMatchObject(bad('unsupported_grant_type'));
    },
  );

  it('are stored only as hashes, and in no log', async () => {
    const verifier = newVerifier();
    const code = await oauth.codeFor(owner, app, verifier);
    const { body } = await oauth.exchange(app, code, verifier);
    await scene.api('GET', '/team', { key: body.access_token });
    await scene.api('GET', `/emails/${body.refresh_token}`, { key: body.access_token });
    const { db } = scene.app.world;
    const tables = ['oauth_clients', 'oauth_consents', 'oauth_codes', 'oauth_grants', 'oauth_tokens', 'audit_log'];
    const kept = [scene.log.join('\n')];
    for (const table of tables) kept.push(JSON.stringify(await db.all(`select * from ${table}`)));
    for (const secret of [code, body.access_token, body.refresh_token, verifier, app.registrationToken]) {
      expect(kept.join('\n')).not.toContain(secret);
    }
    expect(kept.join('\n')).toContain(createHash('sha256').update(body.access_token).digest('hex'));
  });
});

it('too many requests from one address are refused in the format of OAuth', async () => {
  await using limited = await startScene({ roles: ['http'], ratePerSecond: 2 });
  const ask = () => limited.api('POST', '/oauth/token', { body: {} });
  for (let asked = 0; asked < 2; asked++) expect((await ask()).status).toBe(400);
  const answer = await ask();
  expect(answer).toMatchObject({ status: 429, body: { error: 'invalid_request' } });
  expect(answer.headers.get('retry-after')).toBe('1');
});
