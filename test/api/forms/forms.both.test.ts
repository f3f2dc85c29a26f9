import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let domain: string;
let topic: string;
let segment: string;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  team = await scene.team();
  domain = (await team.domain()).name;
  topic = (await call('POST', '/topics', { name: 'News', default_subscription: 'opt_out' })).body.id;
  segment = (await call('POST', '/segments', { name: 'Fans' })).body.id;
});

const call = (method: string, path: string, body?: unknown, key = team.key) =>
  scene.api(method, path, { key, ...(body === undefined ? {} : { body }) });
const whole = () => ({
  name: 'Newsletter',
  topic_id: topic,
  segment_ids: [segment],
  from: `News <news@${domain}>`,
  redirect_url: 'https://www.example.com/thanks',
  confirmed_url: 'https://www.example.com/welcome',
  allowed_origins: ['https://www.example.com'],
  enabled: false,
  proof_of_work: true,
});

describe('a sign-up form', () => {
  it('is created, shown, listed, changed and deleted', async () => {
    const made = await call('POST', '/forms', whole());
    expect(made).toMatchObject({ status: 201, body: { object: 'form' } });
    const { id } = made.body;
    const expected = {
      id,
      ...whole(),
      confirmation_template_id: null,
      url: `${scene.url}/subscribe/${id}`,
      created_at: expect.any(String),
    };
    expect((await call('GET', `/forms/${id}`)).body).toEqual({ object: 'form', ...expected });
    expect((await call('GET', '/forms')).body).toEqual({ object: 'list', has_more: false, data: [expected] });
    const change = {
      name: ' Other ',
      topic_id: null,
      redirect_url: null,
      allowed_origins: [],
      enabled: true,
      proof_of_work: false,
    };
    expect((await call('PATCH', `/forms/${id}`, change)).body).toEqual({ object: 'form', id });
    expect((await call('GET', `/forms/${id}`)).body).toEqual({ object: 'form', ...expected, ...change, name: 'Other' });
    expect((await call('DELETE', `/forms/${id}`)).body).toEqual({ object: 'form', id, deleted: true });
    expect((await call('GET', `/forms/${id}`)).status).toBe(404);
    expect((await call('DELETE', `/forms/${id}`)).status).toBe(404);
  });

  it('of another team is not found', async () => {
    const { id } = (await call('POST', '/forms', whole())).body;
    const stranger = (await scene.team()).key;
    for (const [method, path, body] of [
      ['GET', ''],
      ['GET', '/snippet'],
      ['PATCH', '', { enabled: true }],
      ['DELETE', ''],
    ] as const)
      expect((await call(method, `/forms/${id}${path}`, body, stranger)).status).toBe(404);
    expect((await call('GET', '/forms', undefined, stranger)).body.data).toEqual([]);
  });

  it.each([
    ['neither a topic nor a segment', { topic_id: null, segment_ids: [] }, 'topic_id', 422],
    ['an unknown topic', { topic_id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77' }, 'topic_id', 422],
    ['an unknown segment', { segment_ids: ['019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77'] }, 'segment_ids.0', 422],
    ['no sender', { from: null }, 'from', 422],
    ['a sender of another domain', { from: 'a@elsewhere.example' }, 'from', 422],
    ['a sender that is no address', { from: 'news' }, 'from', 400],
    [
      'an unknown template',
      { confirmation_template_id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77' },
      'confirmation_template_id',
      422,
    ],
    ['a redirect by http', { redirect_url: 'http://www.example.com/' }, 'redirect_url', 400],
    ['a redirect that runs code', { confirmed_url: 'javascript:alert(1)' }, 'confirmed_url', 400],
    ['a redirect with a password', { redirect_url: 'https://a:b@www.example.com/' }, 'redirect_url', 400],
    ['an origin with a path', { allowed_origins: ['https://www.example.com/a'] }, 'allowed_origins.0', 400],
    ['an origin by http', { allowed_origins: ['http://www.example.com'] }, 'allowed_origins.0', 400],
    ['any origin', { allowed_origins: ['*'] }, 'allowed_origins.0', 400],
    ['a proof of work that is neither true nor false', { proof_of_work: 'yes' }, 'proof_of_work', 400],
    ['an empty name', { name: ' ' }, 'name', 400],
    [
      'too many origins',
      { allowed_origins: Array.from({ length: 21 }, (_, n) => `https://n${n}.example`) },
      'allowed_origins',
      400,
    ],
  ])('is refused with %s', async (_, change, field, status) => {
    const refused = await call('POST', '/forms', { ...whole(), ...change });
    expect(refused.status, refused.text).toBe(status);
    expect(refused.body.errors?.[0]?.path ?? refused.body.message).toContain(field);
    const { id } = (await call('POST', '/forms', whole())).body;
    expect((await call('PATCH', `/forms/${id}`, change)).status).toBe(status);
  });

  it('may have a published template with the variable of the link in place of a sender', async () => {
    const template = async (variables: object[]): Promise<string> => {
      const content = { from: `a@${domain}`, subject: 'Confirm', html: '{{{CONFIRMATION_URL}}}', variables };
      const { id } = (await call('POST', '/templates', { name: `T${variables.length}`, ...content })).body;
      await call('POST', `/templates/${id}/publish`);
      return id;
    };
    const link = { key: 'CONFIRMATION_URL', type: 'string' };
    const good = { ...whole(), from: null, confirmation_template_id: await template([link]) };
    expect((await call('POST', '/forms', good)).status).toBe(201);
  });

  it('has a snippet of HTML in the language of the team, with its texts escaped', async () => {
    await call('PATCH', '/team', { default_language: 'it' });
    const { id } = (await call('POST', '/forms', { ...whole(), proof_of_work: undefined })).body;
    const { html } = (await call('GET', `/forms/${id}/snippet`)).body;
    expect(html).toContain(`<form method="post" action="${scene.url}/subscribe/${id}" lang="it">`);
    expect(html).toContain('Indirizzo email</label>');
    expect(html).toContain('<p hidden>');
    expect(html).not.toMatch(/<script|style=| on\w+=/);
  });

  it('has a snippet with a script that needs nothing else, if the form needs a proof of work', async () => {
    await call('PATCH', '/team', { default_language: 'it' });
    const { id } = (await call('POST', '/forms', whole())).body;
    const { html } = (await call('GET', `/forms/${id}/snippet`)).body;
    expect(html).toContain('<noscript><p>Questo modulo richiede gli script.');
    expect(html).toContain('<input type="hidden" name="proof_of_work">');
    expect(html.match(/<script>/g)).toHaveLength(1);
    expect(html).not.toMatch(/ src=|style=| on\w+=/);
  });
});
