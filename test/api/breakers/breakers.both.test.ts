import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluate, recordOutcomes } from '../../flow/breakers-desk.ts';
import { mailIn, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let mail: Mail;
let key: string;
beforeAll(async () => {
  scene = await startScene({ startAt: '2026-11-30T13:20:00Z' });
  key = await scene.operator();
  mail = await mailIn(scene);
});
afterAll(() => scene.close());

const list = async (query = '') => (await scene.api('GET', `/operator/breakers${query}`, { key })).body;

it('GET /operator/breakers lists the breakers that limit mail, newest first and by pages', async () => {
  expect(await list()).toEqual({ object: 'list', has_more: false, data: [] });
  await recordOutcomes(scene, mail, { accepted: 4000, complained: 20 });
  await evaluate(scene);
  const { data } = await list();
  const common = {
    object: 'breaker',
    team_id: mail.team.id,
    scope: 'domain',
    domain: mail.domain.name,
    stream: 'marketing',
    state: 'paused',
    cause: 'complaints',
    bad_recipients: 20,
    recipients: 4000,
    messages_per_minute: null,
    trips: 1,
    since: '2026-11-30T13:20:00.000Z',
    until: '2026-11-30T14:20:00.000Z',
    reason: '20 of 4,000 recipients reported it as spam within 24 hours; then a few messages are tried',
  };
  const [second, first] = data as { id: string; provider: string | null }[];
  expect(first).toEqual({ ...common, id: first?.id, provider: 'google' });
  expect(second).toEqual({ ...common, id: second?.id, provider: null });
  expect(await list('?limit=1')).toMatchObject({ has_more: true, data: [{ id: second?.id }] });
  expect(await list(`?limit=1&after=${second?.id}`)).toMatchObject({ has_more: false, data: [{ id: first?.id }] });
  expect(await list(`?limit=1&before=${first?.id}`)).toMatchObject({ has_more: false, data: [{ id: second?.id }] });
});

it('GET /operator/providers lists the limit of a breaker at its provider', async () => {
  const { body } = await scene.api('GET', '/operator/providers/google', { key });
  expect(body).toMatchObject({
    suspended_until: null,
    limits: [{ kind: 'suspended', set_by: 'breaker', sender_domain: mail.domain.name, stream: 'marketing' }],
  });
  const reset = await scene.api('POST', '/operator/providers/google/reset', { key });
  expect(reset.body).toMatchObject({ removed: 0 });
});

it('the metrics count the breakers that limit mail by state', async () => {
  // A scrape reads them anew after a second.
  scene.clock.advance(2000);
  expect(await scene.app.world.meter.text()).toMatch(/^rasket_breakers\{state="paused"\} 2$/m);
});

it('POST /operator/breakers/{id}/release needs a reason of one line and a breaker that limits mail', async () => {
  const { data } = await list();
  const path = `/operator/breakers/${data[0].id}/release`;
  for (const reason of ['', '  ', 'two\nlines', 'x'.repeat(201)]) {
    const refused = await scene.api('POST', path, { key, body: { reason } });
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('reason must be one line of 1 to 200 characters') },
    });
  }
  const missing = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e9b';
  const unknown = await scene.api('POST', `/operator/breakers/${missing}/release`, { key, body: { reason: 'x' } });
  expect(unknown).toMatchObject({ status: 404, body: { message: 'Breaker not found.' } });
  const malformed = await scene.api('POST', '/operator/breakers/nothing/release', { key, body: { reason: 'x' } });
  expect(malformed.body.message).toContain('breaker_id must be a UUID');
});

it('a key of a team cannot list or release breakers', async () => {
  const { data } = await list();
  const asTeam = { key: mail.team.key };
  expect((await scene.api('GET', '/operator/breakers', asTeam)).status).toBeGreaterThanOrEqual(401);
  const path = `/operator/breakers/${data[0].id}/release`;
  expect((await scene.api('POST', path, { ...asTeam, body: { reason: 'x' } })).status).toBeGreaterThanOrEqual(401);
  expect((await list()).data).toHaveLength(2);
});

it('a released breaker is no longer listed, and its reason is in the audit log', async () => {
  const { data } = await list();
  for (const { id } of data as { id: string }[]) {
    const released = await scene.api('POST', `/operator/breakers/${id}/release`, {
      key,
      body: { reason: 'The list was cleaned' },
    });
    expect(released.body).toMatchObject({
      object: 'breaker_release',
      id,
      deliveries: 0,
      breaker: { state: 'closed', messages_per_minute: null },
    });
  }
  expect((await list()).data).toEqual([]);
  await evaluate(scene);
  expect((await list()).data).toEqual([]);
  const { body } = await scene.api('GET', '/operator/audit?limit=2', { key });
  expect(body.data).toMatchObject([
    { action: 'breaker.released', details: { reason: 'The list was cleaned' } },
    { action: 'breaker.released', details: { reason: 'The list was cleaned' } },
  ]);
});
