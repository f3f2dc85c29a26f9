import { afterAll, beforeAll, expect, it } from 'vitest';
import { audited, describeActor } from '../../src/tenancy/audit/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { Desk } from './desk.ts';

let scene: Scene;
let team: Team;
const desk = new Desk();
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
});
afterAll(async () => {
  await desk.clear();
  await scene.close();
});

it('rasket audit shows the kind of each actor and its name', async () => {
  const actors = [
    { kind: 'session', sessionId: 's1', userId: 'u1', name: 'ada@example.com', role: 'admin' },
    { kind: 'operator', operatorId: 'o1', name: 'Grace' },
    { kind: 'job', name: 'broadcasts' },
  ] as const;
  for (const actor of actors) {
    const nowhere = { address: null, user_agent: null, request_id: null, details: null };
    const note = { team_id: team.id, action: 'topic.deleted', subject_id: null, ...nowhere, ...describeActor(actor) };
    await audited(scene.app.world, note).write();
  }
  const { code, stdout } = await desk.rasket(['audit', '--url', scene.url, '--api-key', team.key]);
  expect(code).toBe(0);
  const whos = stdout.split('\n').map((line) => /\t(user|operator|system) ([^\t]*)/.exec(line)?.[0]?.trim());
  expect(whos.filter(Boolean)).toEqual(['system broadcasts', 'operator Grace', 'user ada@example.com']);
});
