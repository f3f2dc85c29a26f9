import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contractOperations } from '../../rig/api.ts';
import { connectRaw } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { dealt, keyed, formatLabel, operations, buildQuery, sampleCall } from './sample-calls.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];

// The first call of an operation waits until the checks of its answers are compiled, and this test calls them all.
vi.setConfig({ testTimeout: 240_000 });

describe('paths and methods', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const notFound = { status: 404, body: { statusCode: 404, name: 'not_found' } };

  it.each([
    '/nothing',
    '/emails/',
    '/emails//',
    '/Emails',
    '/api/v2/emails',
    '/emails/a/b/c/d',
    '/emails;x=1',
    '/emails%2F',
    '/%65mails/x/y',
    '/.',
    '/..',
    '/emails/../domains/..',
    '/openapi',
    '/openapixjson',
    '/docs/',
    '/%',
    '/%zz',
    '/%ff%fe',
    '/%00',
    '/*',
    `/${'a'.repeat(8000)}`,
    `/${'a/'.repeat(4000)}`,
    `/${'%41'.repeat(2500)}`,
    '/constructor',
    '/__proto__',
  ])('return 404 for the unknown path %.40s with any credential', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS']) {
      expect(await scene.api(method, path), `${method} ${path}`).toMatchObject(notFound);
      expect(await scene.api(method, path, { key: team.key }), `${method} ${path}`).toMatchObject(notFound);
    }
  });

  it('reveal nothing about the credential on an unknown path, and do not read its body', async () => {
    for (const call of [{ key: 'rk_wrong' }, { key: team.key, body: '{' }, { key: team.key, body: 'x'.repeat(3e6) }]) {
      expect(await scene.api('POST', '/nothing', call)).toMatchObject(notFound);
    }
  });

  it('return 405 for a wrong method on a known path with any credential, and Allow names the right ones', async () => {
    for (const [at, path] of [...new Set(operations.map((operation) => operation.path))].entries()) {
      // Operations for people only are methods of a path too.
      const known = contractOperations().filter((operation) => operation.path === path);
      const allowed = known.map((operation) => operation.method.toUpperCase());
      if (allowed.includes('GET')) allowed.push('HEAD');
      const target = sampleCall(known[0] ?? (undefined as never)).path;
      const wrong = METHODS.filter((name) => !allowed.includes(name));
      const withoutKey = dealt(wrong, at, 1);
      for (const method of wrong) {
        for (const key of withoutKey.includes(method) ? [undefined, team.key] : [team.key]) {
          const answer = await scene.api(method, target, { key });
          const body = method === 'HEAD' ? '' : { statusCode: 405, name: 'method_not_allowed' };
          expect(answer, `${method} ${target}`).toMatchObject({ status: 405, body });
          expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed.sort());
        }
      }
    }
  });

  it('also work below the base path of the second server', async () => {
    for (const operation of operations) {
      const { method, path, body } = sampleCall(operation);
      const url = `/api/v1${path}`;
      const refused = await scene.api(method, url, { key: team.key, body, headers: { 'user-agent': null } });
      expect(refused.body.code, formatLabel(operation)).toBe(1010);
      const taken = operations.filter((one) => one.path === operation.path).map((one) => one.method.toUpperCase());
      const missing = ['PUT', 'PATCH', 'DELETE'].find((name) => !taken.includes(name)) ?? '';
      const wrong = await scene.api(missing, url, { key: team.key });
      expect(wrong, formatLabel(operation)).toMatchObject({ status: 405, body: { name: 'method_not_allowed' } });
    }
    for (const path of ['/api/v1', '/api/v1/', '/api/v1/api/v1/emails', '/api/v1emails', '/api/v1/nothing']) {
      expect(await scene.api('GET', path, { key: team.key }), path).toMatchObject(notFound);
    }
    const connection = await connectRaw(scene.url);
    const get = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: x\r\nAuthorization: Bearer ${team.key}\r\n\r\n`;
    connection.write(get('/api/v1/domains?limit=5') + get('/domains?limit=5'));
    const below = await connection.answer();
    const above = await connection.answer();
    connection.socket.destroy();
    expect(below.status).toBe(200);
    expect(below.text).toBe(above.text);
  });

  it('answer HEAD like GET, without the body', async () => {
    // The answer of listenWebhooks does not end; its HEAD has a test of its own.
    const ending = operations.filter(({ operationId }) => operationId !== 'listenWebhooks');
    for (const operation of ending.filter(({ method }) => method === 'get')) {
      const { path } = sampleCall(operation);
      const get = await scene.api('GET', path, { key: team.key });
      const head = await scene.api('HEAD', path, { key: team.key });
      expect(head.status, formatLabel(operation)).toBe(get.status);
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
      // The duration of a check is part of the answer, and the GET is among the logs: their length may differ.
      if (path !== '/ready' && path !== '/logs')
        expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    }
    expect((await scene.api('HEAD', '/emails')).status).toBe(401);
    expect((await scene.api('HEAD', '/nothing')).status).toBe(404);
  });

  const AT_FAULT = [
    '%',
    '%zz',
    '%f',
    '%ff',
    '%C0%80',
    '%ED%A0%80',
    'a'.repeat(1001),
    'a'.repeat(8000),
    '%41'.repeat(2000),
  ];
  it.each(AT_FAULT)('check the credential before the invalid path parameter %.20s, which returns 422', async (id) => {
    const taking = keyed.filter(({ path }) => path.includes('{') && !path.startsWith('/suppressions'));
    for (const [at, operation] of taking.entries()) {
      if (!dealt(AT_FAULT, at, 3).includes(id)) continue;
      const { method, body } = sampleCall(operation);
      const path = `${operation.path.replace(/\{\w+\}/, id)}?${buildQuery(operation, '')}`;
      const answer = await scene.api(method, path, { key: team.key, body });
      expect(answer, formatLabel(operation)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      if (!dealt(AT_FAULT, at, 1).includes(id)) continue;
      const missing = { status: 401, body: { name: 'missing_api_key' } };
      expect(await scene.api(method, path, { body }), formatLabel(operation)).toMatchObject(missing);
      const agent = await scene.api(method, path, { key: team.key, body, headers: { 'user-agent': null } });
      expect(agent, formatLabel(operation)).toMatchObject({ status: 403, body: { code: 1010 } });
    }
  });

  it('never repeat a long path or parameter in full', async () => {
    const long = 'q'.repeat(8000);
    for (const path of [`/${long}`, `/emails/${long}`, `/emails?limit=${long}`]) {
      expect((await scene.api('GET', path, { key: team.key })).text.length, path.slice(0, 20)).toBeLessThan(2000);
    }
  });

  it('are not logged as defects when invalid', () => {
    expect(scene.log.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});
