import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
});
afterAll(() => scene.close());

const call = (method: string, path: string, body?: unknown, key = team.key) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
async function create(body: object = {}, key?: string): Promise<string> {
  const made = await call('POST', '/templates', { name: 'One', html: '<p>One</p>', ...body }, key);
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}
const read = async (name: string) => (await call('GET', `/templates/${name}`)).body;
const iso = () => new Date(scene.clock.now()).toISOString();
const versions = async (id: string) => {
  const sql = 'select count(*) as n from template_versions where template_id = ?';
  return Number((await scene.app.world.db.get<{ n: number }>(sql, [id]))?.n);
};

const complete = {
  name: 'Order confirmation',
  html: '<p>{{{PRODUCT}}} for {{{PRICE|nothing}}}</p>',
  alias: 'order-confirmation',
  from: 'Example <orders@mail.example.com>',
  subject: 'Your {{{PRODUCT}}}',
  reply_to: ['a@example.com', 'B <b@example.com>'],
  text: '{{{PRODUCT}}}',
  variables: [
    { key: 'PRODUCT', type: 'string', fallback_value: 'item' },
    { key: 'PRICE', type: 'number' },
  ],
};

describe('a new template', () => {
  it('is a draft that is returned as it was written', async () => {
    const { status, body } = await call('POST', '/templates', complete);
    expect([status, body]).toEqual([201, { object: 'template', id: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;
    const stamps = { id: uuid, created_at: iso(), updated_at: iso() };
    expect(await read(body.id)).toEqual({
      ...complete,
      ...stamps,
      object: 'template',
      id: body.id,
      current_version_id: uuid,
      variables: [
        { ...stamps, key: 'PRODUCT', type: 'string', fallback_value: 'item' },
        { ...stamps, key: 'PRICE', type: 'number', fallback_value: null },
      ],
      status: 'draft',
      changed_by_app: null,
      published_at: null,
      has_unpublished_versions: true,
    });
  });

  it('requires only a name and html', async () => {
    const found = await read(await create({ name: 'Short', html: '' }));
    const nothing = { alias: null, from: null, subject: null, reply_to: [], text: null, variables: [] };
    expect(found).toMatchObject({ ...nothing, name: 'Short', html: '', status: 'draft' });
  });

  it('may omit fields by null, and reply_to may be one address', async () => {
    const nothing = { alias: null, from: null, subject: null, text: null, variables: null };
    expect(await read(await create({ ...nothing, reply_to: null }))).toMatchObject({ ...nothing, variables: [] });
    expect(await read(await create({ reply_to: ' r@example.com ' }))).toMatchObject({ reply_to: ['r@example.com'] });
    expect(await read(await create({ reply_to: [] }))).toMatchObject({ reply_to: [] });
  });

  it.each([
    [{}, 'name. Also missing: html'],
    [{ html: '<p>x</p>' }, 'name'],
    [{ name: 'x' }, 'html'],
  ])('with %j is missing %s', async (body, field) => {
    expect(await call('POST', '/templates', body)).toMatchObject({
      status: 422,
      body: { name: 'missing_required_field', message: `Missing required field: ${field}.` },
    });
  });
});

describe('the list of templates', () => {
  it('shows templates newest first, without their content', async () => {
    const owner = await scene.team();
    const first = await create({ name: 'First', alias: 'first' }, owner.key);
    const second = await create({ name: 'Second' }, owner.key);
    await call('POST', `/templates/${first}/publish`, undefined, owner.key);
    const item = { alias: null, changed_by_app: null, published_at: null, created_at: iso(), updated_at: iso() };
    // Each change of a template has a later time than the one before, also within a millisecond.
    const published = new Date(scene.clock.now() + 1).toISOString();
    expect((await call('GET', '/templates', undefined, owner.key)).body).toEqual({
      object: 'list',
      has_more: false,
      data: [
        { ...item, id: second, name: 'Second', status: 'draft' },
        {
          ...item,
          id: first,
          name: 'First',
          alias: 'first',
          status: 'published',
          published_at: published,
          updated_at: published,
        },
      ],
    });
  });
});

describe('the path of a template', () => {
  it('names it by its alias, percent-encoded or not, and by its id in either letter case', async () => {
    const id = await create({ alias: 'Path_to.a-Template' });
    for (const name of ['Path_to.a-Template', '%50ath%5Fto%2Ea%2DTemplate', id, id.toUpperCase()]) {
      expect((await read(name)).id, name).toBe(id);
    }
    expect((await call('PATCH', '/templates/Path_to.a-Template', { name: 'New' })).body.id).toBe(id);
    expect((await call('POST', '/templates/Path_to.a-Template/publish')).body).toEqual({ object: 'template', id });
    expect((await call('POST', '/templates/Path_to.a-Template/duplicate')).status).toBe(201);
    expect((await call('DELETE', '/templates/%50ath_to.a-Template')).body).toEqual({
      object: 'template',
      id,
      deleted: true,
    });
  });

  it('names it by its alias in the original letter case', async () => {
    const id = await create({ alias: 'Case' });
    const lower = await create({ alias: 'case' });
    expect([(await read('Case')).id, (await read('case')).id]).toEqual([id, lower]);
    expect((await call('GET', '/templates/CASE')).status).toBe(404);
  });

  it.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/publish'],
    ['POST', '/duplicate'],
  ])('returns 404 for %s /templates/…%s of another team, by id and by alias', async (method, tail) => {
    const alias = `theirs-${method}${tail.slice(1)}`;
    const id = await create({ alias });
    const stranger = await scene.team();
    for (const name of [id, alias]) {
      const answer = await call(method, `/templates/${name}${tail}`, undefined, stranger.key);
      expect(answer).toMatchObject({ status: 404, body: { name: 'not_found', message: 'Template not found.' } });
    }
    expect((await read(id)).id).toBe(id);
  });

  it.each(['-x', '.x', '_x', 'a%2Fb', 'a%20b', 'a'.repeat(101), 'a%0A', '%C3%A9'])(
    'with %s returns 422, because it cannot exist',
    async (name) => {
      expect(await call('GET', `/templates/${name}`)).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringContaining('template must be') },
      });
    },
  );

  it('requires full_access', async () => {
    const key = await team.sendingKey();
    const refused = { status: 401, body: { name: 'restricted_api_key' } };
    expect(await call('GET', '/templates', undefined, key)).toMatchObject(refused);
    expect(await call('POST', '/templates', { name: 'x', html: 'x' }, key)).toMatchObject(refused);
  });
});

describe('the alias of a template', () => {
  it('names one template of a team, and is free again once that is deleted', async () => {
    const id = await create({ alias: 'only-one' });
    const other = await create();
    const taken = {
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining('only-one'), errors: [{ path: 'alias' }] },
    };
    expect(await call('POST', '/templates', { name: 'x', html: 'x', alias: 'only-one' })).toMatchObject(taken);
    expect(await call('PATCH', `/templates/${other}`, { alias: 'only-one' })).toMatchObject(taken);
    expect((await read(other)).alias).toBeNull();
    expect((await call('PATCH', '/templates/only-one', { alias: 'only-one' })).status).toBe(200);
    const stranger = await scene.team();
    await create({ alias: 'only-one' }, stranger.key);
    await call('DELETE', `/templates/${id}`);
    await call('PATCH', `/templates/${other}`, { alias: 'only-one' });
    expect((await read('only-one')).id).toBe(other);
    await call('PATCH', `/templates/${other}`, { alias: null });
    expect((await call('GET', '/templates/only-one')).status).toBe(404);
  });

  it('is given to one of many requests at once', async () => {
    const asked = Array.from({ length: 8 }, () => call('POST', '/templates', { name: 'x', html: 'x', alias: 'raced' }));
    const statuses = (await Promise.all(asked)).map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 422)]);
  });
});

describe('a change of a template', () => {
  it('keeps the fields it does not name', async () => {
    const id = await create({ ...complete, alias: 'patched' });
    const before = await read(id);
    scene.clock.advance(1000);
    expect((await call('PATCH', `/templates/${id}`, { subject: 'New' })).body).toEqual({ object: 'template', id });
    expect(await read(id)).toEqual({ ...before, subject: 'New', updated_at: iso() });
    const stamp = iso();
    scene.clock.advance(1000);
    expect((await call('PATCH', `/templates/${id}`, {})).status).toBe(200);
    expect((await read(id)).updated_at).toBe(stamp);
  });

  it('removes optional fields by null', async () => {
    const id = await create({ ...complete, alias: 'emptied' });
    const nothing = { alias: null, from: null, subject: null, text: null };
    const change = { ...nothing, reply_to: null, variables: null };
    expect((await call('PATCH', `/templates/${id}`, change)).status).toBe(200);
    expect(await read(id)).toMatchObject({ ...nothing, reply_to: [], variables: [], html: complete.html });
  });

  it.each(['name', 'html'])('cannot remove %s', async (field) => {
    const id = await create();
    expect(await call('PATCH', `/templates/${id}`, { [field]: null })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: field }] },
    });
  });

  it('replaces the variables, and a key that stays is the same variable', async () => {
    const id = await create({ variables: ['A', 'B', 'C'].map((key) => ({ key, type: 'string' })) });
    const [a, b] = (await read(id)).variables;
    const made = iso();
    scene.clock.advance(1000);
    const variables = [
      { key: 'B', type: 'number', fallback_value: 1 },
      { key: 'A', type: 'string', fallback_value: null },
      { key: 'D', type: 'string', fallback_value: '' },
    ];
    await call('PATCH', `/templates/${id}`, { variables });
    expect((await read(id)).variables).toMatchObject([
      { ...b, type: 'number', fallback_value: 1, created_at: made, updated_at: iso() },
      a,
      { key: 'D', fallback_value: '', created_at: iso() },
    ]);
  });

  it('does not undo a concurrent change of another field', async () => {
    const id = await create();
    await call('POST', `/templates/${id}/publish`);
    const fields = { name: 'N', html: 'H', text: 'T', subject: 'S', from: 'f@example.com', alias: 'many-at-once' };
    await Promise.all(
      Object.entries(fields).map(([field, value]) => call('PATCH', `/templates/${id}`, { [field]: value })),
    );
    expect(await read(id)).toMatchObject(fields);
    // One version was published, and all changes together made one draft.
    expect(await versions(id)).toBe(2);
  });
});

describe('a duplicate of a template', () => {
  it('is a draft with the latest content, under a name and ids of its own', async () => {
    const id = await create({ ...complete, alias: 'original' });
    await call('POST', `/templates/${id}/publish`);
    await call('PATCH', `/templates/${id}`, { html: '<p>Unpublished</p>' });
    scene.clock.advance(1000);
    const { status, body } = await call('POST', '/templates/original/duplicate');
    expect(status).toBe(201);
    const before = await read(id);
    const copy = await read(body.id);
    expect(copy).toMatchObject({
      name: 'Copy of Order confirmation',
      alias: null,
      status: 'draft',
      published_at: null,
      has_unpublished_versions: true,
      html: '<p>Unpublished</p>',
      from: complete.from,
      subject: complete.subject,
      reply_to: complete.reply_to,
      text: complete.text,
      created_at: iso(),
      variables: complete.variables,
    });
    const toIds = (template: typeof copy) => [
      template.id,
      template.current_version_id,
      ...template.variables.map((variable: { id: string }) => variable.id),
    ];
    expect(new Set([...toIds(before), ...toIds(copy)]).size).toBe(8);
    await call('PATCH', `/templates/${body.id}`, { html: 'changed' });
    expect((await read(id)).html).toBe('<p>Unpublished</p>');
  });

  it('has a name within the limit', async () => {
    const id = await create({ name: '\u{1F600}'.repeat(200) });
    const { body } = await call('POST', `/templates/${id}/duplicate`);
    expect((await read(body.id)).name).toBe(`Copy of ${'\u{1F600}'.repeat(192)}`);
  });
});

describe('deleting a template', () => {
  it('deletes the template and its versions, once', async () => {
    const id = await create();
    await call('POST', `/templates/${id}/publish`);
    await call('PATCH', `/templates/${id}`, { html: 'x' });
    const answers = await Promise.all([1, 2, 3].map(() => call('DELETE', `/templates/${id}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404]);
    expect((await call('GET', `/templates/${id}`)).status).toBe(404);
    expect(await versions(id)).toBe(0);
  });

  it('during concurrent changes and publishing leaves nothing of it behind', async () => {
    const id = await create();
    const answers = await Promise.all([
      call('PATCH', `/templates/${id}`, { html: 'a' }),
      call('POST', `/templates/${id}/publish`),
      call('PATCH', `/templates/${id}`, { html: 'b' }),
      call('DELETE', `/templates/${id}`),
      call('PATCH', `/templates/${id}`, { html: 'c' }),
      call('POST', `/templates/${id}/publish`),
    ]);
    for (const answer of answers) expect([200, 404]).toContain(answer.status);
    expect(await versions(id)).toBe(0);
  });
});

describe('a request without a body', () => {
  it.each(['application/json', 'text/plain', null])('is an empty body with the content type %s', async (type) => {
    const id = await create();
    const headers = { 'content-type': type };
    for (const [method, tail, status] of [
      ['POST', '/publish', 200],
      ['POST', '/duplicate', 201],
      ['PATCH', '', 200],
      ['DELETE', '', 200],
    ] as const) {
      const answer = await scene.api(method, `/templates/${id}${tail}`, { key: team.key, headers });
      expect(answer.status, `${method} ${tail}`).toBe(status);
    }
  });

  it('to publish or duplicate may be an empty object, and any field is refused', async () => {
    const id = await create();
    for (const tail of ['publish', 'duplicate']) {
      expect((await call('POST', `/templates/${id}/${tail}`, {})).status).toBeLessThan(300);
      expect(await call('POST', `/templates/${id}/${tail}`, { name: 'x' })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'name' }] },
      });
    }
  });
});

it('a template alias may have 36 characters that are not a UUID', async () => {
  const alias = `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(11)}g`;
  const id = await create({ alias });
  expect((await read(alias)).id).toBe(id);
});
