// two nodes on PostgreSQL, one of them cut off --> migrate-to-sqlite --> the one that was cut off comes back to a database that is out of use
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startApp, type App, type Role } from '../../src/app.ts';
import { connectAsFound } from '../../src/open-store.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { moveDatabase } from '../../src/resources/moves/index.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startPgRelay } from '../rig/pg-relay.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn } from './mail.ts';

vi.setConfig({ testTimeout: 120_000 });

/** The scene's own node reaches the database through the relay; another one, with a folder of its own, reaches it directly. */
async function twoNodes() {
  let direct = '';
  let relay: Awaited<ReturnType<typeof startPgRelay>> | undefined;
  const scene = await startScene({
    through: async (url) => {
      direct = url;
      relay = await startPgRelay(url);
      return relay.url;
    },
  });
  if (!relay) throw new Error('there is no relay');
  const way = relay;
  onTestFinished(async () => {
    await scene.close();
    await way.close();
  });
  const dataDir = scratchFolder('rasket-node-');
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(path.join(dataDir, 'run'), { mode: 0o700 });
  copyFileSync(path.join(scene.dataDir, 'instance.key'), path.join(dataDir, 'instance.key'));
  const start = async (database: Partial<Config['database']>, roles: readonly Role[]): Promise<App> => {
    const { config, clock, log } = scene.app.world;
    const settings = { ...config, database: { ...config.database, ...database } };
    const app = await startApp({ config: settings, dataDir, clock, log, version: '0.0.0-test', roles });
    onTestFinished(() => app.close(0));
    return app;
  };
  return { scene, relay: way, direct, dataDir, start };
}

/** As `rasket migrate-to-sqlite` does. */
async function migrateToSqlite(scene: Scene, { direct, dataDir }: { direct: string; dataDir: string }): Promise<void> {
  const { config, blobs, secrets, clock, log } = scene.app.world;
  const to = { driver: 'better-sqlite3' as const, url: '', file: path.join(dataDir, 'rasket.db'), poolMax: 1 };
  const moved = { ...config, database: { ...config.database, driver: to.driver, url: '', path: to.file } };
  await moveDatabase({
    ...{ config, dataDir, blobs, secrets, clock },
    from: { options: { driver: 'pg', url: direct, file: '', poolMax: 2 }, says: 'PostgreSQL' },
    to: { options: to, says: 'the file rasket.db' },
    openTarget: () => connectAsFound({ config: moved, dataDir, clock, log }),
    watch: { begin: () => undefined, done: () => undefined, replaced: () => undefined },
    sealed: async () => SEALED_COLUMNS,
    conclude: async () => undefined,
  });
}

const arrivals = ({ sink }: Scene): string[] => sink.messages.flatMap(({ rcptTo }) => rcptTo).sort();

// runs only with PostgreSQL: SQLite bears one node
it.runIf(driver === 'pg').each(['while it is cut off', 'once it is back'])(
  'a node that was cut off during a move accepts nothing, delivers nothing and stops; what it was sending goes on %s',
  async (when) => {
    const { scene, relay, direct, dataDir, start } = await twoNodes();
    const other = await start({ url: direct }, ['http']);
    const mail = await mailIn(scene);
    const body = (to: string) => ({ from: `a@${mail.domain.name}`, to, subject: 'Hello', text: 'It works.' });
    await mail.send('slow-rcpt@one.example');
    const inDoubt = await mail.send('slow@two.example');
    const handedOff = 'select id from deliveries where email_id = ? and handed_off_at is not null';
    await vi.waitFor(async () => expect(await other.world.db.all(handedOff, [inDoubt])).toHaveLength(1), {
      timeout: 60_000,
    });
    // Behind the dot, and before it.
    await scene.sink.waitFor(
      (sink) => sink.held() === 2 && sink.commands.some((line) => line.includes('slow-rcpt@one.example')),
    );

    relay.cut();
    const there = createApi(other.http?.url ?? '');
    expect((await there('POST', '/emails', { key: mail.team.key, body: body('plain@three.example') })).status).toBe(
      200,
    );
    await other.close(0);
    await migrateToSqlite(scene, { direct, dataDir });
    if (when === 'while it is cut off') scene.sink.openGate();
    relay.heal();

    await vi.waitFor(async () => {
      const refused = await scene.api('POST', '/emails', { key: mail.team.key, body: body('lost@four.example') });
      expect([refused.status, refused.body.message]).toEqual([503, expect.stringMatching(/moved to another one/)]);
      expect(refused.headers.get('retry-after')).toBe('10');
    });
    expect(await scene.app.gone).toMatch(/^this database was moved to the file rasket\.db \(.*\); this node stops$/);
    expect(scene.log.some((line) => line.includes('was moved to the file rasket.db'))).toBe(true);
    const ready = await scene.api('GET', '/ready');
    expect([ready.status, ready.body.failed]).toEqual([503, ['database']]);
    expect(ready.body.findings).toMatchObject([{ code: 'database_moved', severity: 'error' }]);
    scene.sink.openGate();
    scene.app.queue?.wake();
    await scene.app.close(0);

    const now = await start({ driver: 'better-sqlite3', url: '', path: 'rasket.db' }, ['http', 'delivery']);
    for (let hours = 0; hours < 80; hours += 4) {
      scene.clock.advance(4 * HOUR);
      await now.queue?.idle();
    }
    expect(arrivals(scene)).toEqual(['plain@three.example', 'slow-rcpt@one.example', 'slow@two.example']);
    const api = createApi(now.http?.url ?? '');
    const listed = await api('GET', '/emails', { key: mail.team.key });
    const ends = listed.body.data.map((email: { to: string[]; last_event: string }) => [email.to[0], email.last_event]);
    expect(Object.fromEntries(ends)).toEqual({
      'plain@three.example': 'delivered',
      'slow@two.example': 'failed',
      'slow-rcpt@one.example': 'delivered',
    });
  },
);
