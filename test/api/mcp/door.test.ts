// These tests check who may call /mcp, from which origin, with which body, and what is stored of a call.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ASSISTANT_SCOPES } from '../../../src/contract/index.ts';
import { createApi } from '../../rig/api.ts';
import { createAssistants, CLIENTS } from '../../rig/mcp.ts';
import { createPeople, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let owner: Person;
let assistants: Awaited<ReturnType<typeof createAssistants>>;
let token: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  owner = await createPeople(scene).person({ team, role: 'owner' });
  assistants = await createAssistants(scene, team, owner);
  token = await assistants.token();
});
afterAll(() => scene.close());

const origin = () => scene.app.world.origin();
const ACCEPT = { accept: 'application/json, text/event-stream' };
const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const call = (name: string, given: object = {}) => message('tools/call', { name, arguments: given });
/** Calls like a client of 2025, which needs no handshake here. */
const ask = (
  body: unknown,
  { key = token, headers = {} }: { key?: string; headers?: Record<string, string | null> } = {},
) => scene.api('POST', '/mcp', { key, body, headers: { ...ACCEPT, ...headers } });
const METADATA = () => `resource_metadata="${origin()}/.well-known/oauth-protected-resource/mcp"`;

describe('the credential of /mcp', () => {
  it('the credential of /mcp is requested with the address of the metadata and the scopes to ask for', async () => {
    const answer = await scene.api('POST', '/mcp', { body: message('tools/list'), headers: ACCEPT });
    expect(answer).toMatchObject({ status: 401, body: { name: 'missing_api_key' } });
    const scopes = ASSISTANT_SCOPES.join(' ');
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer scope="${scopes}", ${METADATA()}`);
  });

  it('must not be an API key, a session or an unknown token', async () => {
    const program = await createPeople(scene).program(owner, team.id);
    for (const key of [team.key, program, await scene.operator(), 'rko_nonsense', `${token}x`]) {
      const answer = await ask(message('tools/list'), { key });
      expect(answer).toMatchObject({ status: 401, body: { name: 'invalid_api_key' } });
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer error="invalid_token", scope="${ASSISTANT_SCOPES.join(' ')}", ${METADATA()}`,
      );
    }
    const { status } = await scene.api('POST', '/mcp', { body: message('tools/list'), headers: owner.headers });
    expect(status).toBe(401);
  });

  it('for /mcp works here only, one for the whole API here too, and one of another service nowhere', async () => {
    expect((await ask(message('tools/list'))).status).toBe(200);
    expect(await scene.api('GET', '/team', { key: token })).toMatchObject({ status: 401 });
    const whole = await assistants.token(['team:read'], origin());
    expect((await ask(call('getTeam'), { key: whole })).text).toContain(team.id);
    await using other = await startScene({ roles: ['http'] });
    const elsewhere = await (await createAssistants(other, await other.team())).token();
    expect((await ask(message('tools/list'), { key: elsewhere })).status).toBe(401);
  });

  it('reaches nothing after it was revoked', async () => {
    const held = await assistants.token(['templates:read']);
    expect((await ask(message('tools/list'), { key: held })).text).toContain('listTemplates');
    await assistants.oauth.form('/oauth/revoke', { token: held, client_id: assistants.app.clientId });
    expect((await ask(message('tools/list'), { key: held })).status).toBe(401);
  });

  it('reaches no more than its person, from the moment of a demotion', async () => {
    const member = await createPeople(scene).person({ team, role: 'member' });
    const held = await (await createAssistants(scene, team, member)).token(['templates:read', 'templates:write']);
    expect((await ask(message('tools/list'), { key: held })).text).toContain('createTemplate');
    const path = `/teams/${team.id}/members/${member.memberId}`;
    expect((await owner.call('PATCH', path, { role: 'viewer' })).status).toBe(200);
    const demoted = await ask(call('createTemplate', { name: 'a', html: 'b' }), { key: held });
    expect(demoted.text).not.toContain('"id":"');
    expect(demoted.text).toMatch(/invalid_permission|invalid_api_key/);
  });
});

describe('a missing scope', () => {
  it.each([
    ['a tool', call('sendEmail', {})],
    ['a call of any operation', call('call_operation', { operation_id: 'sendEmail', arguments: {} })],
  ])('is named for %s, so that the app can request it', async (_, body) => {
    const key = await assistants.token(['team:read', 'emails:read']);
    const answer = await ask(body, { key });
    expect(answer).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="team:read emails:read emails:send", ${METADATA()}`,
    );
  });

  it.each(Object.entries(CLIENTS))('is an error in the client of %s, which continues to work', async (_, connect) => {
    await using client = await connect(assistants.url, await assistants.token(['team:read']));
    await expect(client.call('listEmails')).rejects.toThrow();
    expect((await client.call('getTeam')).text).toContain(team.id);
  });
});

describe('a request to /mcp', () => {
  it.each(['GET', 'DELETE', 'PUT'])('with %s returns 405', async (method) => {
    const answer = await scene.api(method, '/mcp', { key: token, headers: ACCEPT });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'x@evil.example', '169.254.169.254'])(
    'with the Host %s is refused',
    async (host) => {
      const answer = await ask(message('tools/list'), { headers: { host } });
      expect(answer).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
      expect(answer.body.message).toContain('http.public_url');
      expect(answer.text).not.toContain('tools');
    },
  );

  it('with the Host of the public address or of this machine is accepted', async () => {
    await using publicly = await startScene({
      roles: ['http'],
      config: { http: { public_url: 'https://mail.example.com' } },
    });
    const api = createApi(`http://127.0.0.1:${publicly.app.http?.port}`);
    for (const host of ['mail.example.com', 'mail.example.com:443', '127.0.0.1', 'localhost:3000', '[::1]:3000']) {
      const { status } = await api('POST', '/mcp', { body: {}, headers: { ...ACCEPT, host } });
      expect(status, host).toBe(401);
    }
    const { status } = await api('POST', '/mcp', { body: {}, headers: { ...ACCEPT, host: 'example.com' } });
    expect(status).toBe(403);
  });

  it.each(['https://evil.example', 'null', 'http://127.0.0.1:1', 'file://'])(
    'from a page of %s is refused, even with a valid token',
    async (from) => {
      const answer = await ask(message('tools/list'), { headers: { origin: from } });
      expect(answer).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  it('from our own page is accepted', async () => {
    expect((await ask(message('tools/list'), { headers: { origin: origin() } })).status).toBe(200);
  });

  it.each([
    ['a batch', [message('tools/list'), message('tools/list')]],
    ['an empty batch', []],
    ['a batch of one', [call('getTeam')]],
    ['a text', '"tools/list"'],
    ['no JSON', '{'],
    ['null', 'null'],
  ])('with %s is refused as a whole', async (_, body) => {
    expect(await ask(body)).toMatchObject({ status: 400, body: { name: 'validation_error' } });
  });

  it.each([
    ['no message', {}],
    ['a call without a name', message('tools/call', {})],
    ['a call with a list of arguments', message('tools/call', { name: 'getTeam', arguments: [] })],
    ['a method that there is not', message('teams/delete')],
  ])('with %s gets a JSON-RPC error', async (_, body) => {
    const headers = { ...ACCEPT, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${scene.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
  });

  it('of 10 MB is refused before it is read, with the limit', async () => {
    const answer = await ask(call('createTemplate', { name: 'Big', html: 'x'.repeat(10 * 1024 * 1024) }));
    expect(answer).toMatchObject({ status: 413, body: { name: 'validation_error' } });
    expect(answer.body.message).toContain('1048576 bytes');
  });

  it('of another media type is refused', async () => {
    const answer = await ask('jsonrpc=2.0', { headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect(answer.status).toBe(400);
  });

  it('in an unsupported coding is refused', async () => {
    const answer = await ask(call('getTeam'), { headers: { 'content-encoding': 'gzip' } });
    expect([answer.status, answer.text]).toEqual([415, expect.stringContaining('Content-Encoding')]);
  });

  it('for a subscription does not keep the connection open', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const headers = { 'mcp-protocol-version': '2026-07-28' };
    const asked = (method: string) => {
      const body = message(method, { notifications: { toolsListChanged: true }, _meta: meta });
      return ask(body, { headers: { ...headers, 'mcp-method': method } });
    };
    // It gets the same answer as any other unknown method.
    const none = await asked('teams/delete');
    expect(await asked('subscriptions/listen')).toMatchObject({
      status: none.status,
      body: { jsonrpc: '2.0', id: 1, error: { code: -32601, message: none.body.error.message } },
    });
    const said = { listChanged: false };
    const { body } = await asked('server/discover');
    expect(body.result.capabilities).toEqual({ tools: said, prompts: said, resources: said });
  });

  it('of an earlier revision is told that there are no notifications', async () => {
    const about = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const { body } = await ask(message('initialize', about));
    const said = { listChanged: false };
    expect(body.result.capabilities).toEqual({ tools: said, prompts: said, resources: said });
    expect((await ask(message('subscriptions/listen'))).body).toMatchObject({ error: { code: -32601 } });
  });
});

describe('a request to /mcp beyond the rate limit of the team', () => {
  it('a request to /mcp beyond the rate limit is a result of the tool with the wait, and counts toward the limit of the API', async () => {
    await using limited = await startScene({ roles: ['http'], ratePerSecond: 20 });
    const mine = await limited.team();
    const held = await (await createAssistants(limited, mine)).token(['team:read']);
    const asked = (body: object) => limited.api('POST', '/mcp', { key: held, body, headers: ACCEPT });
    for (let i = 0; i < 20; i++) expect((await asked(call('getTeam'))).body.result.isError).toBeUndefined();
    const answer = await asked(call('getTeam'));
    expect(answer).toMatchObject({ status: 200, body: { id: 1, result: { isError: true } } });
    expect(answer.body.result.content[0].text).toMatch(
      /^rate_limit_exceeded: Too many requests.*\nWhat to do: wait 1 second, then call again\.$/,
    );
    expect(answer.text).not.toContain(mine.id);
    expect(answer.headers.get('ratelimit-remaining')).toBe('0');
    expect((await asked(message('tools/list'))).body).toMatchObject({ id: 1, error: { code: -32_029 } });
    const { id: _, ...notification } = message('notifications/initialized');
    expect((await asked(notification)).status).toBe(202);
    expect((await limited.api('GET', '/team', { key: mine.key })).status).toBe(429);
  });

  it.each(Object.entries(CLIENTS))('a rate limit does not break the session of a client of %s', async (_, connect) => {
    await using limited = await startScene({ roles: ['http'], ratePerSecond: 20 });
    const mine = await limited.team();
    const its = await createAssistants(limited, mine);
    await using client = await connect(its.url, await its.token(['team:read']));
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.call('getTeam')));
    const refused = answers.filter(({ isError }) => isError);
    expect(refused.length).toBeGreaterThan(0);
    for (const { text } of refused) expect(text).toMatch(/^rate_limit_exceeded: .*What to do: wait 1 second/s);
    limited.clock.advance(5000);
    expect((await client.call('getTeam')).text).toContain(mine.id);
  });
});

it('calls of /mcp are in the request log without their answers, and changes are in the audit log under the grant', async () => {
  const made = await ask(call('createTemplate', { name: 'Of an assistant', html: '<p>secret-of-the-answer</p>' }));
  const read = await ask(call('listTemplates'));
  expect(read.text).toContain('Of an assistant');
  const logged = async (id: string | null) => {
    const { body } = await scene.api('GET', `/logs/${id}`, { key: team.key });
    return body;
  };
  expect(await logged(made.headers.get('x-request-id'))).toMatchObject({
    endpoint: '/mcp',
    method: 'POST',
    response_status: 200,
    request_body: { method: 'tools/call', params: { name: 'createTemplate' } },
  });
  expect(JSON.stringify((await logged(read.headers.get('x-request-id'))).response_body)).not.toContain('assistant');
  const { body: audit } = await scene.api('GET', '/audit', { key: team.key });
  const entry = audit.data.find(({ action }: { action: string }) => action === 'template.created');
  const { body: grants } = await scene.api('GET', '/oauth/grants', { key: team.key });
  expect(entry).toMatchObject({
    request_id: made.headers.get('x-request-id'),
    actor: { kind: 'app', id: owner.userId, app: { name: expect.any(String) as string } },
    details: { name: 'Of an assistant' },
  });
  expect(grants.data.map(({ id }: { id: string }) => id)).toContain(entry.details.oauth_grant_id);
});
