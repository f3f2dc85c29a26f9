import { describe, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { recordEvents } from '../../src/mail/events/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { madeUp } from '../rig/events.ts';
import { driver } from '../rig/database.ts';
import { openEventStream, type Frame } from '../rig/event-stream.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { dice, testSeed } from '../rig/seed.ts';

/** Another process on the same database, but for the process. */
const startNode = (scene: Scene): Promise<App> =>
  startApp({
    config: scene.app.world.config,
    dataDir: scene.dataDir,
    clock: scene.clock,
    version: '0.0.0-test',
    log: createLog({ level: 'debug', format: 'json', write: () => undefined }),
    roles: ['http'],
  });

const toIds = (frames: readonly Frame[]): string[] =>
  frames.map((frame) => (frame.data.id as string).slice('msg_'.length));

// runs only with PostgreSQL: SQLite bears one process
describe.runIf(driver === 'pg')('listeners at two nodes', () => {
  it('get every event of both nodes once, in any order of ids and commits, from either node', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const node = await startNode(scene);
    try {
      const team = await scene.team();
      const recorded: string[] = [];
      const roll = dice(testSeed());
      /** Ids are made first and committed in another order, by both nodes at once. */
      const happenOn = async (apps: App[], count: number): Promise<void> => {
        const events = Array.from({ length: count }, (_, at) => {
          const { world } = apps[at % apps.length] ?? scene.app;
          const id = world.ids.uuid();
          recorded.push(id.replaceAll('-', ''));
          const event = { id, teamId: team.id, type: 'suppression.added' as const, subjectId: id };
          return { world, event: madeUp({ ...event, data: { email: 'a@example.org' }, at: world.clock.now() }) };
        });
        const late = events.toSorted(() => roll() - 0.5);
        await Promise.all(late.map(({ world, event }) => world.db.tx((tx) => recordEvents(tx, world.ids, [event]))));
        scene.clock.advance(500);
      };

      const first = await openEventStream(scene.url, { key: team.key });
      await first.until(1);
      for (let round = 0; round < 5; round++) await happenOn([scene.app, node], 60);
      const seen = await first.until(300, 'event');
      expect(toIds(seen).toSorted()).toEqual(recorded.toSorted());
      first.drop();
      await first.ended;
      await happenOn([scene.app, node], 60);

      // The other node goes on where the first one stopped.
      const url = node.http?.url ?? '';
      await using second = await openEventStream(url, { key: team.key, lastId: seen.at(-1)?.id ?? '' });
      expect((await second.until(1))[0]?.data.resumed).toBe(true);
      await happenOn([scene.app], 60);
      const more = await second.until(120, 'event');
      expect(toIds(more).toSorted()).toEqual(recorded.slice(300).toSorted());
    } finally {
      await node.close(0);
    }
  });
});
