import { describe, expect, it } from 'vitest';
import type { DeepPartial, Config } from '../../../src/platform/config/index.ts';
import { createRequestLog } from '../../../src/tenancy/logs/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;

const remove = (scene: Scene): Promise<unknown> | undefined =>
  scene.app.jobs.find((job) => job.name === 'remove-old-logs')?.run();

async function endpoints(scene: Scene, team: Team): Promise<string[]> {
  const { body } = await scene.api('GET', '/logs?limit=100', { key: team.key });
  return body.data.map((log: { endpoint: string }) => log.endpoint).filter((path: string) => path !== '/logs');
}

describe('old request logs', () => {
  it.each<[string, DeepPartial<Config>, number]>([
    ['seven days unless the settings say otherwise', {}, 7],
    ['as long as the settings say', { logs: { retention_days: 3 } }, 3],
    ['no longer than the plan', { logs: { retention_days: 30 }, plans: { standard: plan(2) } }, 2],
    [
      'no longer than the settings where the plan allows more',
      { logs: { retention_days: 5 }, plans: { standard: plan(90) } },
      5,
    ],
  ])('are kept %s', async (_, config, days) => {
    await using scene = await startScene({ roles: ['http'], config });
    const team = await scene.team();
    await scene.api('GET', '/domains', { key: team.key });
    scene.clock.advance(1);
    await scene.api('GET', '/api-keys', { key: team.key });
    scene.clock.advance(days * DAY_MS - 1);
    expect(await endpoints(scene, team)).toEqual(['/api-keys', '/domains']);
    expect(await remove(scene)).toBe(0);
    scene.clock.advance(1);
    expect(await remove(scene)).toBe(1);
    expect(await endpoints(scene, team)).toEqual(['/api-keys']);
  });

  it('are deleted in small steps for every team, without newer ones', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const teams = [await scene.team(), await scene.team()];
    const log = createRequestLog(scene.app.world);
    const row = { api_key_id: null, method: 'GET', endpoint: '/domains', response_status: 200, user_agent: null };
    for (let i = 0; i < 900; i++) {
      const { id: team_id } = teams[i % 2] as Team;
      log.add({
        ...row,
        id: scene.app.world.ids.uuid(),
        team_id,
        request_body: null,
        response_body: null,
        created_at: null,
      });
    }
    await log.settled();
    scene.clock.advance(7 * DAY_MS + 1);
    for (const team of teams) await scene.api('GET', '/api-keys', { key: team.key });
    for (const team of teams) expect(await endpoints(scene, team)).toHaveLength(100);
    expect(await remove(scene)).toBe(900);
    for (const team of teams) expect(await endpoints(scene, team)).toEqual(['/api-keys']);
  });

  it('of more teams than a run has batches are deleted in two runs, and a long log does not delay others', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { world } = scene.app;
    const log = createRequestLog(world);
    const row = { api_key_id: null, method: 'GET', endpoint: '/domains', response_status: 200, user_agent: null };
    const write = (team_id: string): void =>
      log.add({ ...row, id: world.ids.uuid(), team_id, request_body: null, response_body: null, created_at: null });
    for (let i = 0; i < 20; i++) await scene.team();
    for (let i = 0; i < 55; i++) write((await scene.team()).id);
    const long = await scene.team();
    for (let i = 0; i < 410; i++) write(long.id);
    await log.settled();
    scene.clock.advance(7 * DAY_MS + 1);
    expect(await remove(scene)).toBe(50);
    expect(await remove(scene)).toBe(415);
    expect(await remove(scene)).toBe(0);
  });
});

function plan(days: number) {
  return {
    name: 'Standard',
    included_emails: 1000,
    marketing_emails: 1000,
    daily_cap: 0,
    domain_limit: 10,
    contact_limit: 1000,
    webhook_endpoint_limit: 10,
    retention_days: days,
  };
}
