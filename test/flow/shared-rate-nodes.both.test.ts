import { expect, it } from 'vitest';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startScene } from '../rig/scene.ts';

// runs only with PostgreSQL, where nodes share the buckets
it.runIf(driver === 'pg')(
  'concurrent requests at two nodes share the rate limit of their team, and of no other',
  async () => {
    const { rate_limit: defaults } = loadConfig({ env: {} }).config;
    await using scene = await startScene({ roles: ['http'], config: { rate_limit: defaults } });
    const { config, log } = scene.app.world;
    const { dataDir, clock } = scene;
    const node = await startApp({ config, dataDir, clock, version: '0.0.0-test', log, roles: ['http'] });
    try {
      const apis = [scene.api, createApi(node.http?.url ?? '')];
      const teams = [await scene.team(), await scene.team()];
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(
          Array.from({ length: 60 }, async (_, n) => {
            const team = n % 2;
            const { status, headers } = await (apis[n % 3 === 0 ? 0 : 1] ?? scene.api)('GET', '/domains', {
              key: teams[team]?.key ?? '',
            });
            return { team, status, remaining: Number(headers.get('ratelimit-remaining')) };
          }),
        );
        for (const team of [0, 1]) {
          const own = answers.filter((answer) => answer.team === team);
          const allowed = own.filter(({ status }) => status === 200);
          // Each of the ten tokens was taken once.
          expect(allowed.map(({ remaining }) => remaining).toSorted((a, b) => a - b)).toEqual(countTo(10));
          expect(own.filter(({ status }) => status === 429)).toHaveLength(20);
        }
        clock.advance(60_000);
      }
      // Half a second brings five.
      await Promise.all(countTo(10).map(() => scene.api('GET', '/domains', { key: teams[0]?.key ?? '' })));
      clock.advance(500);
      const later = await Promise.all(
        countTo(10).map(() => scene.api('GET', '/domains', { key: teams[0]?.key ?? '' })),
      );
      expect(later.filter(({ status }) => status === 200)).toHaveLength(5);
    } finally {
      await node.close(0);
    }
  },
);

const countTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
