import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let id: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  id = (await post({})).body.id;
});
afterAll(() => scene.close());

const post = (fields: object) =>
  scene.api('POST', '/templates', { key: team.key, body: { name: 'One', html: '<p>x</p>', ...fields } });
const patch = (fields: object) => scene.api('PATCH', `/templates/${id}`, { key: team.key, body: fields });
const read = async (name: string) => (await scene.api('GET', `/templates/${name}`, { key: team.key })).body;

const variable = (over: object) => ({ variables: [{ key: 'A', type: 'string', ...over }] });
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ key: `V${i}`, type: 'string' }));
const addresses = (count: number) => Array.from({ length: count }, (_, i) => `r${i}@example.com`);
const MB2 = 2 * 1024 * 1024;

describe('the largest valid value of a template field', () => {
  it.each([
    ['name', { name: 'n'.repeat(200) }],
    ['name of emoji', { name: '\u{1F600}'.repeat(200) }],
    ['alias', { alias: 'a'.repeat(100) }],
    ['alias of every kind of character', { alias: '0Az._-' }],
    ['alias of 32 digits', { alias: '0'.repeat(32) }],
    ['subject', { subject: 's'.repeat(998) }],
    ['empty subject', { subject: '' }],
    ['subject with a tab', { subject: 'a\tb' }],
    ['reply_to', { reply_to: addresses(50) }],
    ['html', { html: 'h'.repeat(MB2) }],
    ['html that JSON spells six times as long', { html: '\u0001'.repeat(MB2) }],
    ['text', { html: '', text: 'é'.repeat(MB2 / 2) }],
    ['html and text', { html: 'h'.repeat(MB2 - 1), text: 't' }],
    ['variables', { variables: many(50) }],
    ['key', variable({ key: 'K'.repeat(50) })],
    ['key of one digit', variable({ key: '1' })],
    ['key named like a part of JavaScript', variable({ key: '__proto__' })],
    ['reserved word in another letter case', variable({ key: 'first_name' })],
    ['fallback of a string', variable({ fallback_value: 'f'.repeat(2000) })],
    ['fallback of emoji', variable({ fallback_value: '\u{1F600}'.repeat(2000) })],
    ['empty fallback', variable({ fallback_value: '' })],
    ['fallback of a number', variable({ type: 'number', fallback_value: -1.7976931348623157e308 })],
    ['fallback of 0', variable({ type: 'number', fallback_value: 0 })],
  ])('is accepted: %s', async (_, fields) => {
    const made = await post(fields);
    expect(made.status, made.text.slice(0, 300)).toBe(201);
    expect(await read(made.body.id)).toMatchObject(fields);
    await scene.api('DELETE', `/templates/${made.body.id}`, { key: team.key });
  });
});

describe('the smallest invalid value of a template field', () => {
  it.each([
    ['name', 'nothing', { name: '' }],
    ['name', 'only spaces', { name: '  ' }],
    ['name', 'too long', { name: 'n'.repeat(201) }],
    ['alias', 'nothing', { alias: '' }],
    ['alias', 'too long', { alias: 'a'.repeat(101) }],
    ['alias', 'a hyphen in front', { alias: '-a' }],
    ['alias', 'a dot', { alias: '.' }],
    ['alias', 'a space', { alias: 'a b' }],
    ['alias', 'a slash', { alias: 'a/b' }],
    ['alias', 'a line break behind', { alias: 'a\n' }],
    ['alias', 'a letter with an accent', { alias: 'é' }],
    ['alias', 'an emoji', { alias: '\u{1F600}' }],
    ['alias', 'a UUID', { alias: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05' }],
    ['alias', 'a UUID in upper case', { alias: '019A9C1E-7D52-7C3A-9A54-0B8F4C1F2E05' }],
    ['from', 'nothing', { from: '' }],
    ['from', 'no address', { from: 'nobody' }],
    ['from', 'two addresses', { from: 'a@example.com, b@example.com' }],
    ['from', 'a header behind', { from: 'a@example.com\r\nBcc: b@example.com' }],
    ['from', 'a variable, which would go out as it is written', { from: '{{{NAME|Team}}} <a@example.com>' }],
    ['from', 'a variable as the address', { from: '{{{NAME}}}@example.com' }],
    ['reply_to', 'no address', { reply_to: 'nobody' }],
    ['reply_to.1', 'a variable', { reply_to: ['a@example.com', '{{{ KEY }}} <b@example.com>'] }],
    ['reply_to.1', 'one that is no address', { reply_to: ['a@example.com', 'nobody'] }],
    ['reply_to', 'too many', { reply_to: addresses(51) }],
    ['subject', 'too long', { subject: 's'.repeat(999) }],
    ['subject', 'too many bytes', { subject: 'é'.repeat(500) }],
    ['subject', 'a line break', { subject: 'a\nBcc: b@example.com' }],
    ['subject', 'a line separator', { subject: 'a\u2028b' }],
    ['subject', 'a line break in a default', { subject: '{{{A|x\r\nBcc: b@example.com}}}' }],
    ['html', 'too long', { html: 'h'.repeat(MB2 + 1) }],
    ['html', 'too many bytes', { html: 'é'.repeat(MB2 / 2) + 'h' }],
    ['html', 'together too long', { html: 'h'.repeat(MB2), text: 't' }],
    ['text', 'too long', { html: '', text: 't'.repeat(MB2 + 1) }],
    ['variables', 'too many', { variables: many(51) }],
    ['variables', 'no list', { variables: { key: 'A', type: 'string' } }],
    ['variables.0', 'no object', { variables: ['A'] }],
    ['variables.0.key', 'nothing', variable({ key: '' })],
    ['variables.0.key', 'too long', variable({ key: 'K'.repeat(51) })],
    ['variables.0.key', 'a hyphen', variable({ key: 'A-B' })],
    ['variables.0.key', 'a line break behind', variable({ key: 'A\n' })],
    ['variables.0.key', 'another alphabet', variable({ key: 'Ä' })],
    ['variables.0.type', 'another type', variable({ type: 'boolean' })],
    ['variables.0.fallback_value', 'too long', variable({ fallback_value: 'f'.repeat(2001) })],
    ['variables.0.fallback_value', 'too many emoji', variable({ fallback_value: '\u{1F600}'.repeat(2001) })],
    ['variables.0.fallback_value', 'a number for a string', variable({ fallback_value: 1 })],
    ['variables.0.fallback_value', 'a string for a number', variable({ type: 'number', fallback_value: '1' })],
    ['variables.0.fallback_value', 'a boolean', variable({ fallback_value: true })],
    ['variables.0.id', 'a field that is ours', variable({ id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05' })],
    ['status', 'a field that is ours', { status: 'published' }],
    ...['FIRST_NAME', 'LAST_NAME', 'EMAIL', 'UNSUBSCRIBE_URL', 'PREFERENCES_URL', 'contact', 'this'].map(
      (key): [string, string, object] => ['variables.0.key', `the reserved ${key}`, variable({ key })],
    ),
  ])('is refused in %s: %s', async (path, _, fields) => {
    for (const answer of [await post(fields), await patch(fields)]) {
      expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error' } });
      // Returns the last word of the path, without the s of a list.
      const word =
        path
          .replace(/s?(\.\d+)*$/, '')
          .split('.')
          .at(-1) ?? '';
      expect(answer.body.errors).toEqual([{ path, message: expect.stringContaining(word) }]);
      expect(answer.text.length).toBeLessThan(1000);
    }
  });

  it('includes a fallback beyond the largest number', async () => {
    const body = '{"name":"x","html":"x","variables":[{"key":"A","type":"number","fallback_value":1e400}]}';
    expect(await scene.api('POST', '/templates', { key: team.key, body })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'variables.0.fallback_value' }] },
    });
  });

  it('includes a key declared twice', async () => {
    const variables = [...many(2), { key: 'V0', type: 'number' }];
    expect((await post({ variables })).body.errors).toEqual([
      { path: 'variables.2.key', message: expect.stringContaining('V0') },
    ]);
  });

  it('includes a variable without key or type', async () => {
    for (const [fields, field] of [
      [{ type: 'string' }, 'key'],
      [{ key: 'A' }, 'type'],
    ] as const) {
      expect(await post({ variables: [fields] })).toMatchObject({
        status: 422,
        body: { name: 'missing_required_field', message: `Missing required field: variables.0.${field}.` },
      });
    }
  });

  it('is reported with all other invalid fields', async () => {
    const { body } = await post({
      from: 'x',
      reply_to: 'y',
      subject: '\n',
      variables: [{ key: 'EMAIL', type: 'number' }],
    });
    expect(body.errors.map((error: { path: string }) => error.path)).toEqual([
      'from',
      'reply_to',
      'subject',
      'variables.0.key',
    ]);
  });

  it('includes a change that is too long only together with the stored fields', async () => {
    const made = await post({ html: 'h'.repeat(MB2 - 1) });
    const change = (text: string) =>
      scene.api('PATCH', `/templates/${made.body.id}`, { key: team.key, body: { text } });
    expect((await change('t')).status).toBe(200);
    expect(await change('tt')).toMatchObject({ status: 400, body: { errors: [{ path: 'html' }] } });
    expect((await read(made.body.id)).text).toBe('t');
  });

  it('is never written', async () => {
    expect(await read(id)).toMatchObject({ name: 'One', html: '<p>x</p>', alias: null, subject: null, variables: [] });
  });
});
