import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { readRequestId, logged } from './requests.ts';

const DAY_MS = 24 * 3_600_000;

describe('request logs', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  it('have each request under the x-request-id of its answer', async () => {
    const body = { from: `a@${domain}`, to: 'x@example.org', subject: 'Hello', html: '<p>It works.</p>' };
    const { answer, log } = await logged(scene, team, 'POST', '/emails?', {
      body,
      headers: { 'user-agent': 'shop/1.0' },
    });
    expect(log).toEqual({
      object: 'log',
      id: readRequestId(answer),
      created_at: new Date(scene.clock.now()).toISOString(),
      endpoint: '/emails',
      method: 'POST',
      response_status: 200,
      user_agent: 'shop/1.0',
      request_body: body,
      response_body: { id: answer.body.id },
    });
  });

  it('are listed newest first, without bodies', async () => {
    const { body: first } = await scene.api('GET', '/logs?limit=1', { key: team.key });
    const { body: second } = await scene.api('GET', '/logs?limit=2', { key: team.key });
    expect(Object.keys(first.data[0]).sort()).toEqual([
      'created_at',
      'endpoint',
      'id',
      'method',
      'response_status',
      'user_agent',
    ]);
    expect(second.data).toMatchObject([{ endpoint: '/logs', method: 'GET', response_status: 200 }, first.data[0]]);
  });

  it('omit the answers of reads of the log itself, or it would grow by itself', async () => {
    const { answer } = await logged(scene, team, 'GET', '/logs');
    const { log } = await logged(scene, team, 'GET', `/logs/${readRequestId(answer)}`);
    expect(log).toMatchObject({ method: 'GET', response_status: 200, request_body: null, response_body: null });
  });

  it('have the path as it was called, with its ids and without its query', async () => {
    const id = randomUUID();
    expect((await logged(scene, team, 'GET', `/emails/${id}`)).log.endpoint).toBe(`/emails/${id}`);
    expect((await logged(scene, team, 'GET', '/emails?search=private')).log.endpoint).toBe('/emails');
    expect((await logged(scene, team, 'GET', '/suppressions/a+b@example.org')).log).toMatchObject({
      endpoint: '/suppressions/a+b@example.org',
      response_status: 404,
    });
  });

  it('have the path of the contract for the second base path too', async () => {
    const headers = { authorization: `Bearer ${team.key}`, 'user-agent': 'x' };
    const answer = await fetch(`${scene.url}/api/v1/emails`, { headers });
    const { body } = await scene.api('GET', `/logs/${answer.headers.get('x-request-id')}`, { key: team.key });
    expect(body).toMatchObject({ endpoint: '/emails', response_status: 200 });
  });

  it('record HEAD as HEAD', async () => {
    const { log } = await logged(scene, team, 'HEAD', '/domains');
    expect(log).toMatchObject({ method: 'HEAD', response_status: 200, response_body: null });
  });

  describe('include refusals', () => {
    it.each([
      [400, { from: 1, to: 'x@example.org', subject: 'S', text: 'T' }, 'validation_error'],
      [422, { from: 'a@example.com', subject: 'S', text: 'T' }, 'missing_required_field'],
      [403, { from: 'a@not-verified.example', to: 'x@example.org', subject: 'S', text: 'T' }, 'validation_error'],
    ])('with %i and the refused body', async (status, body, name) => {
      const { log } = await logged(scene, team, 'POST', '/emails', { body });
      expect(log).toMatchObject({
        response_status: status,
        request_body: body,
        response_body: { statusCode: status, name },
      });
    });

    it('with 401 of a sending key, which cannot read the log itself', async () => {
      const sending = await team.sendingKey();
      const { answer, log } = await logged(scene, team, 'GET', '/domains').then(async () => {
        const refused = await scene.api('GET', '/domains', { key: sending });
        const read = await scene.api('GET', `/logs/${readRequestId(refused)}`, { key: team.key });
        expect((await scene.api('GET', '/logs', { key: sending })).status).toBe(401);
        return { answer: refused, log: read.body };
      });
      expect(log).toMatchObject({ response_status: 401, response_body: answer.body });
    });

    it('with only the size of a body in broken JSON, which may hold anything', async () => {
      const body = '{"token": "rk_4fGh2kLmN8pQrStUvWxYz0-abcdefgh", "password": "hunter2"';
      const { log } = await logged(scene, team, 'POST', '/emails', { body });
      expect(log).toMatchObject({ response_status: 400, request_body: { unreadable: true, bytes: body.length } });
      expect(JSON.stringify(log)).not.toContain('hunter2');
    });

    it.each(['{"password": hunter2}', 'hunter2', '["a", hunter2'])(
      'without the quote of %s from the answer',
      async (body) => {
        const { answer, log } = await logged(scene, team, 'POST', '/emails', { body });
        expect(answer.body.message).toContain('hunter2');
        expect(log.response_body).toMatchObject({ statusCode: 400, name: 'validation_error' });
        expect(log.response_body.message).toMatch(
          /^The request body is not valid JSON: Unexpected token 'h', … is not/,
        );
      },
    );

    it.each(['text/plain', 'application/x-www-form-urlencoded'])(
      'with only the size of a body of type %s',
      async (type) => {
        const body = 'password=hunter2';
        const { log } = await logged(scene, team, 'POST', '/emails', { body, headers: { 'content-type': type } });
        expect(log).toMatchObject({ response_status: 400, request_body: { unreadable: true, bytes: 16 } });
      },
    );

    it('with only the length of a body that was too large to be read', async () => {
      const body = JSON.stringify({ name: 'x'.repeat(1_100_000) });
      const { log } = await logged(scene, team, 'POST', '/api-keys', { body, headers: { connection: 'close' } });
      expect(log).toMatchObject({ response_status: 413, request_body: { truncated: true, bytes: body.length } });
    });
  });

  it('have one entry per second of requests over the rate limit', async () => {
    await using slow = await startScene({ ratePerSecond: 3 });
    const caller = await slow.team();
    const answers = [];
    for (let i = 0; i < 5; i++)
      answers.push(await slow.api('POST', '/api-keys', { key: caller.key, body: { name: 'N' } }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
    slow.clock.advance(1000);
    const { body } = await slow.api('GET', '/logs?response_status=429', { key: caller.key });
    expect(body.data.map((log: { id: string }) => log.id)).toEqual([readRequestId(answers[3]!)]);
    const { body: log } = await slow.api('GET', `/logs/${readRequestId(answers[3]!)}`, { key: caller.key });
    expect(log).toMatchObject({
      request_body: { truncated: true, bytes: 12 },
      response_body: { name: 'rate_limit_exceeded' },
    });
  });

  it('omit requests that reached no team: no key, a wrong key, an unknown path, health', async () => {
    const fresh = await scene.team();
    const before = await count();
    for (const [path, key] of [
      ['/emails', undefined],
      ['/emails', 'rk_nobodys-key-4fGh2kLmN8pQrStUvWx'],
      ['/nowhere', fresh.key],
      ['/health', fresh.key],
    ] as const) {
      await scene.api('GET', path, { ...(key === undefined ? {} : { key }) });
    }
    const { body } = await scene.api('GET', '/logs', { key: fresh.key });
    expect(body.data).toEqual([]);
    expect(await count()).toBe(before);
  });

  const count = async () => {
    await scene.api('GET', '/logs', { key: (await scene.team()).key });
    const others = 'select count(*) as n from request_logs where endpoint <> ?';
    return (await scene.app.world.db.get<{ n: number }>(others, ['/logs']))?.n;
  };

  it('keep the first 500 characters of a User-Agent', async () => {
    const { log } = await logged(scene, team, 'GET', '/domains', { headers: { 'user-agent': 'a'.repeat(501) } });
    expect(log.user_agent).toBe('a'.repeat(500));
  });

  it('return the same for a foreign log and an unknown one', async () => {
    const other = await scene.team();
    const { answer } = await logged(scene, other, 'GET', '/domains');
    for (const id of [readRequestId(answer), randomUUID()]) {
      const read = await scene.api('GET', `/logs/${id}`, { key: team.key });
      expect(read).toMatchObject({ status: 404, body: { name: 'not_found', message: 'Log not found.' } });
    }
    const { body } = await scene.api('GET', '/logs?limit=100', { key: other.key });
    expect(body.data.map((log: { endpoint: string }) => log.endpoint)).toEqual([
      `/logs/${readRequestId(answer)}`,
      '/domains',
    ]);
  });

  describe('have filters', () => {
    it('by response_status and dates that combine', async () => {
      const caller = await scene.team();
      scene.clock.advance(DAY_MS - (scene.clock.now() % DAY_MS));
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) {
        ids.unshift(readRequestId(await scene.api('GET', `/emails/${randomUUID()}`, { key: caller.key })));
        await scene.api('GET', '/emails?limit=0', { key: caller.key });
        scene.clock.advance(DAY_MS);
      }
      const at = (days: number) => new Date(scene.clock.now() - days * DAY_MS).toISOString();
      const found = async (query: string): Promise<string[]> => {
        const { status, body } = await scene.api('GET', `/logs?response_status=404&${query}`, { key: caller.key });
        expect(status, query).toBe(200);
        return body.data.map((log: { id: string }) => log.id);
      };
      expect(await found('')).toEqual(ids);
      expect(await found(`start_date=${at(2)}`)).toEqual(ids.slice(0, 2));
      expect(await found(`start_date=${at(2).slice(0, 10)}&end_date=${at(2).slice(0, 10)}`)).toEqual([ids[1]]);
      expect(await found(`end_date=${at(3)}`)).toEqual([ids[2]]);
      expect(await found(`after=${ids[0]}&limit=1`)).toEqual([ids[1]]);
      expect(await found(`before=${ids[0]}`)).toEqual([]);
    });

    it.each([
      [
        'response_status=399',
        'response_status must be the HTTP status of a refusal, a whole number from 400 to 599; got',
      ],
      [
        'response_status=600',
        'response_status must be the HTTP status of a refusal, a whole number from 400 to 599; got',
      ],
      [
        'response_status=4xx',
        'response_status must be the HTTP status of a refusal, a whole number from 400 to 599; got',
      ],
      ['start_date=', 'start_date must be an ISO 8601 date or time; got'],
      ['start_date=yesterday', 'start_date must be an ISO 8601 date or time, such as'],
      ['end_date=2026-02-30', 'end_date must be an ISO 8601 date or time, such as'],
      ['start_date=2026-02-02&end_date=2026-02-01', 'end_date must not be before start_date.'],
      ['after=1', 'after must be the id of a request; got'],
      ['method=GET', 'method'],
      ['limit=101', 'limit must be a whole number from 1 to 100'],
    ])('that refuse %s', async (query, message) => {
      const answer = await scene.api('GET', `/logs?${query}`, { key: team.key });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toContain(message);
    });

    it.each([400, 599])('that accept response_status=%i', async (status) => {
      expect((await scene.api('GET', `/logs?response_status=${status}`, { key: team.key })).status).toBe(200);
    });
  });

  it('are linked from the last use of a key, updated at most once a minute', async () => {
    const caller = await scene.team();
    const used = async () => {
      const { body } = await scene.api('GET', '/api-keys', { key: caller.key });
      await scene.app.world.commits.settled();
      return body.data[0].last_used_request_log_id as string | null;
    };
    const first = await scene.api('GET', '/domains', { key: caller.key });
    await scene.app.world.commits.settled();
    expect(await used()).toBe(readRequestId(first));
    scene.clock.advance(59_999);
    await scene.api('GET', '/domains', { key: caller.key });
    await scene.app.world.commits.settled();
    expect(await used()).toBe(readRequestId(first));
    scene.clock.advance(1);
    const later = await scene.api('GET', '/domains', { key: caller.key });
    await scene.app.world.commits.settled();
    expect(await used()).toBe(readRequestId(later));
    expect((await scene.api('GET', `/logs/${await used()}`, { key: caller.key })).body.endpoint).toBe('/domains');
  });

  it('can be switched off, and no key then links to an entry', async () => {
    await using silent = await startScene({ config: { logs: { enabled: false } } });
    const caller = await silent.team();
    const answer = await silent.api('GET', '/domains', { key: caller.key });
    await silent.app.world.commits.settled();
    const { body } = await silent.api('GET', '/api-keys', { key: caller.key });
    expect(body.data[0]).toMatchObject({ last_used_at: expect.any(String), last_used_request_log_id: null });
    expect((await silent.api('GET', '/logs', { key: caller.key })).body.data).toEqual([]);
    expect((await silent.api('GET', `/logs/${readRequestId(answer)}`, { key: caller.key })).status).toBe(404);
  });
});
