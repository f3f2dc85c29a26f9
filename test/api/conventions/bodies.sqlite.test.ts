import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadContract, resolveRef } from '../../../src/contract/index.ts';
import { buildForm } from '../../rig/forms.ts';
import { buildPng } from '../../rig/pictures.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import {
  dealt,
  keyed,
  formatLabel,
  makers,
  mayBeBareList,
  sampleCall,
  takesFile,
  takesList,
  withBody,
  type Operation,
} from './sample-calls.ts';

// The first call of an operation waits until the checks of its answers are compiled, and this test calls them all.
vi.setConfig({ testTimeout: 240_000 });

describe('request bodies', () => {
  let scene: Scene;
  let team: Team;
  const own: Record<string, string> = {};
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
    for (const [name, make] of Object.entries(makers)) own[name] = await make(scene, team);
  });
  afterAll(() => scene.close());

  const writing = keyed.filter((operation) => operation.method !== 'get' && !takesFile(operation));
  // Lists of emails are tested for all this entry by entry in test/api/emails/batch.test.ts.
  const ofObjects = writing.filter((operation) => !takesList(operation));
  const badBody = { status: 400, body: { statusCode: 400, name: 'validation_error' } };

  const NO_JSON: [what: string, body: string | Buffer][] = [
    ['half of a document', '{"name":'],
    ['a word', 'hello'],
    ['form fields', 'name=x'],
    ['two documents', '{}{}'],
    ['a comment', '{/* */}'],
    ['a trailing comma', '{"name":"x",}'],
    ['NaN', '{"name":NaN}'],
    ['a line break in a string', '{"name":"a\nb"}'],
    ['only a space', ' '],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong slash', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le')],
    ['a deep nest', '['.repeat(200_000)],
    ['a deep nest that is closed again', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ];
  it.each(NO_JSON)(
    'that are not JSON, or larger than needed (%s), return 400 validation_error on operations that write',
    async (kind, body) => {
      for (const operation of triedWith(NO_JSON, kind, writing)) {
        const { method, path } = sampleCall(operation, own);
        expect(await scene.api(method, path, { key: team.key, body }), formatLabel(operation)).toMatchObject(badBody);
      }
    },
  );

  const NO_OBJECT = ['[]', '[{}]', 'null', 'true', '7', '"text"'].map((body) => [body] as const);
  it.each(NO_OBJECT)(
    'that are JSON but not an object (%.20s) return 400 validation_error with one entry in errors',
    async (body) => {
      const whole = ofObjects.filter((one) => !mayBeBareList(one));
      for (const operation of triedWith(NO_OBJECT, body, whole)) {
        const { method, path } = sampleCall(operation, own);
        const answer = await scene.api(method, path, { key: team.key, body });
        expect(answer, formatLabel(operation)).toMatchObject(badBody);
        expect(answer.body.errors, formatLabel(operation)).toEqual([{ path: '', message: expect.any(String) }]);
      }
    },
  );

  const TYPES = [
    null,
    '',
    'text/plain',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'text/json',
    ';',
    '\u00e9',
  ].map((type) => [type] as const);
  it.each(TYPES)('of the media type %j return 400 validation_error that names application/json', async (type) => {
    for (const operation of triedWith(TYPES, type, writing)) {
      const { method, path, body = {} } = sampleCall(operation, own);
      const answer = await scene.api(method, path, { key: team.key, body, headers: { 'content-type': type } });
      expect(answer, formatLabel(operation)).toMatchObject(badBody);
      expect(answer.body.message).toContain('application/json');
    }
  });

  const CODINGS = ['gzip', 'br', 'identity, gzip', 'x'].map((coding) => [coding] as const);
  it.each(CODINGS)('in the coding %s return 415 validation_error that names Content-Encoding', async (coding) => {
    for (const operation of triedWith(CODINGS, coding, writing)) {
      const { method, path, body = {} } = sampleCall(operation, own);
      const headers = { 'content-encoding': coding };
      const answer = await scene.api(method, path, { key: team.key, body, headers });
      expect(answer, formatLabel(operation)).toMatchObject({ status: 415, body: { name: 'validation_error' } });
      expect(answer.body.message).toMatch(/^Content-Encoding must be left out or be identity; got "/);
    }
  });

  it('in a coding return 415 for files, forms, pages and OAuth steps too', async () => {
    const { key } = team;
    const gzip = { 'content-encoding': 'gzip' };
    const form = buildForm('email\na@example.org\n');
    const imported = { key, body: form.body, headers: { ...form.headers, ...gzip } };
    expect((await scene.api('POST', '/contacts/imports', imported)).status).toBe(415);
    const picture = { key, body: buildPng(1, 1), headers: { 'content-type': 'image/png', ...gzip } };
    expect((await scene.api('POST', '/images', picture)).status).toBe(415);
    const fields = { 'content-type': 'application/x-www-form-urlencoded', ...gzip };
    const step = await scene.api('POST', '/oauth/token', { body: 'grant_type=refresh_token', headers: fields });
    expect(step).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(step.body.error_description).toContain('Content-Encoding');
    const headers = { ...fields, origin: scene.url, 'user-agent': 'x' };
    const page = await fetch(`${scene.url}/sign-in`, { method: 'POST', body: 'email=a', headers });
    expect([page.status, await page.text()]).toEqual([415, expect.stringContaining('Content-Encoding')]);
  });

  it('with the coding identity are accepted, as is a coding without a body', async () => {
    const body = { email: 'coding@example.org' };
    const taken = { key: team.key, body, headers: { 'content-encoding': 'Identity' } };
    expect((await scene.api('POST', '/suppressions', taken)).status).toBe(201);
    const read = { key: team.key, headers: { 'content-encoding': 'gzip' } };
    expect((await scene.api('GET', '/suppressions', read)).status).toBe(200);
  });

  it('have their media type read in any letter case and with parameters', async () => {
    for (const type of ['APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"']) {
      const answer = await scene.api('POST', '/suppressions', {
        key: team.key,
        body: { email: 'media@example.org' },
        headers: { 'content-type': type },
      });
      expect(answer.status, type).toBe(201);
    }
  });

  it('get one entry in errors for every unknown field, in addition to those of the wrong type', async () => {
    for (const operation of ofObjects) {
      const { method, path, body = {} } = sampleCall(operation, own);
      const unknown = { surprise: 1, Name: 'x', '': null, 'a.b': {}, constructor: 1, '\u0000': 1, '\ud800': 1 };
      const text = JSON.stringify({ ...body, ...unknown }).replace('"surprise"', '"__proto__":{"x":1},"surprise"');
      const answer = await scene.api(method, path, { key: team.key, body: text });
      expect(answer, formatLabel(operation)).toMatchObject(badBody);
      const paths = answer.body.errors.map((error: { path: string }) => error.path);
      expect(paths.sort(), formatLabel(operation)).toEqual([...Object.keys(unknown), '__proto__'].sort());
    }
  });

  it('get one entry in errors for every field of the wrong type, named by its path', async () => {
    for (const operation of withBody.filter((one) => !takesList(one))) {
      const { method, path, body = {} } = sampleCall(operation, own);
      const wrong = Object.fromEntries(Object.keys(body).map((name) => [name, wrongFor(operation, name)]));
      const answer = await scene.api(method, path, { key: team.key, body: wrong });
      expect(answer, formatLabel(operation)).toMatchObject(badBody);
      const paths = answer.body.errors.map((error: { path: string }) => error.path);
      expect(paths.sort(), formatLabel(operation)).toEqual(Object.keys(body).sort());
    }
  });

  it('without required fields name the first missing one, in the order of the schema', async () => {
    for (const operation of withBody.filter((one) => !takesList(one))) {
      const { method, path, body = {} } = sampleCall(operation, own);
      const schema = operation.operation.requestBody?.content['application/json']?.schema;
      const answer = await scene.api(method, path, { key: team.key, body: {} });
      // These require nothing, or any one field, and none of them is the first.
      const requiresNothing = [
        '/team',
        '/dns/configure',
        '/duplicate',
        '/send',
        '/{automation_id}',
        '/skip',
        '/subject-lines',
        '/reject',
        '/{oauth_grant_id}',
        '/{inbox}',
        '/agent',
        '/{label_id}',
        '/{thread_id}',
        '/{draft_id}',
      ].some((end) => operation.path.endsWith(end));
      if (answer.status === 200 || requiresNothing) continue;
      expect(answer, `${formatLabel(operation)} ${JSON.stringify(schema)}`).toMatchObject({ status: 422 });
      if (answer.body.name === 'invalid_parameter') continue;
      const first = Object.keys(body)[0] ?? '';
      expect(answer.body, formatLabel(operation)).toMatchObject({
        name: 'missing_required_field',
        message: expect.stringContaining(first),
      });
    }
    for (const [body, named] of [
      [{}, 'from. Also missing: to, subject'],
      [{ from: 'a@example.com' }, 'to. Also missing: subject'],
      [{ subject: 'x', to: 'a@example.org' }, 'from'],
      [{ from: 'a@example.com', to: 'a@example.org' }, 'subject'],
    ] as const) {
      const answer = await scene.api('POST', '/emails', { key: team.key, body });
      expect(answer.body).toMatchObject({
        name: 'missing_required_field',
        message: `Missing required field: ${named}.`,
      });
    }
  });

  it('with a field of null have a wrong type, not a missing field', async () => {
    const answer = await scene.api('POST', '/suppressions', { key: team.key, body: { email: null } });
    expect(answer).toMatchObject({ ...badBody, body: { errors: [{ path: 'email' }] } });
  });

  it('with NUL or half a surrogate pair in any text are refused, and the field is named', async () => {
    let tried = 0;
    for (const operation of withBody.filter((one) => !takesList(one))) {
      const { method, path, body = {} } = sampleCall(operation, own);
      for (const [name, value] of Object.entries(body)) {
        if (typeof value !== 'string') continue;
        for (const bad of dealt(['\u0000', '\ud800', '\udfff', 'a\u0000b', 'a\ud83d'], tried++)) {
          const answer = await scene.api(method, path, { key: team.key, body: { ...body, [name]: bad } });
          expect(answer, `${formatLabel(operation)} ${name}`).toMatchObject({
            ...badBody,
            body: { errors: [{ path: name }] },
          });
        }
      }
    }
    for (const bad of ['a\u0000b', 'a\ud800b']) {
      const send = { from: 'a@example.com', to: ['x@example.org'], subject: 'Hello', text: 'x' };
      const cases = {
        'to.0': { ...send, to: [`${bad}@example.org`] },
        'headers.X-A': { ...send, headers: { 'X-A': bad } },
        'attachments.0.filename': { ...send, attachments: [{ filename: bad, content: '' }] },
        'attachments.0.content_id': { ...send, attachments: [{ filename: 'a', content: '', content_id: bad }] },
      };
      for (const [path, body] of Object.entries(cases)) {
        const answer = await scene.api('POST', '/emails', { key: team.key, body });
        expect(answer, path).toMatchObject({ ...badBody, body: { errors: [{ path }] } });
      }
    }
  });

  it('without bytes are empty, whatever the media type says', async () => {
    const fresh = await scene.team();
    const types = ['application/json', 'text/plain', 'application/octet-stream', null];
    for (const type of types) {
      const { body: domain } = await scene.api('POST', '/domains', {
        key: fresh.key,
        body: { name: 'zero.example.com' },
      });
      const { body: key } = await scene.api('POST', '/api-keys', { key: fresh.key, body: { name: 'Zero' } });
      await scene.api('POST', '/suppressions', { key: fresh.key, body: { email: 'zero@example.org' } });
      for (const [method, path] of [
        ['POST', `/domains/${domain.id}/verify`],
        ['PATCH', `/domains/${domain.id}`],
        ['DELETE', `/domains/${domain.id}`],
        ['DELETE', `/api-keys/${key.id}`],
        ['DELETE', '/suppressions/zero@example.org'],
      ] as const) {
        const answer = await scene.api(method, path, { key: fresh.key, headers: { 'content-type': type } });
        expect(answer.status, `${method} ${path}`).toBe(200);
      }
      const send = await scene.api('POST', '/emails', { key: fresh.key, headers: { 'content-type': type } });
      expect(send).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
    }
  });

  it('of an operation without a body may be an empty object, and any field is refused', async () => {
    const { body: key } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Empty' } });
    const path = `/api-keys/${key.id}`;
    const refused = await scene.api('DELETE', path, { key: team.key, body: { force: true } });
    expect(refused).toMatchObject({ ...badBody, body: { errors: [{ path: 'force' }] } });
    expect((await scene.api('DELETE', path, { key: team.key, body: {} })).status).toBe(200);
  });

  it('of a GET are ignored', async () => {
    for (const body of ['{}', 'nonsense', '[]']) {
      expect((await scene.api('GET', '/emails', { key: team.key, body })).status).toBe(200);
    }
  });

  it('with ten thousand unknown fields are refused without trouble', async () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, i]));
    const answer = await scene.api('POST', '/suppressions', {
      key: team.key,
      body: { email: 'x@example.org', ...body },
    });
    expect(answer).toMatchObject(badBody);
  });
});

/** Returns the operations that are tested with this kind of fault. */
const triedWith = <T>(
  kinds: readonly (readonly [T, ...unknown[]])[],
  kind: T,
  among: readonly Operation[],
): readonly Operation[] => among.filter((_, at) => dealt(kinds, at).some(([name]) => name === kind));

/** Returns a number, for a field that is not a number. */
function wrongFor(operation: Operation, name: string): unknown {
  const media = operation.operation.requestBody?.content['application/json'];
  const field = media && resolveRef(loadContract(), media.schema).properties?.[name];
  const type = field && resolveRef(loadContract(), field).type;
  return [type].flat().some((one) => one === 'number' || one === 'integer') ? true : 7;
}
