import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { createApi } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { startScene } from '../../rig/scene.ts';

// runs only on PostgreSQL: SQLite has one process.
it.runIf(driver === 'pg')(
  'two nodes that get one key at the same time send one email and give one answer',
  async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const domain = await team.domain();
    const dataDir = nodeFolder(scene);
    const { config, log } = scene.app.world;
    const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
    try {
      const nodes = [scene.api, createApi(node.http?.url ?? '')];
      for (let round = 0; round < 10; round++) {
        const headers = { 'idempotency-key': randomUUID() };
        const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: `Round ${round}`, text: 'x' };
        const answers = await Promise.all(nodes.map((api) => api('POST', '/emails', { key: team.key, body, headers })));
        expect(answers.map(({ status }) => status)).toEqual([200, 200]);
        expect(answers[0]?.text).toBe(answers[1]?.text);
        const other = { ...body, subject: 'Another request' };
        const refused = await Promise.all(
          nodes.map((api) => api('POST', '/emails', { key: team.key, body: other, headers })),
        );
        expect(refused.map(({ body: error }) => error.name)).toEqual(Array(2).fill('invalid_idempotent_request'));
      }
      expect((await scene.api('GET', '/emails', { key: team.key })).body.data).toHaveLength(10);
    } finally {
      await node.close(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
