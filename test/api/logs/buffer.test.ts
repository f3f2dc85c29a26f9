import { describe, expect, it } from 'vitest';
import { createRequestLog } from '../../../src/tenancy/logs/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { readRequestId } from './requests.ts';

const GATHER_MS = 250;

const stored = async (scene: Scene): Promise<number> =>
  (await scene.app.world.db.get<{ n: number }>('select count(*) as n from request_logs'))?.n ?? 0;

const buildRow = (scene: Scene, team: Team, size = 10) => ({
  id: scene.app.world.ids.uuid(),
  team_id: team.id,
  api_key_id: null,
  method: 'GET',
  endpoint: '/emails',
  response_status: 200,
  user_agent: null,
  request_body: null,
  created_at: null,
  response_body: JSON.stringify('x'.repeat(size)),
});

describe('request logs in memory', () => {
  it('wait a quarter of a second and are then written in one batch', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const log = createRequestLog(scene.app.world);
    for (let i = 0; i < 20; i++) log.add(buildRow(scene, team));
    scene.clock.advance(GATHER_MS - 1);
    expect(await stored(scene)).toBe(0);
    scene.clock.advance(1);
    // A reader waits for the batch in progress.
    await log.settled();
    expect(await stored(scene)).toBe(20);
  });

  it('are written at once when there are two hundred', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const log = createRequestLog(scene.app.world);
    for (let i = 0; i < 650; i++) log.add(buildRow(scene, team));
    await expect.poll(() => stored(scene)).toBe(650);
  });

  it('are written when the program stops, and are there after the next start', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await scene.api('GET', '/domains', { key: team.key }));
    expect(await stored(scene)).toBe(0);
    await scene.restart();
    expect(await stored(scene)).toBe(5);
    const { body } = await scene.api('GET', '/logs', { key: team.key });
    expect(body.data.map((log: { id: string }) => log.id)).toEqual(answers.map(readRequestId).reverse());
  });

  it('are written before anybody reads the log', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    for (let i = 0; i < 30; i++) {
      const answer = await scene.api('GET', '/domains', { key: team.key });
      expect((await scene.api('GET', `/logs/${readRequestId(answer)}`, { key: team.key })).status).toBe(200);
    }
  });
});

describe('request logs while the table cannot be written', () => {
  it('do not affect answers, and the program log reports the loss', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    await scene.app.world.db.run('alter table request_logs rename column endpoint to elsewhere');
    for (let i = 0; i < 20; i++) {
      expect((await scene.api('GET', '/domains', { key: team.key })).status).toBe(200);
    }
    scene.clock.advance(GATHER_MS);
    await expect.poll(() => droppedIn(scene)).toBe(20);
    await scene.app.world.db.run('alter table request_logs rename column elsewhere to endpoint');
    await scene.api('GET', '/domains', { key: team.key });
    expect((await scene.api('GET', '/logs', { key: team.key })).body.data).toHaveLength(1);
  });

  it('are limited to ten thousand entries, and the oldest are dropped', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const log = createRequestLog(worldAway(scene, () => isAway));
    let isAway = true;
    const rows = Array.from({ length: 10_400 }, () => buildRow(scene, team));
    for (const row of rows) log.add(row);
    await log.settled();
    expect(await stored(scene)).toBe(0);
    isAway = false;
    await log.close();
    const oldest = await scene.app.world.db.get<{ id: string }>(
      'select min(id) as id from (select cast(id as text) as id from request_logs) as ids',
    );
    expect(await stored(scene)).toBe(10_000);
    expect(oldest?.id).toBe(rows[400]?.id);
    expect(droppedIn(scene)).toBe(400);
  });

  it('are limited to sixteen million characters', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const log = createRequestLog(worldAway(scene, () => isAway));
    let isAway = true;
    for (let i = 0; i < 400; i++) log.add(buildRow(scene, team, 100_000));
    await log.settled();
    isAway = false;
    await log.close();
    expect((await stored(scene)) * 100_000).toBeLessThan(17_000_000);
    expect(await stored(scene)).toBeGreaterThan(0);
    expect(droppedIn(scene) + (await stored(scene))).toBe(400);
  });

  it('are written when the database is back, without another request', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    let isAway = true;
    const log = createRequestLog(worldAway(scene, () => isAway));
    for (let i = 0; i < 250; i++) log.add(buildRow(scene, team));
    await log.settled();
    isAway = false;
    scene.clock.advance(1000);
    await expect.poll(() => stored(scene)).toBe(250);
    expect(droppedIn(scene)).toBe(0);
  });
});

/** Returns the world of the scene with a database that is full while the test says so. */
function worldAway(scene: Scene, isAway: () => boolean): typeof scene.app.world {
  const { world } = scene.app;
  const full = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  const { txUnsynced } = world.db;
  const db: typeof world.db = {
    ...world.db,
    txUnsynced: (work) => (isAway() ? Promise.reject(full) : txUnsynced(work)),
  };
  return { ...world, db };
}

function droppedIn(scene: Scene): number {
  const lines = scene.log.map((line) => JSON.parse(line) as { msg: string; dropped?: number });
  return lines.filter(({ msg }) => msg === 'request logs dropped').reduce((sum, { dropped = 0 }) => sum + dropped, 0);
}
