import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const create = (team: Team, body: unknown) => scene.api('POST', '/api-keys', { key: team.key, body });
const loadRow = (id: string) => scene.app.world.db.get('select * from api_keys where id = ?', [id]);

describe('POST /api-keys', () => {
  it('returns the token once, and stores only its hash and its first characters', async () => {
    const team = await scene.team();
    const made = await create(team, { name: 'Billing' });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body).sort()).toEqual(['id', 'object', 'token']);
    const { id, token } = made.body as { id: string; token: string };
    expect(token).toMatch(/^rk_[A-Za-z0-9_-]{32}$/);
    const row = await loadRow(id);
    expect(row?.token_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(token.slice(3));
    expect(row?.key_prefix).toBe(token.slice(0, 10));
    const list = await scene.api('GET', '/api-keys', { key: team.key });
    expect(list.text).not.toContain(token.slice(10));
    expect(scene.log.join('\n')).not.toContain(token.slice(10));
  });

  it('creates a key with full access and no domain by default', async () => {
    const team = await scene.team();
    const { body } = await create(team, { name: 'Plain' });
    const { data } = (await scene.api('GET', '/api-keys', { key: team.key })).body;
    const item = data.find((key: { id: string }) => key.id === body.id);
    expect(item).toMatchObject({ permission: 'full_access', status: 'active', name: 'Plain', last_used_at: null });
    expect(item).not.toHaveProperty('domain_id');
    expect(item.key_prefix).toBe(body.token.slice(0, 10));
    expect((await scene.api('GET', '/api-keys', { key: body.token })).status).toBe(200);
  });

  it('creates a key pinned to a verified domain, which shows the domain and sends from no other', async () => {
    const team = await scene.team();
    const pinned = await team.domain();
    const other = await team.domain();
    const made = await create(team, { name: 'Pinned', permission: 'sending_access', domain_id: pinned.id });
    expect(made.status).toBe(201);
    const { data } = (await scene.api('GET', '/api-keys', { key: team.key })).body;
    expect(data[0]).toMatchObject({ id: made.body.id, permission: 'sending_access', domain_id: pinned.id });
    const send = (domain: string) =>
      scene.api('POST', '/emails', {
        key: made.body.token,
        body: { from: `a@${domain}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' },
      });
    expect((await send(pinned.name)).status).toBe(200);
    expect(await send(other.name)).toMatchObject({ status: 403, body: { name: 'validation_error' } });
    await scene.settled();
  });

  it('accepts a name of exactly 255 characters in any script', async () => {
    const team = await scene.team();
    expect((await create(team, { name: '鍵'.repeat(255) })).status).toBe(201);
    expect(await create(team, { name: '鍵'.repeat(256) })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'name' }] },
    });
    expect(await create(team, { name: '' })).toMatchObject({ status: 400, body: { errors: [{ path: 'name' }] } });
  });

  it('lets two keys share a name', async () => {
    const team = await scene.team();
    const one = await create(team, { name: 'Same' });
    const two = await create(team, { name: 'Same' });
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(one.body.token).not.toBe(two.body.token);
  });
});

describe('POST /api-keys is refused', () => {
  it('without a name, with a 422 that names the field', async () => {
    const team = await scene.team();
    expect(await create(team, { permission: 'sending_access' })).toMatchObject({
      status: 422,
      body: { name: 'missing_required_field', message: expect.stringContaining('name') },
    });
  });

  it('with domain_id and full_access, whether explicit or by default', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    for (const body of [
      { name: 'K', domain_id: domain.id },
      { name: 'K', domain_id: domain.id, permission: 'full_access' },
    ]) {
      expect(await create(team, body)).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: 'domain_id' }] },
      });
    }
  });

  it('with a domain that is unverified, foreign or unknown, in the same words', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const unverified = await scene.api('POST', '/domains', { key: team.key, body: { name: 'pending.example.com' } });
    const foreign = await stranger.domain();
    const ids = [unverified.body.id as string, foreign.id, '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01'];
    const answers = [];
    for (const id of ids) {
      const { status, text } = await create(team, { name: 'K', permission: 'sending_access', domain_id: id });
      answers.push([status, text.replaceAll(id, 'ID')]);
    }
    expect(answers[0]?.[0]).toBe(422);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it('with an unknown permission, and with a domain_id that is not an id', async () => {
    const team = await scene.team();
    expect(await create(team, { name: 'K', permission: 'admin', domain_id: 'x' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'permission' }, { path: 'domain_id' }] },
    });
  });

  it('without writing anything', async () => {
    const team = await scene.team();
    await create(team, { name: 'K', permission: 'sending_access', domain_id: team.id });
    const { data } = (await scene.api('GET', '/api-keys?status=all', { key: team.key })).body;
    expect(data).toHaveLength(1);
  });
});

it('the id of a domain is accepted in upper case', async () => {
  const team = await scene.team();
  const domain = await team.domain();
  const body = { name: 'K', permission: 'sending_access', domain_id: domain.id.toUpperCase() };
  const made = await create(team, body);
  expect(made.status).toBe(201);
  expect((await loadRow(made.body.id))?.domain_id).toBe(domain.id);
});
