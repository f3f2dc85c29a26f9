import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

describe('GET /health and GET /ready', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('answer without a key', async () => {
    expect(await scene.api('GET', '/health')).toMatchObject({
      status: 200,
      body: { status: 'ok', version: '0.0.0-test', env: 'test' },
    });
    const ready = await scene.api('GET', '/ready');
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'ok', version: '0.0.0-test', env: 'test', failed: [] },
    });
    const checks = ready.body.checks as { name: string; ok: boolean }[];
    expect(checks.map(({ name, ok }) => [name, ok])).toEqual([
      ['database', true],
      ['storage', true],
    ]);
  });

  it.each([
    ['/healthz', '/health'],
    ['/livez', '/health'],
    ['/readyz', '/ready'],
    ['/api/v1/readyz', '/ready'],
  ])('answer at %s as at %s', async (alias, path) => {
    const { status, body } = await scene.api('GET', path);
    const fetchAlias = (method: string) =>
      fetch(`${scene.url}${alias}`, { method, headers: { 'user-agent': 'probe' } });
    const named = await fetchAlias('GET');
    expect([named.status, Object.keys((await named.json()) as object)]).toEqual([status, Object.keys(body)]);
    expect((await fetchAlias('HEAD')).status).toBe(200);
    expect((await fetchAlias('POST')).status).toBe(405);
  });

  it('return 503 for readiness but not for liveness while no blob can be written, and recover by themselves', async () => {
    // Permissions do not apply to root, but a file in place of the folder stops everybody.
    const folder = path.join(scene.dataDir, 'blobs');
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, '');
    const degraded = await scene.api('GET', '/ready');
    expect(degraded).toMatchObject({
      status: 503,
      body: {
        statusCode: 503,
        name: 'service_unavailable',
        message: 'Not ready: storage.',
        status: 'degraded',
        failed: ['storage'],
        checks: [
          { name: 'database', ok: true },
          { name: 'storage', ok: false, error: expect.any(String) },
        ],
      },
    });
    expect(degraded.text, 'the cause is for the log: anybody may ask').not.toContain(scene.dataDir);
    expect(degraded.headers.get('retry-after')).toBeNull();
    expect((await scene.api('GET', '/health')).status).toBe(200);
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
    expect((await scene.api('GET', '/ready')).status).toBe(200);
  });
});

describe('a server error', () => {
  it('returns 500 with the request id, and the cause is only in the log', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { key } = await scene.team();
    await scene.app.world.db.run('alter table suppressions rename column team_id to elsewhere');
    const answer = await scene.api('GET', '/suppressions', { key });
    expect(answer).toMatchObject({ status: 500, body: { statusCode: 500, name: 'application_error' } });
    const id = answer.headers.get('x-request-id') ?? '';
    expect(answer.body.message).toContain(id);
    expect(answer.text).not.toMatch(/suppressions|table|relation|select/i);
    const line = scene.log.find((entry) => entry.includes(id)) ?? '';
    expect(line).toMatch(/suppressions/);
    expect(answer.headers.get('retry-after')).toBeNull();
    expect((await scene.api('GET', '/health')).status).toBe(200);
    expect((await scene.api('GET', '/emails', { key })).status).toBe(200);
  });

  // skipped because PostgreSQL has no limit that a client could set: its disk cannot be filled from here.
  it.skipIf(driver === 'pg')(
    'of a full disk returns 503 instead of 500, reads still work, and writes recover',
    async () => {
      await using scene = await startScene({ roles: ['http'] });
      const team = await scene.team();
      const domain = await team.domain();
      const { db } = scene.app.world;
      const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'x'.repeat(16_000) };
      const send = () => scene.api('POST', '/emails', { key: team.key, body });
      const size = await db.get<{ page_count: number }>('pragma page_count');
      await db.tx((tx) => tx.all(`pragma max_page_count = ${size?.page_count ?? 1}`));
      const full = await send();
      expect(full).toMatchObject({ status: 503, body: { statusCode: 503, name: 'service_unavailable' } });
      expect(full.text).not.toMatch(/sqlite|disk|full/i);
      expect((await scene.api('GET', '/emails', { key: team.key })).body.data).toEqual([]);
      await db.tx((tx) => tx.all('pragma max_page_count = 1000000'));
      expect((await send()).status).toBe(200);
      expect((await scene.api('GET', '/emails', { key: team.key })).body.data).toHaveLength(1);
    },
  );
});
