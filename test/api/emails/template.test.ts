import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const MINUTE_MS = 60_000;

describe('the template field of POST /emails', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    team = await scene.team();
    domain = (await team.domain()).name;
    await publishTemplate({
      alias: 'whole',
      from: `T <t@${domain}>`,
      subject: 'From the template',
      reply_to: 'r@x.test',
    });
    await publishTemplate({ alias: 'bodies' });
  });
  afterAll(() => scene.close());

  async function publishTemplate(fields: object): Promise<void> {
    const body = { name: 'T', html: '<p>{{{WHO|you}}}</p>', text: 'text', ...fields };
    const variables = [{ key: 'WHO', type: 'string' }];
    const { id } = (await scene.api('POST', '/templates', { key: team.key, body: { ...body, variables } })).body;
    await scene.api('POST', `/templates/${id}/publish`, { key: team.key });
  }
  const send = (fields: object) =>
    scene.api('POST', '/emails', { key: team.key, body: { to: 'x@example.org', ...fields } });
  const read = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;

  it('supplies html, text, from, subject and reply_to if the send omits them', async () => {
    const sent = await send({ template: { id: 'whole' } });
    expect(await read(sent.body.id)).toMatchObject({
      from: `T <t@${domain}>`,
      subject: 'From the template',
      reply_to: ['r@x.test'],
      html: '<p>you</p>',
      text: 'text',
    });
  });

  it('yields to the fields of the send', async () => {
    const own = { from: `own@${domain}`, subject: 'Own {{{WHO}}}', reply_to: ['own@x.test'] };
    const sent = await send({ template: { id: 'whole', variables: { WHO: 'A & B' } }, ...own });
    expect(await read(sent.body.id)).toMatchObject({ ...own, html: '<p>A &amp; B</p>' });
  });

  it.each([
    ['html', { html: '<p>own</p>' }],
    ['text', { text: 'own' }],
    ['an empty text', { text: '' }],
  ])('cannot be combined with %s', async (_, fields) => {
    const refused = await send({ template: { id: 'whole' }, ...fields });
    expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error', errors: [{ path: 'template' }] } });
  });

  it('returns 422 for a field that neither it nor the send has, in the order of the fields', async () => {
    for (const [fields, missing] of [
      [{}, 'from'],
      [{ subject: 'S' }, 'from'],
      [{ from: `a@${domain}` }, 'subject'],
    ] as const) {
      const refused = await send({ template: { id: 'bodies' }, ...fields });
      expect(refused).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
      expect(refused.body.message).toContain(`Missing required field: ${missing}.`);
    }
    const noTo = await scene.api('POST', '/emails', { key: team.key, body: { template: { id: 'whole' } } });
    expect(noTo).toMatchObject({ status: 422, body: { message: 'Missing required field: to.' } });
    expect(await send({ template: {} })).toMatchObject({
      status: 422,
      body: { message: 'Missing required field: template.id.' },
    });
  });

  it.each([
    ['no object', 'whole', 'template'],
    ['an empty id', { id: '' }, 'template.id'],
    ['an id of 257 characters', { id: 'x'.repeat(257) }, 'template.id'],
    ['an id that is no string', { id: 7 }, 'template.id'],
    ['an unknown field', { id: 'whole', version: 1 }, 'template.version'],
    ['variables that are no object', { id: 'whole', variables: ['x'] }, 'template.variables'],
    [
      'a variable that is neither string nor number',
      { id: 'whole', variables: { WHO: true } },
      'template.variables.WHO',
    ],
    ['a variable of 2001 characters', { id: 'whole', variables: { WHO: 'x'.repeat(2001) } }, 'template.variables.WHO'],
    ['a variable that is not declared', { id: 'whole', variables: { NOBODY: 'x' } }, 'template.variables.NOBODY'],
  ])('returns 400 for %s, and names it', async (_, template, path) => {
    const refused = await send({ template, from: `a@${domain}`, subject: 'S' });
    expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error', errors: [{ path }] } });
  });

  it('accepts a variable of 2000 characters', async () => {
    const sent = await send({ template: { id: 'whole', variables: { WHO: 'x'.repeat(2000) } } });
    expect((await read(sent.body.id)).html).toBe(`<p>${'x'.repeat(2000)}</p>`);
  });

  it('returns 404 for an unknown template, and 403 for one with a foreign from', async () => {
    expect(await send({ template: { id: 'nobody' } })).toMatchObject({ status: 404, body: { name: 'not_found' } });
    await publishTemplate({ alias: 'foreign', from: 'a@nobody.example.com', subject: 'S' });
    expect(await send({ template: { id: 'foreign' } })).toMatchObject({
      status: 403,
      body: { name: 'validation_error' },
    });
  });

  it('works in a batch and with scheduled_at, and the email names its template', async () => {
    const scheduled_at = new Date(scene.clock.now() + 5 * MINUTE_MS).toISOString();
    const body = [
      { to: 'x@example.org', template: { id: 'whole', variables: { WHO: 'one' } }, scheduled_at },
      { to: 'x@example.org', template: { id: 'whole', variables: { WHO: 'two' } } },
    ];
    const { data } = (await scene.api('POST', '/emails/batch', { key: team.key, body })).body;
    expect(await read(data[0].id)).toMatchObject({ html: '<p>one</p>', last_event: 'scheduled' });
    expect(await read(data[1].id)).toMatchObject({ html: '<p>two</p>', last_event: 'queued' });
    const sql = 'select template_id from emails where id = ?';
    const row = await scene.app.world.db.get<{ template_id: string }>(sql, [data[0].id]);
    const { id } = (await scene.api('GET', '/templates/whole', { key: team.key })).body;
    expect(row?.template_id).toBe(id);
  });
});
