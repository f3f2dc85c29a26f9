import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openBlobs } from '../../src/platform/blobs/index.ts';
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

function move(to: string, more: Record<string, string> = {}): Promise<Ended> {
  const { driver, url } = scene.app.world.config.database;
  const env = {
    ...{ RASKET_DATABASE_DRIVER: driver, RASKET_DATABASE_URL: url },
    ...{
      RASKET_BLOBS_ENDPOINT: server.endpoint,
      RASKET_BLOBS_BUCKET: server.bucket,
      RASKET_BLOBS_REGION: server.region,
    },
    ...{ RASKET_BLOBS_ACCESS_KEY: server.accessKey, RASKET_BLOBS_SECRET_KEY: server.secretKey },
    ...{ RASKET_BLOBS_GIVE_UP_SECONDS: '1', ...more },
  };
  return desk.rasket(['blobs', 'move', '--to', to, '--json', '--data', scene.dataDir], { env });
}

it('content goes to the store and back, byte for byte; a move that failed is made again', async () => {
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
  await expect(scene.restart()).rejects.toThrow(/installation.id is missing in it.*set blobs.store/s);
  const settings = { ...scene.app.world.config.blobs, ...blobsIn(server, {}) };
  const inStore = openBlobs(settings, { dataDir: desk.at('other-node'), now: Date.now, random });
  for (const { key, content } of contents) expect((await inStore.get(key)).equals(content)).toBe(true);
  await inStore.close();

  expect(await move('files')).toMatchObject({ code: 0 });
  await scene.restart();
  for (const { key, content } of contents) expect((await scene.app.world.blobs.get(key)).equals(content)).toBe(true);
});

it('a store that asks to slow down is asked again, with nothing else to keep the command up', async () => {
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

it('a bucket of another installation is left as it is, and missing settings are named', async () => {
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
