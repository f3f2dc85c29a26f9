import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { closeStore, openStore } from '../../src/open-store.ts';
import { openBlobs } from '../../src/platform/blobs/index.ts';
import { InstallationMismatch } from '../../src/tenancy/instance/index.ts';
import { mailIn } from '../flow/mail.ts';
import { blobsIn, startObjectServer, type ObjectServer } from '../rig/object-server.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { Desk, type Ended } from './desk.ts';

let server: ObjectServer;
let scene: Scene;
let desk: Desk;
beforeEach(async () => {
  desk = new Desk();
  server = await startObjectServer();
  scene = await startScene();
});
afterEach(async () => {
  await scene.close();
  await server.close();
  await desk.clear();
  expect(server.faults).toEqual([]);
});

const { random } = Math;

function buildEnv(more: Record<string, string> = {}): Record<string, string> {
  const { driver, url } = scene.app.world.config.database;
  return {
    RASKET_DATABASE_DRIVER: driver,
    RASKET_DATABASE_URL: url,
    RASKET_BLOBS_ENDPOINT: server.endpoint,
    RASKET_BLOBS_BUCKET: server.bucket,
    RASKET_BLOBS_REGION: server.region,
    RASKET_BLOBS_ACCESS_KEY: server.accessKey,
    RASKET_BLOBS_SECRET_KEY: server.secretKey,
    RASKET_BLOBS_GIVE_UP_SECONDS: '1',
    ...more,
  };
}

const toWords = (to: string): string[] => ['blobs', 'move', '--to', to, '--json', '--data', scene.dataDir];

const move = (to: string, more: Record<string, string> = {}): Promise<Ended> =>
  desk.rasket(toWords(to), { env: buildEnv(more) });

type Place = 'files' | 's3';

/** The places of blobs that a server starts with. */
async function startable(): Promise<Place[]> {
  const { config, dataDir, log } = scene.app.world;
  const found: Place[] = [];
  for (const place of ['files', 's3'] as const) {
    const blobs = { ...config.blobs, ...blobsIn(server, { store: place }) };
    const store = await openStore({ config: { ...config, blobs }, dataDir, log }).catch((error: unknown) => {
      if (!(error instanceof InstallationMismatch)) throw error;
    });
    if (!store) continue;
    found.push(place);
    await closeStore(store);
  }
  return found;
}

/** Killed while the store holds back its answer to just that request. */
async function killAt(to: Place, at: (asked: { method: string; key: string }) => boolean): Promise<void> {
  const reached = Promise.withResolvers<void>();
  server.wrong = ({ method, key }) => {
    if (!at({ method, key })) return undefined;
    reached.resolve();
    return 'stall';
  };
  const running = desk.start(desk.at('path/rasket'), toWords(to), {
    env: buildEnv({ RASKET_BLOBS_GIVE_UP_SECONDS: '60', RASKET_BLOBS_TIMEOUT_SECONDS: '60' }),
  });
  await Promise.race([reached.promise, running.ended]);
  running.kill('SIGKILL');
  expect((await running.ended).code).toBe(null);
  server.wrong = undefined;
}

it('a move of blobs that is killed at any point leaves one usable place, and succeeds when it is repeated', async () => {
  const { ids, blobs } = scene.app.world;
  const contents = Array.from({ length: 4 }, () => ({ key: `${ids.uuid()}/body`, content: randomBytes(500) }));
  await blobs.putAll(contents);
  await scene.app.close(0);
  expect(await startable()).toEqual(['files']);

  await killAt('s3', ({ method, key }) => method === 'PUT' && key.startsWith('blobs/'));
  expect(await startable()).toEqual(['files']);
  await killAt('s3', ({ method, key }) => method === 'PUT' && key === 'installation.id');
  expect(await startable()).toEqual(['files']);
  // This kill comes after the mark of the target was written, while it is read once more.
  await killAt('s3', ({ method, key }) => method === 'GET' && key === 'installation.id' && isMarked());
  expect([isMarked(), await startable()]).toEqual([true, ['files']]);
  expect(await move('s3')).toMatchObject({ code: 0, stderr: '' });
  expect(await startable()).toEqual(['s3']);
  expect(JSON.parse((await move('s3')).stdout)).toMatchObject({ copied: 0, found: 0 });

  // This kill comes after the commit that decides, and before the mark of the source is gone.
  await killAt('files', ({ method, key }) => method === 'DELETE' && key === 'installation.id');
  expect([isMarked(), await startable()]).toEqual([true, ['files']]);
  expect(await move('files')).toMatchObject({ code: 0, stderr: '' });
  expect([isMarked(), await startable()]).toEqual([false, ['files']]);
  await scene.restart();
  for (const { key, content } of contents) expect((await scene.app.world.blobs.get(key)).equals(content)).toBe(true);
});

const isMarked = (): boolean => server.objects.has('installation.id');

it('a node that is configured with the former place of the blobs does not start, even while that place does not answer', async () => {
  await scene.app.close(0);
  expect(await move('s3')).toMatchObject({ code: 0 });
  expect(await move('files')).toMatchObject({ code: 0 });
  server.wrong = () => 'hang up';
  expect(await startable()).toEqual(['files']);
  server.wrong = undefined;
  await scene.restart();
});

it('content moves to the object store and back byte for byte, and a failed move can be repeated', async () => {
  const { ids, blobs } = scene.app.world;
  const contents = Array.from({ length: 20 }, () => ({ key: `${ids.uuid()}/body`, content: randomBytes(50_000) }));
  await blobs.putAll(contents);
  const busy = await move('s3');
  expect([busy.code, server.objects.size]).toEqual([expect.not.stringMatching(/^0$/), 0]);
  await scene.app.close(0);

  const [, , , , , fifth] = contents;
  server.wrong = ({ key }) => (fifth && key.includes(fifth.key) ? 'forbid' : undefined);
  expect(await move('s3')).toMatchObject({
    stderr: expect.stringMatching(/^rasket: s3:.* refuses (HEAD|PUT): 403.*\n$/),
  });
  server.wrong = undefined;
  expect(server.objects.has('installation.id')).toBe(false);
  const before = server.objects.size;
  expect(before).toBeGreaterThan(0);
  const moved = await move('s3');
  expect(moved).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(moved.stdout)).toMatchObject({ copied: 20 - before, found: before, bytes: 1_000_000 });

  // The folder of before is refused from here on.
  await expect(scene.restart()).rejects.toThrow(/were moved to "s3"; set blobs.store to that/);
  const settings = { ...scene.app.world.config.blobs, ...blobsIn(server, {}) };
  const inStore = openBlobs(settings, { dataDir: desk.at('other-node'), now: Date.now, random });
  for (const { key, content } of contents) expect((await inStore.get(key)).equals(content)).toBe(true);
  await inStore.close();

  expect(await move('files')).toMatchObject({ code: 0 });
  await scene.restart();
  for (const { key, content } of contents) expect((await scene.app.world.blobs.get(key)).equals(content)).toBe(true);
});

it('a move includes content that the listing of the store lacks, and counts missing content', async () => {
  const mail = await mailIn(scene);
  const attachments = [{ filename: 'report.txt', content: randomBytes(300_000).toString('base64') }];
  const body = {
    from: `a@${mail.domain.name}`,
    to: 'x@one.example',
    subject: 'Report',
    text: 'See the file.',
    attachments,
  };
  for (let n = 0; n < 2; n++)
    expect(await scene.api('POST', '/emails', { key: mail.team.key, body })).toMatchObject({ status: 200 });
  await scene.app.close(0);
  expect(await move('s3')).toMatchObject({ code: 0, stderr: '' });
  const stored = [...server.objects.keys()].filter((key) => key.startsWith('blobs/'));
  const [gone = ''] = stored;
  rmSync(path.join(scene.dataDir, 'blobs'), { recursive: true });
  rmSync(path.join(scene.dataDir, 'blob-cache'), { recursive: true, force: true });
  server.objects.delete(gone);

  server.wrong = ({ key }) => (key === '' ? 'late list' : undefined);
  const back = await move('files');
  expect(back).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(back.stdout)).toMatchObject({ copied: stored.length - 1, missing: 1 });
  await scene.restart();
});

it('a store that asks for a slower pace is retried, with nothing else keeping the command alive', async () => {
  const { ids, blobs } = scene.app.world;
  const key = `${ids.uuid()}/body`;
  await blobs.put(key, randomBytes(1000));
  await scene.app.close(0);
  let refusals = 0;
  server.wrong = ({ method, key: at }) =>
    method === 'PUT' && at.includes(key) && refusals++ === 0 ? 'slow down' : undefined;
  const moved = await move('s3', { RASKET_BLOBS_GIVE_UP_SECONDS: '20' });
  expect([moved.code, moved.stderr, refusals]).toEqual([0, '', 2]);
  expect(JSON.parse(moved.stdout)).toMatchObject({ copied: 1 });
  expect(await move('files')).toMatchObject({ code: 0 });
  await scene.restart();
});

it('a bucket of another installation is left unchanged, and missing settings are named', async () => {
  const other = openBlobs(
    { ...scene.app.world.config.blobs, ...blobsIn(server, {}) },
    { dataDir: desk.at('other'), now: Date.now, random },
  );
  await other.writeMark('another');
  await other.close();
  await scene.app.close(0);
  expect(await move('s3')).toMatchObject({ stderr: expect.stringContaining('belongs to another installation') });
  expect((await move('s3', { RASKET_BLOBS_BUCKET: '' })).stderr).toContain('blobs.bucket must be set');
  expect((await move('tape')).stderr).toContain('--to must be s3 or files; got "tape"');
  await scene.restart();
});
