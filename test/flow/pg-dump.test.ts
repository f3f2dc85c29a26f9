// an installation on PostgreSQL, while it accepts mail --> pg_dump, then keys and blobs, as docs/postgres.md says --> started elsewhere
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { migrate, openDb } from '../../src/platform/db/index.ts';
import { readContent } from '../../src/mail/contents/index.ts';
import { createSendSwitch, setSending } from '../../src/tenancy/instance/index.ts';
import { driver } from '../rig/database.ts';
import { createDatabase } from '../rig/database-server.ts';
import { startPostgres, type Postgres } from '../rig/pg.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { HOUR, mailIn } from './mail.ts';

vi.setConfig({ testTimeout: 180_000 });

const run = promisify(execFile);

/** The arguments of PostgreSQL's own programs for a database: by its socket where the server has one here, as in the docs. */
async function reached(url: string): Promise<{ words: string[]; env: NodeJS.ProcessEnv }> {
  const { username, password, hostname, port, pathname } = new URL(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ folders: string }>(
    "select current_setting('unix_socket_directories') as folders",
  );
  await client.end();
  const folder = rows[0]?.folders.split(',')[0]?.trim() ?? '';
  const host = existsSync(path.join(folder, `.s.PGSQL.${port}`)) ? folder : hostname;
  const words = [
    '--host',
    host,
    '--port',
    port,
    '--username',
    username,
    '--dbname',
    pathname.slice(1),
    '--no-password',
  ];
  return { words, env: { ...process.env, PGPASSWORD: password } };
}

async function dump(url: string, file: string): Promise<void> {
  const { words, env } = await reached(url);
  await run('pg_dump', ['--format=custom', '--file', file, ...words], { env });
}

/** Keys and content, as they stand at this moment. */
function copyFolder(from: string, to: string, names: readonly string[]): void {
  for (const name of names) cpSync(path.join(from, name), path.join(to, name), { recursive: true });
}

function folders(): { dataDir: string; file: string } {
  const dataDir = scratchFolder('rasket-restored-');
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(path.join(dataDir, 'dumps'));
  return { dataDir, file: path.join(dataDir, 'dumps/rasket.dump') };
}

const large = (letter: string): { html: string } => ({ html: `<p>${letter.repeat(400_000)}</p>` });

const hasSystem = existsSync('/usr/lib/postgresql') && spawnSync('pg_dump', ['--version']).status === 0;

// runs only on PostgreSQL, where the system has one with its own programs (those of the tests' server come without pg_dump)
describe.runIf(driver === 'pg' && hasSystem)('pg_dump', () => {
  let server: Postgres;
  beforeAll(async () => void (server = await startPostgres({ isOfSystem: true })));
  afterAll(() => server.stop());

  async function sceneOnServer(): Promise<Scene> {
    const { url } = await createDatabase(server.url);
    const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
    await migrate(db);
    await db.close();
    return startScene({ roles: ['http'], through: () => Promise.resolve(url) });
  }

  async function startRestored(scene: Scene, { dataDir, file }: { dataDir: string; file: string }): Promise<App> {
    const { config, clock, log } = scene.app.world;
    const { url } = await createDatabase(server.url);
    const { words, env } = await reached(url);
    await run('pg_restore', ['--no-owner', '--exit-on-error', ...words, file], { env });
    const settings = { ...config, database: { ...config.database, url } };
    const app = await startApp({ config: settings, dataDir, clock, log, version: '0.0.0-test', roles: ['delivery'] });
    onTestFinished(() => app.close(0));
    return app;
  }

  it('before keys and blobs makes a complete copy while mail is accepted', async () => {
    await using scene = await sceneOnServer();
    const mail = await mailIn(scene);
    const before = [await mail.send('before@one.example', large('b')), await mail.send('later@one.example')];
    const to = folders();
    let isOver = false;
    let sent = 0;
    const sending = (async () => {
      while (!isOver) await mail.send(`during${sent++}@one.example`, large('d'));
    })();
    // One has been accepted, and the next is on its way.
    await expect.poll(() => sent).toBeGreaterThan(1);
    await dump(scene.app.world.config.database.url, to.file);
    copyFolder(scene.dataDir, to.dataDir, ['instance.key', 'installation.id', 'blobs']);
    isOver = true;
    await sending;
    await scene.app.close(0);

    const app = await startRestored(scene, to);
    // Another database under a folder that has not run on it: it may be a second one.
    expect(await createSendSwitch(app.world)()).toMatchObject({ isOn: false, isRestored: true });
    await setSending(app.world, { isOn: true });
    scene.clock.advance(HOUR);
    await app.queue?.idle();
    const emails = await app.world.db.all<{ id: string; last_event: string }>('select id, last_event from emails');
    expect(emails.map(({ id }) => id)).toEqual(expect.arrayContaining(before));
    expect(new Set(emails.map((one) => one.last_event))).toEqual(new Set(['delivered']));
    const signed = scene.sink.messages.filter(({ data }) => /^DKIM-Signature:/m.test(data.toString('latin1')));
    expect(signed, 'the key opens what the dump holds').toHaveLength(emails.length);
  });

  it('after the blobs would reference content that the copy lacks, hence the order', async () => {
    await using scene = await sceneOnServer();
    const mail = await mailIn(scene);
    await mail.send('before@one.example', large('b'));
    const to = folders();
    copyFolder(scene.dataDir, to.dataDir, ['blobs', 'instance.key', 'installation.id']);
    const id = await mail.send('between@one.example', large('x'));
    await dump(scene.app.world.config.database.url, to.file);
    await scene.app.close(0);
    const app = await startRestored(scene, to);
    await expect(readContent(app.world, `${id}/html`)).rejects.toThrow(/there is no blob/);
  });
});
