import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { keyed, formatLabel, open, operations, sampleCall } from './sample-calls.ts';

// The first call of an operation waits until the checks of its answers are compiled, and this test calls them all.
vi.setConfig({ testTimeout: 240_000 });

describe('authentication', () => {
  let scene: Scene;
  let team: Team;
  let sendingKey: string;
  let revokedKey: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    sendingKey = await team.sendingKey();
    const { body } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Old' } });
    revokedKey = body.token;
    await scene.api('DELETE', `/api-keys/${body.id}`, { key: team.key });
  });
  afterAll(() => scene.close());

  const call = (operation: (typeof operations)[number], key?: string, headers: Record<string, string | null> = {}) => {
    const { method, path, body } = sampleCall(operation);
    return scene.api(method, path, { key, body, headers });
  };

  it.each([null, '', '  ', '\t'])('refuses a User-Agent of %j with code 1010, on every operation', async (agent) => {
    for (const operation of operations) {
      const answer = await call(operation, team.key, { 'user-agent': agent });
      expect(answer, formatLabel(operation)).toMatchObject({
        status: 403,
        body: { statusCode: 403, name: 'validation_error', code: 1010 },
      });
    }
  });

  it('puts a code in no other refusal', async () => {
    for (const operation of keyed)
      expect((await call(operation)).body, formatLabel(operation)).not.toHaveProperty('code');
  });

  it('is not needed, and credentials are ignored, on operations that need no key', async () => {
    // An unsigned link leads nowhere, and a sign-in needs a person; their families test both.
    for (const operation of open.filter(({ path, method }) => method === 'get' && !path.includes('{'))) {
      expect((await call(operation)).status, formatLabel(operation)).toBe(200);
      expect((await call(operation, 'rk_nobody')).status, formatLabel(operation)).toBe(200);
    }
  });

  it.each([
    ['absent', null],
    ['empty', ''],
    ['only the scheme', 'Bearer'],
    ['only the scheme and a space', 'Bearer '],
    ['the bare token', 'rk_something'],
    ['another scheme', 'Basic cms6'],
    ['a scheme that begins alike', 'Bearerish rk_something'],
    ['two tokens', 'Bearer rk_one rk_two'],
    ['a list', 'Bearer rk_one, Bearer rk_two,'],
  ])(
    'returns 401 missing_api_key on every operation for an Authorization header that is %s',
    async (_, authorization) => {
      for (const operation of keyed) {
        const answer = await call(operation, undefined, { authorization });
        expect(answer, formatLabel(operation)).toMatchObject({ status: 401, body: { name: 'missing_api_key' } });
      }
    },
  );

  it.each(['rk_unknown', 'rko_unknown', 'x', 'é', 'r'.repeat(8000)])(
    'returns 401 invalid_api_key on every operation for an unknown token (%.20s)',
    async (token) => {
      for (const operation of keyed) {
        const answer = await call(operation, undefined, {
          authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
        });
        expect(answer, formatLabel(operation)).toMatchObject({ status: 401, body: { name: 'invalid_api_key' } });
      }
    },
  );

  it('reads the scheme in any letter case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
      const answer = await scene.api('GET', '/domains', { headers: { authorization: `${scheme} ${team.key}` } });
      expect(answer.status).toBe(200);
    }
  });

  it('returns 403 restricted_api_key on every operation for a revoked key', async () => {
    for (const operation of keyed) {
      const answer = await call(operation, revokedKey);
      expect(answer, formatLabel(operation)).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } });
    }
  });

  it('returns 403 suspended_api_key on every operation for a suspended key, which works again once active', async () => {
    const { body } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Bad' } });
    const { db } = scene.app.world;
    await db.run('update api_keys set status = ? where id = ?', ['suspended', body.id]);
    for (const operation of keyed) {
      const answer = await call(operation, body.token);
      expect(answer, formatLabel(operation)).toMatchObject({ status: 403, body: { name: 'suspended_api_key' } });
    }
    await db.run('update api_keys set status = ? where id = ?', ['active', body.id]);
    expect((await scene.api('GET', '/domains', { key: body.token })).status).toBe(200);
  });

  it('returns 403 suspended_api_key for every key of a suspended team, except revoked ones', async () => {
    const other = await scene.team();
    const made = await scene.api('POST', '/api-keys', { key: other.key, body: { name: 'Old' } });
    await scene.api('DELETE', `/api-keys/${made.body.id}`, { key: other.key });
    await scene.app.world.db.run('update teams set risk_state = ? where id = ?', ['suspended', other.id]);
    for (const operation of keyed) {
      const answer = await call(operation, other.key);
      expect(answer, formatLabel(operation)).toMatchObject({ status: 403, body: { name: 'suspended_api_key' } });
    }
    const revoked = await scene.api('GET', '/domains', { key: made.body.token });
    expect(revoked).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } });
  });

  it('returns 401 restricted_api_key for a sending_access key outside its scope, even for what does not exist', async () => {
    for (const operation of keyed) {
      const answer = await call(operation, sendingKey);
      const isForSending = operation.operation['x-service-permission'] === 'sending_access';
      if (isForSending) expect(answer.body.name, formatLabel(operation)).not.toBe('restricted_api_key');
      else expect(answer, formatLabel(operation)).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    }
  });

  it('does not accept the id, the prefix or the hash of a key', async () => {
    const { body } = await scene.api('GET', '/api-keys', { key: team.key });
    const rows = await scene.app.world.db.all<{ token_hash: string }>('select token_hash from api_keys');
    const tokens = [body.data[0].id, body.data[0].key_prefix, rows[0]?.token_hash ?? '', randomUUID()];
    for (const token of tokens) {
      expect(await scene.api('GET', '/domains', { key: token })).toMatchObject({
        status: 401,
        body: { name: 'invalid_api_key' },
      });
    }
  });
});
