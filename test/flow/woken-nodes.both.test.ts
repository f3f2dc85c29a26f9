import { expect, it, vi } from 'vitest';
import { startApp } from '../../src/app.ts';
import { driver } from '../rig/database.ts';
import { startScene } from '../rig/scene.ts';

// runs only with PostgreSQL: SQLite bears one process
it.runIf(driver === 'pg')(
  'mail that one node accepts is sent at once by another without polling, also after a cut connection',
  async () => {
    // The clock stands still, so that nothing is found by polling.
    await using scene = await startScene({ roles: ['http'] });
    const { config, log, db } = scene.app.world;
    const { dataDir, clock } = scene;
    const node = await startApp({ config, dataDir, clock, version: '0.0.0-test', log, roles: ['delivery'] });
    try {
      const team = await scene.team();
      const domain = await team.domain();
      const send = async (n: number): Promise<void> => {
        const body = { from: `a@${domain.name}`, to: `${n}@example.org`, subject: `Number ${n}`, text: 'x' };
        expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
        await scene.sink.waitFor(n);
      };
      for (let n = 1; n <= 10; n++) await send(n);
      const cut = await db.all(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'rasket listener' and datname = current_database()`);
      expect(cut).toHaveLength(2);
      for (let n = 11; n <= 15; n++) await send(n);
      await node.queue?.idle();
      expect(scene.sink.messages).toHaveLength(15);
    } finally {
      await node.close(0);
    }
  },
);

// runs only with PostgreSQL: SQLite bears one process
it.runIf(driver === 'pg')(
  'mail that an operator holds at one node is not started by another until it is released there',
  async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { config, log, db } = scene.app.world;
    const { dataDir, clock } = scene;
    const node = await startApp({ config, dataDir, clock, version: '0.0.0-test', log, roles: ['delivery'] });
    try {
      const team = await scene.team();
      const domain = await team.domain();
      const operator = await scene.operator();
      for (let round = 1; round <= 10; round++) {
        const hold = { team_id: team.id, reason: 'Looked into' };
        const held = await scene.api('POST', '/operator/queue/holds', { key: operator, body: hold });
        expect(held.status).toBe(201);
        const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: `Round ${round}`, text: 'x' };
        expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
        const waiting = () => db.all('select id from deliveries where hold_id is not null');
        await vi.waitFor(async () => expect(await waiting()).toHaveLength(1));
        expect(scene.sink.messages).toHaveLength(round - 1);
        await scene.api('DELETE', `/operator/queue/holds/${held.body.id as string}`, { key: operator });
        await scene.sink.waitFor(round);
      }
    } finally {
      await node.close(0);
    }
  },
);
