// two nodes on PostgreSQL, one of them cut off --> migrate-to-sqlite --> the one that was cut off comes back to a database that is out of use
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startApp, type App, type Role } from '../../src/app.ts';
import { connectAsFound } from '../../src/open-store.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { openDb, type Db } from '../../src/platform/db/index.ts';
import { webhookHeaders } from '../../src/protocol/webhook-signature.ts';
import { noteBlobsMove, noteLeaving } from '../../src/tenancy/instance/index.ts';
import { moveDatabase, leaveSource, type Leaving } from '../../src/features/installation/moves/move-database.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { nodeFolder } from '../rig/node-folder.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { startPgRelay } from '../rig/pg-relay.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { HOUR, mailIn } from './mail.ts';

vi.setConfig({ testTimeout: 120_000 });

/** The scene's own node reaches the database through the relay; another one, with a folder of its own, reaches it directly. */
async function twoNodes(config: SceneOptions['config'] = {}) {
  let direct = '';
  let relay: Awaited<ReturnType<typeof startPgRelay>> | undefined;
  const scene = await startScene({
    config,
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
  const dataDir = nodeFolder(scene);
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const start = async (database: Partial<Config['database']>, roles: readonly Role[]): Promise<App> => {
    const { config, clock, log } = scene.app.world;
    const settings = { ...config, database: { ...config.database, ...database } };
    const app = await startApp({ config: settings, dataDir, clock, log, version: '0.0.0-test', roles });
    onTestFinished(() => app.close(0));
    return app;
  };
  return { scene, relay: way, direct, dataDir, start };
}

/** Moves the database as `rasket migrate-to-sqlite` does. */
async function migrateToSqlite(scene: Scene, { direct, dataDir }: { direct: string; dataDir: string }): Promise<void> {
  const { config, blobs, secrets, clock, log } = scene.app.world;
  const to = { driver: 'better-sqlite3' as const, url: '', file: path.join(dataDir, 'rasket.db'), poolMax: 1 };
  const moved = { ...config, database: { ...config.database, driver: to.driver, url: '', path: to.file } };
  await moveDatabase({
    config,
    dataDir,
    blobs,
    secrets,
    clock,
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
  'a node that was cut off during a move accepts and delivers nothing and stops, and its mail in progress continues %s',
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
    // One email is after its dot, the other before it.
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
    expect((await scene.app.gone).message).toMatch(
      /^this database was moved to the file rasket\.db \(.*\); this node stops$/,
    );
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

/** Leaves the source as a move does while it compares the rows. */
async function beginLeaving({ clock, config }: Scene['app']['world'], direct: string): Promise<Leaving> {
  const end = { options: { driver: 'pg' as const, url: direct, file: '', poolMax: 1 }, says: 'PostgreSQL' };
  const order = { clock, config: { ...config, database: { ...config.database, listen_url: '' } } };
  return leaveSource(order, {
    from: end,
    to: { ...end, says: 'the file new.db' },
    installation: 'x',
    isMoved: false,
    isUnchanged: async () => true,
  });
}

async function onDatabase(url: string, work: (db: Db) => Promise<void>): Promise<void> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  await work(db).finally(() => db.close());
}

// runs only with PostgreSQL: SQLite bears one node
describe.skipIf(driver !== 'pg')('a node that meets a move in progress', () => {
  it.each(['fails', 'is killed'])('accepts nothing until that %s, and then continues by itself', async (how) => {
    const { scene, relay, direct } = await twoNodes();
    const mail = await mailIn(scene);
    const send = (to: string) =>
      scene.api('POST', '/emails', {
        key: mail.team.key,
        body: { from: `a@${mail.domain.name}`, to, subject: 'Hello', text: 'It works.' },
      });
    relay.cut();
    const leaving = await beginLeaving(scene.app.world, direct);
    relay.heal();
    await vi.waitFor(async () => {
      const refused = await send('lost@one.example');
      expect([refused.status, refused.body.message]).toEqual([503, expect.stringMatching(/moved to another one/)]);
    });
    const ready = await scene.api('GET', '/ready');
    expect([ready.status, ready.body.failed]).toEqual([503, ['database']]);
    await vi.waitFor(() => expect(scene.log.join('')).toMatch(/is being moved to the file new\.db .*this node waits/));

    const faulty = leaving.orStay(() => Promise.reject(new Error('a row differs')));
    await expect(faulty).rejects.toThrow('a row differs');
    if (how === 'is killed')
      await onDatabase(direct, (db) =>
        noteLeaving(db, { state: 'leaving', installation: 'x', other: 'the file b.db', at: 1 }, async () => undefined),
      );
    await vi.waitFor(async () => expect((await send('plain@two.example')).status).toBe(200), { timeout: 60_000 });
    await vi.waitFor(async () => expect((await scene.api('GET', '/ready')).status).toBe(200));
    // A look that met the fence is made again with the next poll, by the clock of the scene.
    await vi.waitFor(() => {
      scene.clock.advance(1000);
      expect(arrivals(scene)).toEqual(['plain@two.example']);
    });
    expect(await Promise.race([scene.app.gone, Promise.resolve('it runs')])).toBe('it runs');
  });

  it('waits at its start for the end of the move, and does not end it', async () => {
    const { scene, direct, start } = await twoNodes();
    const leaving = await beginLeaving(scene.app.world, direct);
    const starting = start({ url: direct }, ['http']);
    await vi.waitFor(() => expect(scene.log.join('')).toMatch(/the file new\.db .*this start waits for it/), {
      timeout: 60_000,
    });
    await expect(leaving.orStay(() => Promise.reject(new Error('a row differs')))).rejects.toThrow('a row differs');
    const app = await starting;
    expect((await createApi(app.http?.url ?? '')('GET', '/health')).status).toBe(200);

    const again = await beginLeaving(scene.app.world, direct);
    const late = start({ url: direct }, ['http']);
    late.catch(() => undefined);
    await again.orStay(() => again.giveUp());
    await expect(late).rejects.toThrow(/this database was moved to the file new\.db/);
  });
});

// runs only with PostgreSQL: SQLite bears one node
it.runIf(driver === 'pg')(
  'a node whose database was moved away notifies the command and the URL once before it ends',
  async () => {
    const folder = scratchFolder('rasket-pager-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const program = path.join(folder, 'page');
    const told = path.join(folder, 'told');
    writeFileSync(program, `#!/bin/sh\n{ cat; echo; } >> '${told}'\n`);
    chmodSync(program, 0o700);
    const posted: { headers: http.IncomingHttpHeaders; body: string }[] = [];
    const server = http.createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        posted.push({ headers: request.headers, body });
        // A request that fails is tried again.
        response.writeHead(posted.length === 1 ? 500 : 200, { connection: 'close' }).end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`;
    const { scene, relay, direct, dataDir } = await twoNodes({
      doctor: { notify_command: [program], notify_url: url, notify_secret: secret },
      network: { http_allow_private: ['127.0.0.0/8'] },
    });
    const mail = await mailIn(scene);
    relay.cut();
    await migrateToSqlite(scene, { direct, dataDir });
    relay.heal();
    await mail.send('lost@one.example').catch(() => undefined);
    expect((await scene.app.gone).message).toMatch(/was moved to the file rasket\.db/);
    const lines = readFileSync(told, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      type: 'findings.changed',
      data: {
        host: 'rasket.test',
        appeared: [
          { code: 'database_moved', severity: 'error', summary: expect.stringMatching(/moved to the file rasket\.db/) },
        ],
        mended: [],
      },
    });
    expect(posted).toHaveLength(2);
    expect(posted[1]?.body).toBe(posted[0]?.body);
    const [first] = posted;
    const [id, at] = [first?.headers['webhook-id'], first?.headers['webhook-timestamp']].map(String);
    expect(id).toBe(posted[1]?.headers['webhook-id']);
    const signed = webhookHeaders([secret], { id: id ?? '', timestampSeconds: Number(at), body: first?.body ?? '' });
    expect(first?.headers).toMatchObject(signed);
  },
);

// runs only with PostgreSQL: SQLite bears one node
it.runIf(driver === 'pg')(
  'a node must find the files of another one in the blob folder until all blobs were moved elsewhere',
  async () => {
    const { scene, direct, dataDir, start } = await twoNodes();
    await (await start({ url: direct }, ['http'])).close(0);
    const ownFolder = (): void => {
      rmSync(path.join(dataDir, 'blobs'));
      mkdirSync(path.join(dataDir, 'blobs'), { mode: 0o700 });
      copyFileSync(path.join(scene.dataDir, 'installation.id'), path.join(dataDir, 'blobs', 'installation.id'));
    };
    ownFolder();
    await expect(start({ url: direct }, ['http'])).rejects.toThrow(
      /\/blobs is not the folder in which the other nodes of this installation store blobs .*: touch .*\/blobs\/shared-[0-9a-f]{32}\./,
    );
    rmSync(path.join(dataDir, 'blobs'), { recursive: true });
    symlinkSync(path.join(scene.dataDir, 'blobs'), path.join(dataDir, 'blobs'));
    await (await start({ url: direct }, ['http'])).close(0);

    // The end of `rasket blobs move --to files` leaves this state, on a machine with another folder.
    await noteBlobsMove(scene.app.world, { state: 'moved', from: 's3', to: 'files' });
    ownFolder();
    await (await start({ url: direct }, ['http'])).close(0);
  },
);
