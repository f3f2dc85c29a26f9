import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
let desk: Desk;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  desk = await openDesk(scene);
});
afterAll(() => scene.close());

const UNKNOWN = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eff';

describe('POST /broadcasts', () => {
  it('creates a draft that is returned with every field', async () => {
    const topic = await desk.call('POST', '/topics', { name: 'News', default_subscription: 'opt_in' });
    const input = {
      ...desk.draft,
      name: 'November',
      reply_to: ['a@example.org', 'B <b@example.org>'],
      preview_text: 'Three things',
      text: 'Hello',
      topic_id: topic.body.id,
      rate_per_minute: 600,
    };
    const made = await desk.call('POST', '/broadcasts', input);
    expect([made.status, made.body]).toEqual([201, { object: 'broadcast', id: made.body.id }]);
    expect(await desk.get(made.body.id)).toEqual({
      object: 'broadcast',
      id: made.body.id,
      ...input,
      audience_id: desk.segment,
      segment_ids: [desk.segment],
      exclude_segment_ids: [],
      not_received_from: [],
      received_but_not_opened: null,
      duplicated_from: null,
      template_id: null,
      pool: null,
      utm: null,
      status: 'draft',
      changed_by_app: null,
      created_at: new Date(scene.clock.now()).toISOString(),
      updated_at: new Date(scene.clock.now()).toISOString(),
      recipients: 0,
      excluded: 0,
      total: null,
      waiting_reason: null,
      held: null,
      paused: null,
      failed_reason: null,
      counts: {
        sent: 0,
        delivered: 0,
        opened: 0,
        clicked: 0,
        bounced: 0,
        complained: 0,
        unsubscribed: 0,
        suppressed: 0,
      },
      require_review: false,
      review_status: 'none',
      archive: false,
      local_time: false,
      ab: null,
      next_at: null,
    });
  });

  it('requires only from and subject, and uses the subject as the name', async () => {
    const { from, subject } = desk.draft;
    const { body } = await desk.call('POST', '/broadcasts', { from, subject });
    expect(await desk.get(body.id)).toMatchObject({
      name: subject,
      segment_id: null,
      reply_to: [],
      preview_text: null,
      html: null,
      text: null,
      topic_id: null,
    });
    expect(said(await desk.call('POST', '/broadcasts', { subject }))).toEqual([422, 'missing_required_field']);
    expect(said(await desk.call('POST', '/broadcasts', { from }))).toEqual([422, 'missing_required_field']);
    const empty = await desk.call('POST', '/broadcasts', { from, subject: '' });
    expect((await desk.get(empty.body.id)).name).toBe('Untitled');
  });

  it('accepts audience_id as the older name of segment_id', async () => {
    const { segment_id: segment, ...rest } = desk.draft;
    const made = await desk.call('POST', '/broadcasts', { ...rest, audience_id: segment });
    expect((await desk.get(made.body.id)).segment_id).toBe(segment);
    const both = { ...rest, segment_id: segment, audience_id: UNKNOWN };
    expect(said(await desk.call('POST', '/broadcasts', both))).toEqual([400, 'validation_error']);
    expect((await desk.call('POST', '/broadcasts', { ...both, audience_id: segment })).status).toBe(201);
    for (const named of [
      { segment_id: segment, audience_id: null },
      { segment_id: null, audience_id: segment },
    ]) {
      const draft = await desk.call('POST', '/broadcasts', { ...rest, ...named });
      expect(draft.status, draft.text).toBe(201);
      expect((await desk.get(draft.body.id)).segment_id).toBe(segment);
    }
  });

  it.each<[string, object, number, string]>([
    ['a sender that is none', { from: 'news' }, 400, 'validation_error'],
    ['a sender with a variable', { from: '{{{EMAIL}}} <a@example.org>' }, 400, 'validation_error'],
    ['a subject of two lines', { subject: 'a\r\nBcc: b@example.org' }, 400, 'validation_error'],
    ['a subject beyond 998 bytes', { subject: 'ä'.repeat(500) }, 400, 'validation_error'],
    ['a body beyond 2 MB', { html: 'x'.repeat(2 * 1024 * 1024 + 1) }, 400, 'validation_error'],
    ['51 addresses to answer to', { reply_to: Array(51).fill('a@example.org') }, 400, 'validation_error'],
    ['a preview text beyond 1000 characters', { preview_text: 'x'.repeat(1001) }, 400, 'validation_error'],
    ['an unknown segment', { segment_id: UNKNOWN }, 422, 'invalid_parameter'],
    ['an unknown topic', { topic_id: UNKNOWN }, 422, 'invalid_parameter'],
    ['a template beside html', { template: { id: 'x' } }, 400, 'validation_error'],
    ['an unknown template', { html: null, template: { id: 'x' } }, 404, 'not_found'],
    ['a time without send', { scheduled_at: 'in 2 hours' }, 400, 'validation_error'],
    ['acknowledged checks without send', { acknowledge_checks: true }, 400, 'validation_error'],
    ['a rate of nothing', { rate_per_minute: 0 }, 400, 'validation_error'],
    ['an unknown field', { status: 'sent' }, 400, 'validation_error'],
  ])('refuses %s', async (_, change, status, name) => {
    expect(said(await desk.call('POST', '/broadcasts', { ...desk.draft, ...change }))).toEqual([status, name]);
  });

  it('requires a published template', async () => {
    const { html, ...rest } = desk.draft;
    const template = (await desk.call('POST', '/templates', { name: 'T', html, alias: 'news' })).body.id;
    const use = { ...rest, template: { id: 'news' } };
    expect(said(await desk.call('POST', '/broadcasts', use))).toEqual([422, 'validation_error']);
    await desk.call('POST', '/templates/news/publish');
    const made = await desk.call('POST', '/broadcasts', use);
    expect(await desk.get(made.body.id)).toMatchObject({ template_id: template, html: null, text: null });
  });
});

describe('GET /broadcasts', () => {
  it('searches name and subject in any letter case, filters by status, and pages', async () => {
    const own = await openDesk(scene);
    const ids: string[] = [];
    for (const name of ['Überblick', 'zwei', 'drei 100%', 'vier'])
      ids.push(await own.make({ name, subject: `S ${name}` }));
    const listed = async (query: string) => (await own.call('GET', `/broadcasts?${query}`)).body;
    const fetchIds = async (query: string) => (await listed(query)).data.map((one: { id: string }) => one.id);
    const newest = ids.toReversed();
    expect(await fetchIds('')).toEqual(newest);
    expect(await fetchIds('search=%C3%BCBER')).toEqual([ids[0]]);
    expect(await fetchIds('search=s%20ZWEI')).toEqual([ids[1]]);
    expect(await fetchIds('search=%25')).toEqual([ids[2]]);
    expect(await fetchIds(`search=ei&limit=1&after=${ids[2]}`)).toEqual([ids[1]]);
    expect(await fetchIds(`search=ei&limit=1&before=${ids[1]}`)).toEqual([ids[2]]);
    expect(await listed('limit=3')).toMatchObject({ has_more: true });
    expect(await fetchIds(`limit=3&after=${ids[1]}`)).toEqual([ids[0]]);
    await own.call('POST', `/broadcasts/${ids[1]}/send`);
    expect(await fetchIds('status=queued')).toEqual([ids[1]]);
    expect(await fetchIds('status=draft&search=ei')).toEqual([ids[2]]);
    expect((await listed('limit=1')).data[0]).toEqual({
      id: ids[3],
      updated_at: expect.any(String),
      name: 'vier',
      segment_id: own.segment,
      audience_id: own.segment,
      topic_id: null,
      status: 'draft',
      changed_by_app: null,
      created_at: new Date(scene.clock.now()).toISOString(),
      recipients: 0,
      excluded: 0,
      total: null,
      archive: false,
      held: null,
      paused: null,
    });
    expect((await own.call('GET', '/usage')).body.broadcasts).toEqual({ used: 4, limit: null });
  });

  it.each(['search=', `search=${'x'.repeat(201)}`, 'search=%20', 'status=paused', 'status=held'])(
    'refuses %s',
    async (query) => {
      expect(said(await desk.call('GET', `/broadcasts?${query}`))).toEqual([422, 'invalid_parameter']);
    },
  );

  it('does not show the broadcast of another team', async () => {
    const id = await desk.make();
    const other = await openDesk(scene);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ...['send', 'cancel', 'resume', 'duplicate', 'checks'].map((verb) => ['POST', `/${verb}`]),
      ...['recipients?type=sent', 'exclusions', 'clicked-links', 'checklist'].map((verb) => ['GET', `/${verb}`]),
    ] as [string, string][]) {
      const body = method === 'PATCH' ? {} : undefined;
      const answer = await other.call(method, `/broadcasts/${id}${path}`, body);
      expect([path, ...said(answer), answer.body.message]).toEqual([path, 404, 'not_found', 'Broadcast not found.']);
    }
    expect((await other.call('GET', '/broadcasts')).body.data).toEqual([]);
  });
});

describe('PATCH and DELETE /broadcasts/{id}', () => {
  it('change named fields and clear those set to null', async () => {
    const id = await desk.make({ name: 'A', preview_text: 'P', text: 'T', reply_to: 'a@example.org' });
    const before = await desk.get(id);
    const changed = await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'Newer' });
    expect([changed.status, changed.body]).toEqual([200, { object: 'broadcast', id }]);
    expect(await desk.get(id)).toEqual({ ...before, subject: 'Newer', updated_at: expect.any(String) });
    const cleared = { preview_text: null, text: null, reply_to: null, segment_id: null };
    await desk.call('PATCH', `/broadcasts/${id}`, cleared);
    expect(await desk.get(id)).toMatchObject({ ...cleared, reply_to: [], audience_id: null, html: desk.draft.html });
    await desk.call('PATCH', `/broadcasts/${id}`, { audience_id: desk.segment, rate_per_minute: 10, name: 'B' });
    expect(await desk.get(id)).toMatchObject({ segment_id: desk.segment, rate_per_minute: 10, name: 'B' });
  });

  it.each<object>([
    { send: true },
    { scheduled_at: 'in 2 hours' },
    { template: { id: 'news' } },
    { from: '' },
    { name: '' },
  ])('refuses %j', async (body) => {
    expect(said(await desk.call('PATCH', `/broadcasts/${await desk.make()}`, body))).toEqual([400, 'validation_error']);
  });

  it('replace the template when a body is given', async () => {
    await desk.call('POST', '/templates', { name: 'T', html: 'x', alias: 'letter' });
    await desk.call('POST', '/templates/letter/publish');
    const id = await desk.make({ html: null, template: { id: 'letter' } });
    await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'S' });
    expect((await desk.get(id)).template_id).not.toBe(null);
    await desk.call('PATCH', `/broadcasts/${id}`, { html: 'y' });
    expect(await desk.get(id)).toMatchObject({ template_id: null, html: 'y' });
  });

  it('delete a draft and nothing else', async () => {
    const id = await desk.make();
    const gone = await desk.call('DELETE', `/broadcasts/${id}`);
    expect([gone.status, gone.body]).toEqual([200, { object: 'broadcast', id, deleted: true }]);
    expect(said(await desk.call('DELETE', `/broadcasts/${id}`))).toEqual([404, 'not_found']);
    const sent = await desk.make();
    await desk.call('POST', `/broadcasts/${sent}/send`);
    expect(said(await desk.call('DELETE', `/broadcasts/${sent}`))).toEqual([403, 'validation_error']);
    const refused = await desk.call('PATCH', `/broadcasts/${sent}`, { subject: 'Other' });
    expect([...said(refused), refused.body.message]).toEqual([
      400,
      'validation_error',
      'This broadcast is queued; only a draft can be changed.',
    ]);
    expect((await desk.get(sent)).subject).toBe(desk.draft.subject);
  });
});

describe('POST /broadcasts/{id}/duplicate', () => {
  it('creates a draft with the same content, whatever the state of the original', async () => {
    const id = await desk.make({ name: 'A', preview_text: 'P', rate_per_minute: 5 });
    const { id: _, created_at: __, ...content } = await desk.get(id);
    await desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at: 'in 2 hours' });
    const copy = await desk.call('POST', `/broadcasts/${id}/duplicate`);
    expect([copy.status, copy.body]).toEqual([201, { object: 'broadcast', id: copy.body.id }]);
    expect(await desk.get(copy.body.id)).toEqual({
      ...content,
      id: copy.body.id,
      name: 'Copy of A',
      duplicated_from: id,
      created_at: new Date(scene.clock.now()).toISOString(),
    });
    const long = await desk.make({ name: 'x'.repeat(200) });
    const second = await desk.call('POST', `/broadcasts/${long}/duplicate`);
    expect((await desk.get(second.body.id)).name).toHaveLength(200);
  });
});
