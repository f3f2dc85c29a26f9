import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveTemplate } from '../../../src/features/templates/templates/resolve-template.ts';
import type { TemplateUse } from '../../../src/mail/accept/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
afterAll(() => scene.close());

const call = (method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
async function published(body: object = {}): Promise<string> {
  const made = await call('POST', '/templates', { name: 'One', html: '<p>One</p>', ...body });
  const answer = await call('POST', `/templates/${made.body.id}/publish`);
  expect(answer.status, answer.text).toBe(200);
  return made.body.id;
}
const resolve = (id: string, variables?: TemplateUse['variables'], more: Partial<TemplateUse> = {}) =>
  resolveTemplate(scene.app.world, team.id, { id, variables, ...more });
const hostile = `<script>alert("1")</script>&'`;
const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
const word = (key: string, fallback_value?: string) => ({ key, type: 'string', fallback_value });

describe('a template used in a send', () => {
  it('supplies its content', async () => {
    const id = await published({
      html: '<p>{{{A}}}</p>',
      text: '{{{A}}}',
      subject: 'On {{{A}}}',
      from: 'E <e@example.com>',
      reply_to: ['r@example.com'],
      variables: [word('A')],
      alias: 'resolved',
    });
    const whole = {
      templateId: id,
      html: '<p>v</p>',
      text: 'v',
      subject: 'On v',
      from: 'E <e@example.com>',
      replyTo: ['r@example.com'],
    };
    for (const name of [id, id.toUpperCase(), 'resolved']) expect(await resolve(name, { A: 'v' })).toEqual(whole);
    expect(await resolve(id, { A: 'v' }, { subject: 'My {{{A}}}' })).toEqual({ ...whole, subject: 'My {{{A}}}' });
  });

  it('sends html alone without a generated text, and omits absent fields', async () => {
    const id = await published();
    expect(await resolve(id)).toEqual({ templateId: id, html: '<p>One</p>', text: null });
    expect(await resolve(id, null)).toEqual({ templateId: id, html: '<p>One</p>', text: null });
  });

  it('uses the value of the send, or else the inline default, or else the fallback', async () => {
    const id = await published({ html: '{{{A|inline}}} {{{A}}}', variables: [word('A', 'fallback')] });
    expect((await resolve(id, { A: 'given' })).html).toBe('given given');
    expect((await resolve(id, { A: '' })).html).toBe(' ');
    expect((await resolve(id)).html).toBe('inline fallback');
  });

  it('renders numbers as they are', async () => {
    const id = await published({
      html: '{{{N}}} {{{F}}}',
      variables: [
        { key: 'N', type: 'number' },
        { key: 'F', type: 'number', fallback_value: 2.5 },
      ],
    });
    expect((await resolve(id, { N: -0.1 })).html).toBe('-0.1 2.5');
    expect((await resolve(id, { N: 0, F: 1e21 })).html).toBe('0 1e+21');
  });

  it('escapes every value in html and none in text and subject', async () => {
    const text = `{{{A}}} {{{B|${hostile}}}} {{{C}}}`;
    const variables = [word('A'), word('B'), word('C', hostile)];
    const id = await published({ html: `<a href='{{{A}}}'>${text}</a>`, text, subject: text, variables });
    const raw = `${hostile} ${hostile} ${hostile}`;
    expect(await resolve(id, { A: hostile })).toMatchObject({
      html: `<a href='${safe}'>${safe} ${safe} ${safe}</a>`,
      text: raw,
      subject: raw,
    });
  });

  it('does not expand variables inside values', async () => {
    const id = await published({ html: '{{{A}}} {{{B}}}', variables: [word('A'), word('B', 'secret')] });
    expect((await resolve(id, { A: '{{{B}}}' })).html).toBe('{{{B}}} secret');
  });

  it('renders variables of campaigns empty', async () => {
    const id = await published({ html: 'Hi {{{FIRST_NAME|you}}}{{{UNSUBSCRIBE_URL}}}!' });
    expect((await resolve(id)).html).toBe('Hi you!');
  });

  it('accepts keys and values named like parts of JavaScript', async () => {
    const keys = ['__proto__', 'constructor', 'toString'];
    const id = await published({
      html: keys.map((key) => `{{{${key}|none}}}`).join(),
      variables: keys.map((key) => word(key)),
    });
    expect((await resolve(id)).html).toBe('none,none,none');
    const given = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as Record<string, string>;
    expect((await resolve(id, given)).html).toBe('a,b,c');
  });
});

describe('POST /emails with a template', () => {
  it('sends the rendered template with hostile values escaped, and the send may replace from and subject', async () => {
    const { name: domain } = await team.domain();
    const content = { html: '<p>{{{A}}}</p>', text: '{{{A}}}', subject: 'On {{{A}}}', variables: [word('A')] };
    await published({ ...content, from: `e@${domain}`, reply_to: 'r@example.com', alias: 'over-the-wire' });
    const send = async (more: object) => {
      const body = { to: 'x@example.org', template: { id: 'over-the-wire', variables: { A: hostile } }, ...more };
      const sent = await call('POST', '/emails', body);
      expect(sent.status, sent.text).toBe(200);
      return (await call('GET', `/emails/${sent.body.id}`)).body;
    };
    const bodies = { html: `<p>${safe}</p>`, text: hostile };
    const theirs = { from: `e@${domain}`, subject: `On ${hostile}`, reply_to: ['r@example.com'] };
    expect(await send({})).toMatchObject({ ...bodies, ...theirs });
    const own = { from: `o@${domain}`, subject: 'Mine', reply_to: ['mine@example.com'] };
    expect(await send(own)).toMatchObject({ ...bodies, ...own });
    const broken = { id: 'over-the-wire', variables: { A: 'x\r\nBcc: b@example.com' } };
    expect(await call('POST', '/emails', { to: 'x@example.org', template: broken })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'template.variables.A' }] },
    });
  });
});

describe('the published version of a template is sent', () => {
  it('under its id and its alias, and never a newer draft', async () => {
    const id = await published({ html: 'one', alias: 'sent-by-alias' });
    expect((await resolve('sent-by-alias')).html).toBe('one');
    await call('PATCH', `/templates/${id}`, { html: 'two', subject: 'two' });
    expect(await resolve('sent-by-alias')).toEqual({ templateId: id, html: 'one', text: null });
    await call('POST', `/templates/${id}/publish`);
    expect((await resolve('sent-by-alias')).html).toBe('two');
    await call('PATCH', `/templates/${id}`, { html: 'three' });
    expect((await resolve(id)).html).toBe('two');
    await call('PATCH', `/templates/${id}`, { alias: 'renamed' });
    await expect(resolve('sent-by-alias')).rejects.toMatchObject({ status: 404 });
    expect((await resolve('renamed')).html).toBe('two');
    await call('DELETE', `/templates/${id}`);
    for (const name of [id, 'renamed']) await expect(resolve(name)).rejects.toMatchObject({ status: 404 });
  });

  it('after an alias has moved to another template', async () => {
    const one = await published({ html: 'one', alias: 'moves' });
    const two = await published({ html: 'two' });
    expect((await resolve('moves')).templateId).toBe(one);
    await call('PATCH', `/templates/${one}`, { alias: null });
    await call('PATCH', `/templates/${two}`, { alias: 'moves' });
    expect(await resolve('moves')).toMatchObject({ templateId: two, html: 'two' });
  });

  it('from more templates than fit in the memory cache', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push(await published({ html: `${i}${'h'.repeat(2_000_000)}` }));
    for (const i of [0, 11, 5, 0, 3, 11])
      expect((await resolve(ids[i] ?? '')).html.slice(0, 3)).toBe(`${i}hh`.slice(0, 3));
  });
});

describe('a send with a template is refused', () => {
  const fault = (key: string, words: string) => ({
    errorName: 'validation_error',
    status: 400,
    errors: [{ path: `template.variables.${key}`, message: expect.stringContaining(words) as string }],
  });

  it('if the template is unknown or belongs to another team', async () => {
    const id = await published({ alias: 'theirs' });
    const stranger = await scene.team();
    const missing = { errorName: 'not_found', status: 404, message: 'Template not found.' };
    for (const name of ['nothing', '', ' ', '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e05', "x' or 1=1", 'x'.repeat(100_000)]) {
      await expect(resolve(name), name.slice(0, 50)).rejects.toMatchObject(missing);
    }
    for (const name of [id, 'theirs', `${team.id} theirs`]) {
      await expect(resolveTemplate(scene.app.world, stranger.id, { id: name })).rejects.toMatchObject(missing);
    }
  });

  it('if the template is a draft', async () => {
    const { body } = await call('POST', '/templates', { name: 'x', html: 'x', alias: 'still-draft' });
    for (const name of [body.id, 'still-draft']) {
      await expect(resolve(name)).rejects.toMatchObject({
        errorName: 'validation_error',
        status: 422,
        message: expect.stringContaining('publish it') as string,
        errors: [{ path: 'template.id' }],
      });
    }
  });

  it.each([
    ['a key that is not declared', { X: 'x' }, 'X', 'declared are A, N'],
    ['a key in another letter case', { a: 'x' }, 'a', 'declared are A, N'],
    ['a key that campaigns know', { EMAIL: 'x' }, 'EMAIL', 'is not a variable'],
    ['a number for a string', { A: 1 }, 'A', 'must be a string'],
    ['a string for a number', { N: '1' }, 'N', 'must be a number'],
    ['null', { A: null }, 'A', 'got null'],
    ['a list', { A: ['x'] }, 'A', 'got a list'],
    ['an object', { A: { var: 'x' } }, 'A', 'got an object'],
    ['a boolean', { A: true }, 'A', 'got a boolean'],
    ['a number beyond all numbers', { N: Infinity }, 'N', 'finite'],
    ['a string that is too long', { A: 'x'.repeat(2001) }, 'A', 'at most 2000 characters; got 2001'],
    ['emoji that are too many', { A: '\u{1F600}'.repeat(2001) }, 'A', 'at most 2000 characters; got 2001'],
    ['a line break in the subject', { S: 'x\r\nBcc: b@example.com' }, 'S', 'one line'],
    ['a line separator in the subject', { S: 'x\u2028y' }, 'S', 'one line'],
  ] as const)('with %s', async (_, variables, key, words) => {
    const id = await published({
      html: '{{{A}}}{{{N}}}',
      subject: '{{{S}}}',
      variables: [word('A', 'a'), { key: 'N', type: 'number', fallback_value: 1 }, word('S', 's')],
    });
    await expect(resolve(id, variables)).rejects.toMatchObject(fault(key, words));
  });

  it('if a value has one character too many or a line break in the subject, but not at the limit or without a subject', async () => {
    const id = await published({ html: '{{{A}}}', subject: '{{{S}}}', variables: [word('A'), word('S', 's')] });
    expect((await resolve(id, { A: '\u{1F600}'.repeat(2000) })).html).toHaveLength(4000);
    expect((await resolve(id, { A: 'x\r\ny' })).html).toBe('x\r\ny');
    const own = await resolve(id, { A: 'x', S: 'x\ny' }, { subject: 'Mine' });
    expect(own.subject).toBe('Mine');
  });

  it('if a required value is missing', async () => {
    const id = await published({
      html: '{{{A}}}{{{A|default}}}',
      text: '{{{B|default}}}{{{C}}}',
      subject: '{{{S}}}',
      variables: [word('A'), word('B'), word('C', ''), word('S'), word('UNUSED')],
    });
    const missing = (...keys: string[]) => ({
      status: 400,
      errors: keys.map((key) => ({
        path: `template.variables.${key}`,
        message: expect.stringContaining('is missing') as string,
      })),
    });
    await expect(resolve(id)).rejects.toMatchObject(missing('A', 'S'));
    await expect(resolve(id, { S: 's' })).rejects.toMatchObject(missing('A'));
    await expect(resolve(id, {}, { subject: 'Mine' })).rejects.toMatchObject(missing('A'));
    expect(await resolve(id, { A: 'a', S: 's' })).toMatchObject({ html: 'aa', text: 'default', subject: 's' });
  });

  it('with all errors reported', async () => {
    const id = await published({ html: '{{{A}}}', variables: [word('A'), { key: 'N', type: 'number' }] });
    await expect(resolve(id, { X: 1, N: 'n' })).rejects.toMatchObject({
      errors: ['X', 'N', 'A'].map((key) => ({ path: `template.variables.${key}` })),
    });
  });

  it('briefly, for too many values or very long keys', async () => {
    const id = await published({ variables: [word('A')] });
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`K${i}`, 'x']));
    await expect(resolve(id, many)).rejects.toMatchObject({ status: 400, errors: [{ path: 'template.variables' }] });
    const refusal = await resolve(id, { ['K'.repeat(1_000_000)]: 'x' }).catch((error: Error) => error);
    expect(JSON.stringify(refusal).length).toBeLessThan(1000);
    expect((refusal as Error).message.length).toBeLessThan(300);
  });

  it('if it would become larger than an email may be, before it is rendered', async () => {
    const html = '{{{A}}}'.repeat(290_000);
    const id = await published({ html, variables: [word('A')] });
    const tooLong = { status: 400, errors: [{ path: 'template.variables' }] };
    await expect(resolve(id, { A: 'x'.repeat(2000) })).rejects.toMatchObject(tooLong);
    // 7.2 characters fit into each place: bytes count, including those added by escaping.
    expect((await resolve(id, { A: 'x'.repeat(7) })).html).toHaveLength(2_030_000);
    await expect(resolve(id, { A: 'é'.repeat(4) })).rejects.toMatchObject(tooLong);
    await expect(resolve(id, { A: '&&' })).rejects.toMatchObject(tooLong);
  });
});
