import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { createApi } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { startScene } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';

// runs only on PostgreSQL: SQLite has one process.
it.runIf(driver === 'pg')('two nodes that replay at the same time share the limit of ten a minute', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  // Each has an endpoint of its own, so that they share only the limit.
  const targets: string[] = [];
  for (let i = 0; i < 24; i++) {
    const id = await plantWebhook(scene, team);
    const event = await plantWebhookEvent(scene, team, id, { status: 'failed' });
    targets.push(`/webhooks/${id}/events/${event}/replay`);
  }
  const dataDir = nodeFolder(scene);
  const { config, log } = scene.app.world;
  const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
  try {
    const nodes = [scene.api, createApi(node.http?.url ?? '')];
    const answers = await Promise.all(
      targets.map((target, i) => (nodes[i % 2] ?? scene.api)('POST', target, { key: team.key })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(14);
  } finally {
    await node.close(0);
    rmSync(dataDir, { recursive: true, force: true });
  }
});
