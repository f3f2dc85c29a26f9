import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignIn, type Campaign } from '../../flow/campaign.ts';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const HOUR_MS = 3_600_000;

describe('the review of a broadcast', () => {
  let scene: Scene;
  let campaign: Campaign;
  beforeAll(async () => {
    scene = await startScene();
    campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@readers.example']);
  });
  afterAll(() => scene.close());

  const draft = (more: object = {}) => campaign.broadcast({ send: undefined, require_review: true, ...more });
  const share = async (id: string, body: object = { allow_review: true }): Promise<string> => {
    const { url } = (await campaign.call('POST', `/broadcasts/${id}/share`, body)).body as { url: string };
    return new URL(url).pathname.split('/').at(-1) ?? '';
  };
  const get = async (path: string) => {
    const answer = await fetch(scene.url + path, { headers: { accept: 'text/html', 'user-agent': 'test' } });
    return answer.text();
  };
  /** Returns the version that the page names. */
  const seen = async (token: string): Promise<string> =>
    /version=([0-9a-f]{64})/.exec(await get(`/preview/${token}`))?.[1] ?? '';
  const post = async (token: string, fields: Record<string, string>, origin = scene.url) => {
    const answer = await fetch(`${scene.url}/review`, {
      method: 'POST',
      headers: { origin, 'user-agent': 'test', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, ...fields }),
      redirect: 'manual',
    });
    return { status: answer.status, to: answer.headers.get('location'), text: await answer.text() };
  };
  const review = async (token: string, decision: string, note = 'Please change the subject.') =>
    post(token, { decision, name: 'Grace', note, version: await seen(token) });
  const reviews = async (id: string) => (await campaign.read(`/broadcasts/${id}/reviews`)).data;
  const send = (id: string, body: object = {}) => campaign.call('POST', `/broadcasts/${id}/send`, body);
  const REFUSED = { status: 422, body: { name: 'validation_error', details: { reason: 'review_required' } } };

  it('the review of a broadcast is given on a page without a script or an account, and listed with name and note', async () => {
    const id = await draft();
    const token = await share(id);
    const version = await seen(token);
    const form = await get(`/review?token=${token}&version=${version}`);
    expect(form).toContain('<form method="post" action="/review">');
    expect(form).toContain('<textarea');
    expect(form).not.toContain('<script');
    expect(await review(token, 'approved', ' Fine.\r\nGo. ')).toMatchObject({ status: 303, to: `/preview/${token}` });
    expect(await reviews(id)).toEqual([
      {
        id: expect.any(String),
        decision: 'approved',
        name: 'Grace',
        note: 'Fine.\nGo.',
        is_current: true,
        created_at: new Date(scene.clock.now()).toISOString(),
      },
    ]);
    expect(await campaign.get(id)).toMatchObject({ require_review: true, review_status: 'approved' });
    expect(await get(`/preview/${token}`)).toContain('It is approved.');
  });

  it('the review of a broadcast is in the audit log as that of a reader of a link', async () => {
    const id = await draft();
    await review(await share(id), 'changes_requested', 'Shorter.');
    const { data } = await campaign.read('/audit');
    expect((data as object[])[0]).toMatchObject({
      action: 'broadcast.reviewed',
      subject_id: id,
      actor: { kind: 'link', id: null, name: 'Grace', app: null },
      details: { decision: 'changes_requested', note: 'Shorter.' },
    });
  });

  it('the review of a broadcast is refused with its reason and shown again when a field is wrong', async () => {
    const id = await draft();
    const token = await share(id);
    const version = await seen(token);
    const wrong = async (fields: Record<string, string>) => {
      const { status, text } = await post(token, { decision: 'approved', name: 'Grace', note: '', version, ...fields });
      return [status, /class="(?:fault|alert)"[^>]*>([^<]*)</.exec(text)?.[1]];
    };
    expect(await wrong({ name: '' })).toEqual([400, expect.stringContaining('1 to 100 characters')]);
    expect(await wrong({ name: 'x'.repeat(101) })).toEqual([400, expect.stringContaining('1 to 100 characters')]);
    expect(await wrong({ note: 'x'.repeat(2001) })).toEqual([400, expect.stringContaining('2000')]);
    expect(await wrong({ decision: 'changes_requested' })).toEqual([422, expect.stringContaining('which changes')]);
    expect(await wrong({ decision: 'maybe' })).toEqual([400, expect.stringContaining('Decision must be')]);
    expect(await reviews(id)).toEqual([]);
  });

  it('the review of a broadcast is refused from another site', async () => {
    const id = await draft();
    const token = await share(id);
    const fields = { decision: 'approved', name: 'Grace', note: '', version: await seen(token) };
    expect((await post(token, fields, 'https://evil.example')).status).toBe(403);
    const { status } = await scene.api('POST', `/preview/${token}/reviews`, {
      headers: { origin: 'https://evil.example' },
      body: { decision: 'approved', name: 'Grace', version: fields.version },
    });
    expect([status, await reviews(id)]).toEqual([403, []]);
  });

  it('the review of a broadcast needs a link that allows reviews, works, and is of this broadcast', async () => {
    const id = await draft();
    const other = await draft({ subject: 'Another' });
    const version = await seen(await share(id));
    const fields = { decision: 'approved', name: 'Grace', note: '', version };
    const without = await share(id, {});
    expect(await seen(without)).toBe('');
    expect((await post(without, fields)).status).toBe(404);
    expect((await post('rs_unknown', fields)).status).toBe(404);
    expect((await post(await share(other), fields)).status).toBe(422);
    const called = await scene.api('POST', `/preview/${without}/reviews`, {
      headers: { origin: scene.url },
      body: { decision: 'approved', name: 'Grace', version },
    });
    expect([called.status, called.body.name]).toEqual([403, 'invalid_permission']);
    expect([await reviews(id), await reviews(other)]).toEqual([[], []]);
  });

  it.each([
    ['subject', { subject: 'Other news' }],
    ['body', { html: '<p>Other</p>' }],
    ['sender', { from: 'Somebody' }],
    ['audience', { segment_ids: [] }],
    ['preview text', { preview_text: 'Other' }],
    ['publication', { archive: true }],
  ])('the review of an earlier %s no longer counts', async (_, change) => {
    const id = await draft();
    const token = await share(id);
    const before = await seen(token);
    await review(token, 'approved');
    const from = 'from' in change ? { from: `Other <other@${campaign.domain.name}>` } : change;
    expect((await campaign.call('PATCH', `/broadcasts/${id}`, from)).status).toBe(200);
    expect(await campaign.get(id)).toMatchObject({ review_status: 'outdated' });
    expect(await reviews(id)).toMatchObject([{ decision: 'approved', is_current: false }]);
    expect(await get(`/preview/${token}`)).toContain('that review no longer counts');
    const late = await post(token, { decision: 'approved', name: 'Grace', note: '', version: before });
    expect([late.status, late.text]).toEqual([422, expect.stringContaining('was changed after you opened its page')]);
    expect(await send(id)).toMatchObject('segment_ids' in change ? { status: 422 } : REFUSED);
  });

  it('the review of a broadcast stays valid when the name or the speed of sending changes', async () => {
    const id = await draft();
    await review(await share(id), 'approved');
    await campaign.call('PATCH', `/broadcasts/${id}`, { name: 'Internal', rate_per_minute: 100 });
    expect(await campaign.get(id)).toMatchObject({ review_status: 'approved' });
  });

  it('the review of a broadcast becomes out of date when another version of its template is published', async () => {
    const template = await campaign.make('/templates', { name: 'News', html: '<p>One</p>' });
    await campaign.call('POST', `/templates/${template}/publish`);
    const id = await draft({ html: undefined, template: { id: template } });
    await review(await share(id), 'approved');
    expect(await campaign.get(id)).toMatchObject({ review_status: 'approved' });
    await campaign.call('PATCH', `/templates/${template}`, { html: '<p>Two</p>' });
    expect(await campaign.get(id)).toMatchObject({ review_status: 'approved' });
    await campaign.call('POST', `/templates/${template}/publish`);
    expect(await campaign.get(id)).toMatchObject({ review_status: 'outdated' });
    expect(await send(id)).toMatchObject(REFUSED);
  });

  it('the review of a broadcast is required for a send if the broadcast says so, and shown in the checklist', async () => {
    const id = await draft();
    expect(await send(id)).toMatchObject(REFUSED);
    expect(await send(id, { scheduled_at: 'in 1 hour', acknowledge_checks: true })).toMatchObject(REFUSED);
    const item = async () =>
      ((await campaign.read(`/broadcasts/${id}/checklist`)).gate as { name: string; ok: boolean }[]).find(
        ({ name }) => name === 'review',
      );
    expect(await item()).toMatchObject({ ok: false });
    const token = await share(id);
    await review(token, 'changes_requested');
    expect(await send(id)).toMatchObject(REFUSED);
    await review(token, 'approved');
    expect(await item()).toMatchObject({ ok: true });
    expect((await send(id)).status).toBe(200);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  });

  it('the review of a broadcast is not required by default, and a copy keeps the requirement without the approval', async () => {
    const free = await campaign.broadcast({ send: undefined });
    expect(await campaign.get(free)).toMatchObject({ require_review: false, review_status: 'none' });
    const id = await draft();
    await review(await share(id), 'approved');
    const copy = await campaign.make(`/broadcasts/${id}/duplicate`, {});
    expect(await campaign.get(copy)).toMatchObject({ require_review: true, review_status: 'none' });
    expect(await send(copy)).toMatchObject(REFUSED);
    const created = await campaign.call('POST', '/broadcasts', {
      from: `Example <news@${campaign.domain.name}>`,
      subject: 'At once',
      segment_id: campaign.segmentId,
      html: '<p>Hello</p>',
      require_review: true,
      send: true,
    });
    expect(created).toMatchObject(REFUSED);
  });

  it('the review of a broadcast that requests changes before a scheduled broadcast is due makes it wait until it is approved', async () => {
    const id = await draft({ subject: 'Later' });
    const token = await share(id);
    await review(token, 'approved');
    expect((await send(id, { scheduled_at: 'in 1 hour' })).status).toBe(200);
    await review(token, 'changes_requested');
    const arrived = () => scene.sink.messages.filter(({ data }) => data.includes('Subject: Later\r\n'));
    scene.clock.advance(HOUR_MS + 1000);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({
      status: 'scheduled',
      waiting_reason: 'review',
      review_status: 'changes_requested',
      recipients: 0,
    });
    expect(arrived()).toHaveLength(0);
    await review(token, 'approved');
    scene.clock.advance(6000);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', waiting_reason: null, recipients: 1 });
    expect(arrived()).toHaveLength(1);
  });

  it('the review of a broadcast cannot be given once the broadcast was sent', async () => {
    const id = await draft();
    const token = await share(id);
    const version = await seen(token);
    await review(token, 'approved');
    await send(id);
    await scene.settled();
    const { status, text } = await post(token, { decision: 'changes_requested', name: 'Grace', note: 'Late', version });
    expect([status, text]).toEqual([403, expect.stringContaining('cannot be reviewed')]);
    expect(await get(`/preview/${token}`)).not.toContain('Approve or request changes');
  });

  it('the review of a broadcast is neither given nor lifted by an app', async () => {
    const id = await draft();
    const oauth = createOauth(scene);
    const { team } = campaign;
    const owner = await createPeople(scene).person({ team, role: 'owner', email: `owner@${campaign.domain.name}` });
    const key = (await oauth.letIn(owner, await oauth.register(), { scope: SCOPE_NAMES.join(' ') })).access_token;
    const call = async (method: string, path: string, body: object) => {
      const answer = await scene.api(method, `/broadcasts/${id}${path}`, { key, body });
      return [answer.status, answer.body.name ?? 'done'];
    };
    expect(await call('POST', '/share', { allow_review: true })).toEqual([403, 'invalid_permission']);
    expect(await call('PATCH', '', { require_review: false })).toEqual([403, 'invalid_permission']);
    expect(await call('PATCH', '', { require_review: true, subject: 'By an app' })).toEqual([200, 'done']);
    expect(await campaign.get(id)).toMatchObject({ require_review: true, subject: 'By an app' });
    await campaign.call('PATCH', `/broadcasts/${id}`, { require_review: false });
    expect(await campaign.get(id)).toMatchObject({ require_review: false });
  });

  it('the review of a broadcast is listed in pages, newest first', async () => {
    const id = await draft();
    const token = await share(id);
    for (const note of ['First', 'Second', 'Third']) await review(token, 'changes_requested', note);
    const page = async (query: string) => {
      const { data, has_more: hasMore } = await campaign.read(`/broadcasts/${id}/reviews?${query}`);
      return [(data as { note: string }[]).map((one) => one.note), hasMore];
    };
    expect(await page('limit=2')).toEqual([['Third', 'Second'], true]);
    const { data } = await campaign.read(`/broadcasts/${id}/reviews?limit=2`);
    const [, second] = data as { id: string }[];
    expect(await page(`limit=2&after=${second?.id}`)).toEqual([['First'], false]);
  });

  it('the review of a broadcast is refused once a broadcast has 200 reviews', async () => {
    const id = await draft();
    const token = await share(id);
    const version = await seen(token);
    const { db, ids, clock } = scene.app.world;
    const columns = ['id', 'broadcast_id', 'version', 'decision', 'name', 'note', 'created_at'];
    const build = () => [ids.uuid(), id, version, 'approved', 'Grace', null, clock.now()];
    await db.insertMany('broadcast_reviews', columns, Array.from({ length: 199 }, build));
    expect((await review(token, 'approved')).status).toBe(303);
    const { status, text } = await review(token, 'changes_requested');
    expect([status, text]).toEqual([422, expect.stringContaining('This broadcast has 200 reviews, the limit.')]);
    expect(await campaign.get(id)).toMatchObject({ review_status: 'approved' });
  });

  it('the review of a broadcast is removed with its draft', async () => {
    const id = await draft();
    await review(await share(id), 'approved');
    await campaign.call('DELETE', `/broadcasts/${id}`);
    expect(await scene.app.world.db.all('select 1 from broadcast_reviews where broadcast_id = ?', [id])).toEqual([]);
  });
});
