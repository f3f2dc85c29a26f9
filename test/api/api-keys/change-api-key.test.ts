import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

async function make(team: Team, more: object = {}): Promise<{ id: string; token: string }> {
  return (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Before', ...more } })).body;
}
const loadRow = (id: string) => scene.app.world.db.get('select * from api_keys where id = ?', [id]);

describe('PATCH /api-keys/{id}', () => {
  it('changes only the name', async () => {
    const team = await scene.team();
    const { id } = await make(team);
    const before = await loadRow(id);
    const changed = await scene.api('PATCH', `/api-keys/${id}`, { key: team.key, body: { name: 'After' } });
    expect([changed.status, changed.body]).toEqual([200, { object: 'api_key', id }]);
    expect(await loadRow(id)).toEqual({ ...before, name: 'After' });
  });

  it('refuses to change permission and domain, and then leaves the name unchanged too', async () => {
    const team = await scene.team();
    const { id } = await make(team);
    const body = { name: 'After', permission: 'sending_access', domain_id: null };
    expect(await scene.api('PATCH', `/api-keys/${id}`, { key: team.key, body })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'permission' }, { path: 'domain_id' }] },
    });
    expect(await loadRow(id)).toMatchObject({ name: 'Before', permission: 'full_access' });
  });

  it('requires a name', async () => {
    const team = await scene.team();
    const { id } = await make(team);
    expect(await scene.api('PATCH', `/api-keys/${id}`, { key: team.key, body: {} })).toMatchObject({
      status: 422,
      body: { name: 'missing_required_field' },
    });
  });

  it('returns 404 for a key of another team', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const { id } = await make(team);
    const answer = await scene.api('PATCH', `/api-keys/${id}`, { key: stranger.key, body: { name: 'Mine' } });
    expect(answer).toMatchObject({ status: 404, body: { name: 'not_found' } });
    expect(await loadRow(id)).toMatchObject({ name: 'Before' });
  });
});

describe('DELETE /api-keys/{id}', () => {
  it('makes the very next request with the key fail with 403, and keeps the row', async () => {
    const team = await scene.team();
    const { id, token } = await make(team);
    expect((await scene.api('GET', '/domains', { key: token })).status).toBe(200);
    const gone = await scene.api('DELETE', `/api-keys/${id}`, { key: team.key });
    expect([gone.status, gone.body]).toEqual([200, { object: 'api_key', id, deleted: true }]);
    expect(await scene.api('GET', '/domains', { key: token })).toMatchObject({
      status: 403,
      body: { name: 'restricted_api_key' },
    });
    expect(await loadRow(id)).toMatchObject({ status: 'revoked', name: 'Before' });
  });

  it('is final: a repeated call returns 404, as does a key of another team', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const { id, token } = await make(team);
    const remove = (key: string) => scene.api('DELETE', `/api-keys/${id}`, { key });
    const nowhere = await scene.api('DELETE', '/api-keys/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', { key: team.key });
    const foreign = await remove(stranger.key);
    expect([foreign.status, foreign.text]).toEqual([404, nowhere.text]);
    expect((await scene.api('GET', '/domains', { key: token })).status).toBe(200);
    expect((await remove(team.key)).status).toBe(200);
    const again = await remove(team.key);
    expect([again.status, again.text]).toEqual([404, nowhere.text]);
  });

  it('succeeds once when several calls arrive at once', async () => {
    const team = await scene.team();
    const { id } = await make(team);
    const remove = () => scene.api('DELETE', `/api-keys/${id}`, { key: team.key });
    const statuses = (await Promise.all([remove(), remove(), remove()])).map((answer) => answer.status);
    expect(statuses.sort()).toEqual([200, 404, 404]);
  });

  it('lets a key revoke itself', async () => {
    const team = await scene.team();
    const { id, token } = await make(team);
    expect((await scene.api('DELETE', `/api-keys/${id}`, { key: token })).status).toBe(200);
    expect((await scene.api('DELETE', `/api-keys/${id}`, { key: token })).status).toBe(403);
  });

  it('is still in effect after a restart', async () => {
    const team = await scene.team();
    const { id, token } = await make(team);
    await scene.api('DELETE', `/api-keys/${id}`, { key: team.key });
    await scene.restart();
    expect((await scene.api('GET', '/domains', { key: token })).status).toBe(403);
  });
});

it('a suspended key and the keys of a suspended team are refused with an error name of their own', async () => {
  const team = await scene.team();
  const { id, token } = await make(team);
  const { db } = scene.app.world;
  await db.run("update api_keys set status = 'suspended' where id = ?", [id]);
  const refusal = { status: 403, body: { name: 'suspended_api_key' } };
  expect(await scene.api('GET', '/domains', { key: token })).toMatchObject(refusal);
  expect((await scene.api('GET', '/domains', { key: team.key })).status).toBe(200);
  await db.run("update teams set risk_state = 'suspended' where id = ?", [team.id]);
  expect(await scene.api('GET', '/domains', { key: team.key })).toMatchObject(refusal);
});
