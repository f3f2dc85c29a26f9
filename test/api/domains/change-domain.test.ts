import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const NOWHERE = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01';
const read = async (team: Team, id: string) => (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
const change = (team: Team, id: string, body: unknown) => scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
const remove = (team: Team, id: string) => scene.api('DELETE', `/domains/${id}`, { key: team.key });
const types = async (id: string) => (await scene.events(id)).map((event) => event.type);
const mail = (domain: { name: string }, more: object = {}) => ({
  from: `a@${domain.name}`,
  to: 'x@example.org',
  subject: 'Hello',
  text: 'Hello',
  ...more,
});

describe('GET /domains', () => {
  it('lists newest first, without records and tracking_subdomain, page by page', async () => {
    const team = await scene.team();
    const names = ['a.page.example', 'b.page.example', 'c.page.example'];
    for (const name of names) await scene.api('POST', '/domains', { key: team.key, body: { name } });
    const list = (query: string) => scene.api('GET', `/domains${query}`, { key: team.key });
    const first = (await list('?limit=2')).body;
    expect([first.has_more, first.data.map((item: { name: string }) => item.name)]).toEqual([
      true,
      ['c.page.example', 'b.page.example'],
    ]);
    expect(Object.keys(first.data[0]).sort()).toEqual(
      ['capabilities', 'click_tracking', 'created_at', 'id', 'name', 'open_tracking', 'region', 'status'].sort(),
    );
    const rest = (await list(`?limit=2&after=${first.data[1].id}`)).body;
    expect([rest.has_more, rest.data.map((item: { name: string }) => item.name)]).toEqual([false, ['a.page.example']]);
    const back = (await list(`?limit=1&before=${rest.data[0].id}`)).body;
    expect([back.has_more, back.data[0].name]).toEqual([true, 'b.page.example']);
  });

  it('returns the same answer for a domain of another team as for an unknown one', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    const get = async (id: string) => (await scene.api('GET', `/domains/${id}`, { key: stranger.key })).text;
    expect(await get(domain.id)).toBe(await get(NOWHERE));
    expect((await scene.api('GET', '/domains', { key: stranger.key })).body.data).toEqual([]);
  });
});

describe('PATCH /domains/{id}', () => {
  it('changes the named fields, records one event with the resulting domain, and keeps the status', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const before = await read(team, domain.id);
    const answer = await change(team, domain.id, { open_tracking: true, tracking_subdomain: 'Go' });
    expect([answer.status, answer.body]).toEqual([200, { object: 'domain', id: domain.id }]);
    const name = `go.${domain.name}`;
    const tracking = {
      record: 'Tracking',
      name,
      type: 'CNAME',
      ttl: 'Auto',
      status: 'pending',
      value: 'rasket.test',
      required: false,
    };
    const changed = await read(team, domain.id);
    expect(changed).toEqual({
      ...before,
      open_tracking: true,
      tracking_subdomain: 'go',
      records: before.records.toSpliced(3, 0, expect.objectContaining(tracking)),
    });
    const events = await scene.events(domain.id);
    expect(events.map((event) => event.type)).toEqual(['domain.created', 'domain.updated', 'domain.updated']);
    expect(events[2]?.data).toEqual({
      id: domain.id,
      name: domain.name,
      status: 'verified',
      region: 'eu-west-1',
      created_at: before.created_at,
      records: changed.records.map(({ diagnosis: _, found: __, ...record }: Record<string, unknown>) => record),
    });
  });

  it('applies tls to the next email', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await change(team, domain.id, { tls: 'enforced' });
    const { body } = await scene.api('POST', '/emails', { key: team.key, body: mail(domain) });
    expect(await scene.app.world.db.get('select tls from domains where id = ?', [domain.id])).toEqual({
      tls: 'enforced',
    });
    await scene.settled();
    // The scene's sink offers no TLS.
    expect((await scene.account(team, body.id)).state).toBe('delivery_delayed');
  });

  it('accepts an empty change, and records an event', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    expect((await change(team, domain.id, {})).status).toBe(200);
    expect(await types(domain.id)).toEqual(['domain.created', 'domain.updated']);
  });

  it('refuses to change name and region', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    expect(await change(team, domain.id, { name: 'other.example', region: 'us-east-1' })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'name' }, { path: 'region' }] },
    });
  });

  it('refuses a domain that neither sends nor receives, and makes no part of the change', async () => {
    const capabilities = { sending: 'disabled' };
    const team = await scene.team();
    const domain = await team.domain();
    expect(await change(team, domain.id, { capabilities, open_tracking: true })).toMatchObject({
      status: 422,
      body: { name: 'validation_error', errors: [{ path: 'capabilities.sending' }] },
    });
    expect((await read(team, domain.id)).open_tracking).toBe(false);
  });

  it('returns 404 for a domain of another team', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    const foreign = await change(stranger, domain.id, { open_tracking: true });
    const nowhere = await change(stranger, NOWHERE, { open_tracking: true });
    expect([foreign.status, foreign.text]).toEqual([404, nowhere.text]);
    expect((await read(team, domain.id)).open_tracking).toBe(false);
  });
});

describe('DELETE /domains/{id}', () => {
  it('removes the domain, its records and keys, records the event, and keeps the sent mail', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const sent = await scene.api('POST', '/emails', { key: team.key, body: mail(domain) });
    await scene.settled();
    const answer = await remove(team, domain.id);
    expect([answer.status, answer.body]).toEqual([200, { object: 'domain', id: domain.id, deleted: true }]);
    expect((await scene.api('GET', `/domains/${domain.id}`, { key: team.key })).status).toBe(404);
    for (const table of ['domain_records', 'dkim_keys']) {
      const sql = `select count(*) as n from ${table} where domain_id = ?`;
      expect(await scene.app.world.db.get(sql, [domain.id])).toEqual({ n: 0 });
    }
    const events = await scene.events(domain.id);
    expect(events.map((event) => event.type)).toEqual(['domain.created', 'domain.updated', 'domain.deleted']);
    expect(events[2]?.data).toMatchObject({ id: domain.id, name: domain.name });
    expect(JSON.stringify(events)).not.toContain('private');
    expect((await scene.account(team, sent.body.id)).state).toBe('delivered');
  });

  it('returns 404 the second time, at once or later, and records one event', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const answers = await Promise.all(Array.from({ length: 9 }, () => remove(team, domain.id)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array<number>(8).fill(404)]);
    expect((await remove(team, domain.id)).status).toBe(404);
    expect((await types(domain.id)).filter((type) => type === 'domain.deleted')).toHaveLength(1);
  });

  it('returns 404 for another team', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const domain = await team.domain();
    expect((await remove(stranger, domain.id)).status).toBe(404);
    expect((await read(team, domain.id)).status).toBe('verified');
  });

  it('stops keys pinned to the domain from sending, even after the name is registered again', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const key = await team.sendingKey({ domain_id: domain.id });
    await remove(team, domain.id);
    const send = () => scene.api('POST', '/emails', { key, body: mail(domain) });
    expect(await send()).toMatchObject({ status: 403, body: { name: 'validation_error' } });
    await team.domain(domain.name);
    expect(await send()).toMatchObject({ status: 403, body: { name: 'validation_error' } });
  });

  it('makes waiting mail fail with the reason, and none of it is sent', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const scheduledAt = new Date(scene.clock.now() + 600_000).toISOString();
    const waiting = await scene.api('POST', '/emails', {
      key: team.key,
      body: mail(domain, { to: ['late@example.org'], scheduled_at: scheduledAt }),
    });
    expect(waiting.status).toBe(200);
    await scene.settled();
    await remove(team, domain.id);
    scene.clock.advance(600_000);
    await scene.settled();
    expect(await scene.account(team, waiting.body.id)).toMatchObject({ state: 'failed' });
    const failed = (await scene.events(waiting.body.id)).find((event) => event.type === 'email.failed');
    expect(failed?.data).toMatchObject({ to: ['late@example.org'], failed: { reason: 'domain_removed' } });
    expect(scene.sink.messages.flatMap((message) => message.rcptTo)).not.toContain('late@example.org');
  });
});

it('a change of a domain and its event are written together or not at all', async () => {
  const team = await scene.team();
  const domain = await team.domain();
  const { db } = scene.app.world;
  await db.run('alter table events rename to events_kept');
  try {
    expect((await change(team, domain.id, { open_tracking: true })).status).toBe(503);
    expect((await remove(team, domain.id)).status).toBe(503);
  } finally {
    await db.run('alter table events_kept rename to events');
  }
  expect(await db.get('select open_tracking from domains where id = ?', [domain.id])).toEqual({ open_tracking: 0 });
  expect(await types(domain.id)).toEqual(['domain.created', 'domain.updated']);
});

it('mail is sent with the return path of its domain', async () => {
  const team = await scene.team();
  const { body } = await scene.api('POST', '/domains', {
    key: team.key,
    body: { name: 'path.example.com', custom_return_path: 'Bounces' },
  });
  publish(scene.dns, body);
  await scene.api('POST', `/domains/${body.id}/verify`, { key: team.key });
  await scene.api('POST', '/emails', { key: team.key, body: mail(body, { to: 'path@example.org' }) });
  await scene.settled();
  const sent = scene.sink.messages.find((message) => message.rcptTo.includes('path@example.org'));
  expect(sent?.mailFrom).toMatch(/^[^@]+@bounces\.path\.example\.com$/);
});
