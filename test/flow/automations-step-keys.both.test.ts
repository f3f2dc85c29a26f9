import { expect, it } from 'vitest';
import { line, start, supply, wait } from '../api/automations/graph.ts';
import { startScene } from '../rig/scene.ts';
import { MINUTE } from './mail.ts';

it('an automation with step keys that are words of JavaScript runs each step once', async () => {
  await using scene = await startScene();
  const { team, contact } = await supply(scene);
  const call = async (method: string, path: string, body?: object) =>
    (await scene.api(method, path, { key: team.key, ...(body && { body }) })).body;
  const keys = ['__proto__', 'constructor', 'toString'];
  const graph = line(start, ...keys.map((key) => wait(key, '1 minute')));
  const { id } = await call('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
  await call('POST', '/events/send', { event: 'order', contact_id: contact });
  for (const key of keys) {
    await scene.settled();
    expect((await call('GET', `/automations/${id}`)).runs.at_steps).toEqual([{ key, runs: 1 }]);
    scene.clock.advance(MINUTE);
  }
  await scene.settled();
  const [run] = (await call('GET', `/automations/${id}/runs`)).data;
  const { status, steps } = await call('GET', `/automations/${id}/runs/${run.id}`);
  expect(status).toBe('completed');
  expect(steps).toMatchObject(['start', ...keys].map((key) => ({ key, status: 'completed' })));
});
