import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
async function create(body: object = {}): Promise<string> {
  const made = await call('POST', '/templates', { name: 'One', html: '<p>One</p>', ...body });
  expect(made.status, made.text).toBe(201);
  return made.body.id;
}
const read = async (id: string) => (await call('GET', `/templates/${id}`)).body;
const publish = (id: string) => call('POST', `/templates/${id}/publish`);
const iso = () => new Date(scene.clock.now()).toISOString();
const versionIds = async (id: string) => {
  const sql = 'select id from template_versions where template_id = ? order by id';
  return (await scene.app.world.db.all<{ id: string }>(sql, [id])).map((row) => row.id);
};

describe('publishing a template', () => {
  it('makes the draft the current version', async () => {
    const id = await create();
    const draft = await read(id);
    scene.clock.advance(1000);
    expect(await publish(id)).toMatchObject({ status: 200, body: { object: 'template', id } });
    expect(await read(id)).toEqual({
      ...draft,
      status: 'published',
      published_at: iso(),
      updated_at: iso(),
      has_unpublished_versions: false,
    });
  });

  it('again changes nothing', async () => {
    const id = await create();
    await publish(id);
    const before = await read(id);
    scene.clock.advance(1000);
    expect((await publish(id)).status).toBe(200);
    expect(await read(id)).toEqual(before);
  });

  it('is needed again after the draft was changed', async () => {
    const id = await create();
    await publish(id);
    const first = (await read(id)).current_version_id;
    await call('PATCH', `/templates/${id}`, { html: '<p>Two</p>' });
    const changed = { status: 'published', html: '<p>Two</p>', has_unpublished_versions: true };
    expect(await read(id)).toMatchObject({ ...changed, current_version_id: first });
    await call('PATCH', `/templates/${id}`, { text: 'Two' });
    expect(await versionIds(id)).toHaveLength(2);
    await publish(id);
    const after = await read(id);
    expect(after).toMatchObject({ ...changed, text: 'Two', has_unpublished_versions: false });
    expect(after.current_version_id).not.toBe(first);
    expect(await versionIds(id)).toEqual([first, after.current_version_id]);
  });

  it('is not needed after a change of name or alias only', async () => {
    const id = await create();
    await publish(id);
    await call('PATCH', `/templates/${id}`, { name: 'New', alias: 'new-alias' });
    expect(await read(id)).toMatchObject({ name: 'New', alias: 'new-alias', has_unpublished_versions: false });
    expect(await versionIds(id)).toHaveLength(1);
  });

  it('keeps the newest twenty versions', async () => {
    const id = await create();
    const published: string[] = [];
    for (let i = 0; i < 23; i++) {
      scene.clock.advance(1);
      await call('PATCH', `/templates/${id}`, { html: `<p>${i}</p>` });
      await publish(id);
      published.push((await read(id)).current_version_id);
    }
    expect(await versionIds(id)).toEqual(published.slice(-20));
    expect(await read(id)).toMatchObject({ html: '<p>22</p>', has_unpublished_versions: false });
  });

  it('many times at once publishes one version', async () => {
    const id = await create();
    const answers = await Promise.all(Array.from({ length: 6 }, () => publish(id)));
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(await versionIds(id)).toHaveLength(1);
  });
});

describe('publishing a template refuses', () => {
  const refused = (path: string, words: string) => ({
    status: 422,
    body: {
      name: 'validation_error',
      message: expect.stringContaining(words) as string,
      errors: [{ path, message: expect.stringContaining(words) as string }],
    },
  });

  it.each(['html', 'text', 'subject'])('an undeclared variable in %s', async (field) => {
    for (const use of ['{{{MISSPELT}}}', '{{{ MISSPELT }}}', '{{{MISSPELT|default}}}', '{{{misspelt}}}']) {
      const id = await create({ [field]: `Hello ${use}`, variables: [{ key: 'Misspelt', type: 'string' }] });
      const key = use.includes('m') ? 'misspelt' : 'MISSPELT';
      expect(await publish(id)).toMatchObject(refused(field, `{{{${key}}}}`));
      expect((await read(id)).status).toBe('draft');
      await call('PATCH', `/templates/${id}`, { variables: [{ key, type: 'string' }] });
      expect((await publish(id)).status).toBe(200);
    }
  });

  it('a variable in the subject with a fallback of more than one line', async () => {
    const variables = [{ key: 'A', type: 'string', fallback_value: 'x\r\nBcc: b@example.com' }];
    expect(await publish(await create({ subject: '{{{A}}}', variables }))).toMatchObject(refused('subject', '{{{A}}}'));
    expect((await publish(await create({ text: '{{{A}}}', variables }))).status).toBe(200);
  });

  it('with at most twenty errors', async () => {
    const html = Array.from({ length: 10_000 }, (_, i) => `{{{V${i}}}}`).join('');
    const { status, body } = await publish(await create({ html }));
    expect([status, body.errors.length, body.errors[0].path]).toEqual([422, 20, 'html']);
  });

  it.each([
    [
      'what campaigns know by themselves',
      '{{{FIRST_NAME|you}}} {{{LAST_NAME}}} {{{EMAIL}}} {{{UNSUBSCRIBE_URL}}} {{{PREFERENCES_URL}}}',
    ],
    ['what does not have the form of a variable', '{{A}} {{{a-b}}} {{{contact.first_name}}} {{{}}} {{{'],
  ])('not %s', async (_, html) => expect((await publish(await create({ html }))).status).toBe(200));
});
