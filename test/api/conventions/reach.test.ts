import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadContract } from '../../../src/contract/index.ts';
import type { HttpPort } from '../../../src/http/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { startSecondPort } from '../../rig/second-port.ts';

// The contract has no operation yet that a key must not reach, so that one of its operations is marked as such here.
let scene: Scene;
let team: Team;
let port: HttpPort;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  const document = structuredClone(loadContract());
  const mark = (path: string, permission: 'session' | null): void => {
    const operation = document.paths[path]?.get;
    if (operation) operation['x-service-permission'] = permission;
  };
  mark('/usage', 'session');
  mark('/team', null);
  port = await startSecondPort(scene, { document });
});
afterAll(async () => {
  await port.close(0);
  await scene.close();
});

const get = async (path: string, key: string): Promise<{ status: number; name?: string }> => {
  const answer = await fetch(`http://127.0.0.1:${port.port}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'user-agent': 'test' },
  });
  const { name } = (await answer.json()) as { name?: string };
  return answer.ok ? { status: answer.status } : { status: answer.status, ...(name === undefined ? {} : { name }) };
};

it.each([
  ['/domains', { status: 200 }],
  ['/usage', { status: 403, name: 'invalid_permission' }],
  ['/team', { status: 403, name: 'invalid_permission' }],
])('a key with full access asks for %s', async (path, answer) => {
  expect(await get(path, team.key)).toEqual(answer);
});
