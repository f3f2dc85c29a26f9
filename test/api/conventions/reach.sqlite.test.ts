import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadContract } from '../../../src/contract/index.ts';
import type { HttpPort } from '../../../src/ports/http/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSecondPort } from '../../rig/second-port.ts';

// The contract has no operation yet that a key must not reach, so one of its operations is marked as such here.
let scene: Scene;
let team: Team;
let port: HttpPort;
const identify = (userId: string) =>
  Promise.resolve({
    teamId: null,
    actor: { kind: 'session' as const, sessionId: userId, userId, name: 'ada@example.com', role: null },
  });
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  const document = structuredClone(loadContract());
  const mark = (path: string, permission: 'session' | null, role?: null): void => {
    const operation = document.paths[path]?.get;
    if (!operation) throw new Error(`the contract has no GET ${path}`);
    operation['x-service-permission'] = permission;
    if (role === null) operation['x-service-role'] = role;
  };
  mark('/usage', 'session');
  mark('/team', null);
  mark('/health', 'session', null);
  port = await startSecondPort(scene, { document, authenticators: [{ cookie: 'test_session', identify }] });
});
afterAll(async () => {
  await port.close(0);
  await scene.close();
});

const get = async (path: string, credential: Record<string, string>): Promise<{ status: number; name?: string }> => {
  const answer = await fetch(`http://127.0.0.1:${port.port}${path}`, {
    headers: { ...credential, 'user-agent': 'test' },
  });
  const { name } = (await answer.json()) as { name?: string };
  return answer.ok ? { status: answer.status } : { status: answer.status, ...(name === undefined ? {} : { name }) };
};

const WRONG_KIND = { status: 403, name: 'invalid_permission' };

it.each([
  ['/domains', { status: 200 }],
  ['/usage', WRONG_KIND],
  ['/team', WRONG_KIND],
  ['/health', WRONG_KIND],
])('a key with full access calls %s', async (path, answer) => {
  expect(await get(path, { authorization: `Bearer ${team.key}` })).toEqual(answer);
});

it.each([
  ['/health', { status: 200 }],
  ['/domains', WRONG_KIND],
  ['/usage', WRONG_KIND],
  ['/team', WRONG_KIND],
])('a person without a team calls %s', async (path, answer) => {
  expect(await get(path, { cookie: 'test_session=ada' })).toEqual(answer);
});

it('routes for signed-in people refuse other callers', async () => {
  expect(await get('/health', {})).toEqual({ status: 401, name: 'missing_api_key' });
});
