import { afterAll, beforeAll, expect, it } from 'vitest';
import { audited, describeActor } from '../../src/tenancy/audit/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { Desk } from './desk.ts';
import { runInProcess } from './in-process.ts';

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

it('rasket audit shows whole names of who changed what, at the usual width of a terminal', async () => {
  const nowhere = { address: '192.0.2.107', user_agent: null, request_id: null };
  const actor = describeActor({
    kind: 'session',
    sessionId: 's1',
    userId: 'u1',
    name: 'augusta.lovelace@example.com',
    role: 'admin',
  });
  const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e02';
  const changes = [
    {
      action: 'api_key.created',
      subject_id: id,
      details: JSON.stringify({ name: 'Billing', permission: 'full_access' }),
    },
    {
      action: 'suppression.created',
      subject_id: 'sup_019a9c1e7d527c3a9a540b8f4c1f2e03',
      details: '{"email":"spam@example.org"}',
    },
    { action: 'webhook.updated', subject_id: id, details: '{"status":"disabled"}' },
  ];
  for (const change of changes)
    await audited(scene.app.world, { team_id: team.id, ...nowhere, ...change, ...actor }).write();
  const env = { ...process.env, RASKET_URL: scene.url, RASKET_API_KEY: team.key, NO_COLOR: '1' };
  for (const columns of [80, 120]) {
    const { shown } = await runInProcess(['audit', '--limit', '3'], { env, cwd: desk.folder, columns });
    const lines = shown.replaceAll('\r', '').split('\n');
    expect(lines.filter((line) => line.includes('user augusta.lovelace@example.com'))).toHaveLength(3);
    for (const name of ['Billing', 'spam@', '4c1f2e02']) expect(shown, `${columns} columns`).toContain(name);
    expect(Math.max(...lines.slice(0, 4).map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
});
