import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSigningSecrets } from '../../../src/features/webhooks/endpoints/webhooks.ts';
import { ALLOWED, startFileServer, type FileServer } from '../../rig/file-server.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent, toUuid } from '../../rig/webhooks.ts';

const HOUR_MS = 3_600_000;
const NOWHERE = 'wh_019a9c1e7d527c3a9a540b8f4c1f2e03';

let scene: Scene;
let server: FileServer;
beforeAll(async () => {
  server = await startFileServer((_, response) => void response.end(), { names: ['hooks.test', 'new.test'] });
  scene = await startScene({
    roles: ['http'],
    trustedCa: [server.certificate.cert],
    config: {
      dns: { timeout_ms: 30_000 } as never,
      network: { http_allow_private: [`${ALLOWED}/32`] } as never,
    },
  });
  scene.dns.set('hooks.test', 'A', [ALLOWED]);
  scene.dns.set('new.test', 'A', [ALLOWED]);
  scene.dns.set('inside.test', 'A', ['127.0.0.1']);
});
afterAll(async () => {
  await scene.close();
  await server.close();
});

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const at = (host = 'hooks.test'): string => `https://${host}:${server.port}/hooks`;
const create = async (team: Team, events = ['email.sent', 'email.bounced']) =>
  (await call(team, 'POST', '/webhooks', { endpoint: at(), events })).body;
const read = async (team: Team, id: string) => (await call(team, 'GET', `/webhooks/${id}`)).body;

interface Columns {
  id: string;
  status: string;
  disabled_at: number | null;
  disabled_reason: string | null;
  failing_since: number | null;
  secret_sealed: string;
  previous_secret_sealed: string | null;
  previous_secret_until: number | null;
  deleted_at: number | null;
}

async function loadColumns(id: string): Promise<Columns> {
  const row = await scene.app.world.db.get<Columns>('select * from webhooks where id = ?', [id]);
  if (!row) throw new Error(`${id} has no row`);
  return row;
}

const loadEvent = (webhookId: string, publicId: string) =>
  scene.app.world.db.get<{ status: string; parked: number; due_at: number | null }>(
    'select status, parked, due_at from webhook_events where webhook_id = ? and event_id = ?',
    [webhookId, toUuid(publicId)],
  );

describe('GET /webhooks', () => {
  it('lists every endpoint as it is read alone, newest first and masked', async () => {
    const team = await scene.team();
    const made = [await create(team), await create(team, ['contact.created'])];
    const { body } = await call(team, 'GET', '/webhooks');
    expect(body).toMatchObject({ object: 'list', has_more: false });
    expect(body.data.map((item: { id: string }) => item.id)).toEqual([made[1].id, made[0].id]);
    for (const [i, item] of body.data.toReversed().entries()) {
      const { signing_secret: secret, ...rest } = made[i];
      expect(item).toEqual({ ...rest, signing_secret: `whsec_****${secret.slice(-4)}` });
      expect(await read(team, item.id)).toEqual(item);
    }
  });

  it('lists only the endpoints with the status that is asked for', async () => {
    const team = await scene.team();
    const first = await create(team);
    const second = await create(team);
    await call(team, 'PATCH', `/webhooks/${first.id}`, { status: 'disabled' });
    const listIds = async (query: string): Promise<string[]> => {
      const { body } = await call(team, 'GET', `/webhooks?${query}`);
      return (body.data as { id: string }[]).map(({ id }) => id);
    };
    expect(await listIds('status=disabled')).toEqual([first.id]);
    expect(await listIds('status=enabled&limit=1')).toEqual([second.id]);
    expect(await listIds('limit=10')).toEqual([second.id, first.id]);
    expect((await call(team, 'GET', '/webhooks?status=broken')).body.message).toContain(
      'status must be enabled or disabled',
    );
  });

  it('returns the same for an endpoint of another team, a deleted and an unknown one', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const { id } = await create(team);
    const gone = (await create(stranger)).id;
    await call(stranger, 'DELETE', `/webhooks/${gone}`);
    const nowhere = await call(stranger, 'GET', `/webhooks/${NOWHERE}`);
    expect(nowhere).toMatchObject({ status: 404, body: { name: 'not_found' } });
    for (const other of [id, gone]) expect((await call(stranger, 'GET', `/webhooks/${other}`)).text).toBe(nowhere.text);
    expect((await call(stranger, 'GET', '/webhooks')).body.data).toEqual([]);
  });
});

describe('PATCH /webhooks/{webhook_id}', () => {
  it('replaces the named fields and keeps the others', async () => {
    const team = await scene.team();
    const made = await create(team);
    const path = `/webhooks/${made.id}`;
    expect(await call(team, 'PATCH', path, { events: ['domain.created', 'domain.created'] })).toMatchObject({
      status: 200,
      body: { object: 'webhook', id: made.id },
    });
    expect(await read(team, made.id)).toMatchObject({ endpoint: at(), events: ['domain.created'], status: 'enabled' });
    await call(team, 'PATCH', path, { endpoint: at('new.test') });
    expect(await read(team, made.id)).toMatchObject({ endpoint: at('new.test'), events: ['domain.created'] });
    await call(team, 'PATCH', path, { status: 'disabled' });
    const after = await read(team, made.id);
    expect(after).toMatchObject({ endpoint: at('new.test'), events: ['domain.created'], status: 'disabled' });
    expect(await call(team, 'PATCH', path, {})).toMatchObject({ status: 200 });
    expect(await read(team, made.id)).toEqual(after);
  });

  it('checks a new endpoint as at its creation, and changes nothing when it is refused', async () => {
    const team = await scene.team();
    const made = await create(team);
    const path = `/webhooks/${made.id}`;
    for (const [endpoint, status] of [
      ['http://hooks.test/', 400],
      ['https://inside.test/', 422],
      [at('inside.test'), 422],
      ['https://hooks.test:1/', 422],
    ] as const) {
      const answer = await call(team, 'PATCH', path, { endpoint, status: 'disabled', events: ['email.failed'] });
      expect(answer).toMatchObject({ status, body: { name: 'validation_error', errors: [{ path: 'endpoint' }] } });
    }
    const { signing_secret: _, ...kept } = await read(team, made.id);
    expect(kept).toEqual({ ...made, signing_secret: undefined });
  });

  it.each([
    [{ status: 'paused' }, 'status'],
    [{ status: true }, 'status'],
    [{ status: '' }, 'status'],
    [{ events: [] }, 'events'],
    [{ events: ['email.read'] }, 'events.0'],
    [{ endpoint: '' }, 'endpoint'],
    [{ endpoint: null }, 'endpoint'],
    [{ signing_secret: 'whsec_x' }, 'signing_secret'],
    [{ id: NOWHERE }, 'id'],
  ])('%j is refused', async (body, path) => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    expect(await call(team, 'PATCH', `/webhooks/${id}`, body)).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path }] },
    });
  });

  it('parks due events when it disables the endpoint, and sends none of them when it enables it again', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    await scene.app.world.db.run('update webhooks set failing_since = 1 where id = ?', [id]);
    const now = scene.clock.now();
    const due = await plantWebhookEvent(scene, team, id, { status: 'pending', dueAt: now });
    const later = await plantWebhookEvent(scene, team, id, { status: 'attempting', dueAt: now + HOUR_MS, attempts: 2 });
    const done = await plantWebhookEvent(scene, team, id, { status: 'success', attempts: 1 });
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'disabled' });
    expect(await loadColumns(id)).toMatchObject({ status: 'disabled', disabled_at: now, disabled_reason: 'manual' });
    expect(await loadEvent(id, due)).toEqual({ status: 'pending', parked: 1, due_at: null });
    expect(await loadEvent(id, later)).toEqual({ status: 'attempting', parked: 1, due_at: null });
    expect(await loadEvent(id, done)).toEqual({ status: 'success', parked: 0, due_at: null });
    scene.clock.advance(1000);
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'disabled' });
    expect((await loadColumns(id)).disabled_at).toBe(now);
    const disabled = { disabled_at: new Date(now).toISOString(), disabled_reason: 'manual' };
    expect(await read(team, id)).toMatchObject(disabled);
    expect((await call(team, 'GET', '/webhooks')).body).toMatchObject({ data: [disabled] });
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'enabled' });
    expect(await read(team, id)).not.toHaveProperty('disabled_at');
    // Its five days of failing start again.
    expect(await loadColumns(id)).toMatchObject({ status: 'enabled', disabled_at: null, failing_since: null });
    expect(await loadEvent(id, due)).toEqual({ status: 'pending', parked: 1, due_at: null });
  });

  it('parks remaining due events before it enables an endpoint that was not fully disabled', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team, { status: 'disabled' });
    const due = await plantWebhookEvent(scene, team, id, { status: 'pending', dueAt: scene.clock.now() });
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'enabled' });
    expect(await loadEvent(id, due)).toEqual({ status: 'pending', parked: 1, due_at: null });
  });

  it('keeps due events when it enables an enabled endpoint', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    const due = await plantWebhookEvent(scene, team, id, { status: 'pending', dueAt: scene.clock.now() });
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'enabled' });
    expect(await loadEvent(id, due)).toMatchObject({ parked: 0, due_at: scene.clock.now() });
  });

  it('parks more events than one statement takes', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    const { world } = scene.app;
    const rows = Array.from({ length: 1234 }, (_, i) => [id, world.ids.uuid(), team.id, 'email.sent', 'pending', i, 0]);
    const columns = ['webhook_id', 'event_id', 'team_id', 'type', 'status', 'due_at', 'created_at'];
    await world.db.insertMany('webhook_events', columns, rows);
    await call(team, 'PATCH', `/webhooks/${id}`, { status: 'disabled' });
    const sql = 'select count(*) as n from webhook_events where webhook_id = ? and parked = 1 and due_at is null';
    expect(await world.db.get(sql, [id])).toEqual({ n: 1234 });
  });

  it('restarts the five days of failures for another address, but not for the same', async () => {
    const team = await scene.team();
    const made = await create(team);
    await scene.app.world.db.run('update webhooks set failing_since = 5 where id = ?', [made.id]);
    await call(team, 'PATCH', `/webhooks/${made.id}`, { endpoint: at(), events: ['email.failed'] });
    expect((await loadColumns(made.id)).failing_since).toBe(5);
    await call(team, 'PATCH', `/webhooks/${made.id}`, { endpoint: at('new.test') });
    expect((await loadColumns(made.id)).failing_since).toBeNull();
  });
});

describe('DELETE /webhooks/{webhook_id}', () => {
  it('removes the endpoint at once from every route, once', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    const event = await plantWebhookEvent(scene, team, id, { status: 'failed' });
    const answers = await Promise.all([1, 2, 3].map(() => call(team, 'DELETE', `/webhooks/${id}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404]);
    expect(answers.find((answer) => answer.status === 200)?.body).toEqual({ object: 'webhook', id, deleted: true });
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { status: 'disabled' }],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/signing-secret/rotate'],
      ['GET', '/events'],
      ['GET', `/events/${event}`],
      ['GET', `/events/${event}/attempts`],
      ['POST', `/events/${event}/replay`],
      ['GET', '/parked'],
    ] as const) {
      expect(await call(team, method, `/webhooks/${id}${path}`, body), path).toMatchObject({ status: 404 });
    }
    expect((await loadColumns(id)).deleted_at).toBe(scene.clock.now());
  });
});

describe('the signing secret of an endpoint', () => {
  const loadSecrets = async (id: string) =>
    openSigningSecrets(scene.app.world, await loadColumns(id), scene.clock.now());

  it.each(['rotate-secret', 'signing-secret/rotate'])(
    'is replaced by %s: both sign for 24 hours, then only the new one',
    async (path) => {
      const team = await scene.team();
      const made = await create(team);
      expect(await loadSecrets(made.id)).toEqual([made.signing_secret]);
      const { status, body } = await call(team, 'POST', `/webhooks/${made.id}/${path}`);
      expect([status, Object.keys(body).sort()]).toEqual([200, ['id', 'object', 'signing_secret']]);
      expect(body.signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
      expect(body.signing_secret).not.toBe(made.signing_secret);
      expect((await read(team, made.id)).signing_secret).toBe(`whsec_****${body.signing_secret.slice(-4)}`);
      expect(await loadSecrets(made.id)).toEqual([body.signing_secret, made.signing_secret]);
      scene.clock.advance(24 * HOUR_MS - 1);
      expect(await loadSecrets(made.id)).toEqual([body.signing_secret, made.signing_secret]);
      scene.clock.advance(1);
      expect(await loadSecrets(made.id)).toEqual([body.signing_secret]);
    },
  );

  it('ends at once if it is the oldest when a second rotation comes within the day', async () => {
    const team = await scene.team();
    const made = await create(team);
    const second = (await call(team, 'POST', `/webhooks/${made.id}/rotate-secret`)).body.signing_secret;
    const third = (await call(team, 'POST', `/webhooks/${made.id}/rotate-secret`)).body.signing_secret;
    expect(await loadSecrets(made.id)).toEqual([third, second]);
  });

  it('is rotated without a body', async () => {
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    expect(await call(team, 'POST', `/webhooks/${id}/rotate-secret`, { secret: 'mine' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'secret' }] },
    });
  });

  it('is stored sealed, and is in no log', async () => {
    const team = await scene.team();
    const made = await create(team);
    const rotated = (await call(team, 'POST', `/webhooks/${made.id}/rotate-secret`)).body.signing_secret as string;
    const row = JSON.stringify(await loadColumns(made.id));
    const { body: logs } = await call(team, 'GET', '/logs?limit=100');
    const kept: string[] = [row, scene.log.join('\n')];
    for (const { id } of logs.data) kept.push((await call(team, 'GET', `/logs/${id}`)).text);
    const said = kept.join('\n');
    for (const secret of [made.signing_secret as string, rotated]) {
      expect(said).not.toContain(secret);
      expect(said).not.toContain(secret.slice('whsec_'.length));
    }
    expect(said).toContain('"signing_secret":"[redacted]"');
  });

  it('is sealed for its purpose and endpoint, and cannot be opened as another', async () => {
    const { world } = scene.app;
    const id = await plantWebhook(scene, await scene.team());
    const { secret_sealed: sealed } = await loadColumns(id);
    expect(() => world.secrets.open(sealed, 'dkim key', id)).toThrow();
    expect(() => world.secrets.open(sealed, 'webhook signing secret', 'wh_other')).toThrow();
    expect(world.secrets.open(sealed, 'webhook signing secret', id)).toMatch(/^whsec_/);
  });
});
