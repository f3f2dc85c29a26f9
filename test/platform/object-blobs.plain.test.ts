import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBlobs, type Blobs } from '../../src/platform/blobs/index.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { startObjectServer, type ObjectServer } from '../rig/object-server.ts';
import { scratchFolder } from '../rig/scratch.ts';

const OWNER = '018bcfe5-6800-7000-8000-0000000000ab';
const OTHER = '018bcfe5-6800-7000-8000-0000000000cd';

let server: ObjectServer;
let folders: string[];
let opened: Blobs[];

/** Opens the store as a node with its own folder does, or as another process on the data folder of one does. */
function node(settings: object = {}, shared?: string): { blobs: Blobs; folder: string } {
  const folder = shared ?? scratchFolder('rasket-object-blobs-');
  folders.push(folder);
  const { endpoint, bucket, region, accessKey: access_key, secretKey: secret_key } = server;
  const s3 = { store: 's3', endpoint, bucket, region, access_key, secret_key, prefix: 'a/prefix' } as const;
  const { config } = loadConfig({ env: {}, overrides: { blobs: { ...s3, give_up_seconds: 1, ...settings } } });
  const blobs = openBlobs(config.blobs, { dataDir: folder, now: Date.now, random: () => 0 });
  opened.push(blobs);
  return { blobs, folder };
}

beforeEach(async () => {
  server = await startObjectServer();
  [folders, opened] = [[], []];
});
afterEach(async () => {
  for (const blobs of opened) await blobs.close();
  await server.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  expect(server.faults).toEqual([]);
});

const gets = (): string[] => server.asked.filter((asked) => asked.startsWith('GET '));

async function all(items: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

describe('put and get of the object store', () => {
  it('read any bytes from this node and from another, whole and in part', async () => {
    const one = node().blobs;
    const two = node().blobs;
    for (const content of [Buffer.alloc(0), Buffer.from([0, 255, 10, 13]), Buffer.alloc(3_000_000, 'xy')]) {
      const key = `${OWNER}/${content.length}`;
      await one.put(key, content);
      for (const blobs of [one, two]) {
        expect((await blobs.get(key)).equals(content)).toBe(true);
        expect(await blobs.size(key)).toBe(content.length);
        expect((await blobs.digest(key))?.size).toBe(content.length);
      }
    }
    const part = await two.open(`${OWNER}/3000000`, { start: 1, end: 5 });
    expect([part?.size, Buffer.concat((await part?.content.toArray()) as Buffer[]).toString()]).toEqual([
      3_000_000,
      'yxyx',
    ]);
    expect([...server.objects.keys()]).toContain(`a/prefix/blobs/ab/${OWNER}/4`);
  });

  it('store content as it arrives, and nothing of content that fails', async () => {
    const { blobs, folder } = node();
    await blobs.putStream(`${OWNER}/file`, pieces('some ', 'text'));
    expect((await blobs.get(`${OWNER}/file`)).toString()).toBe('some text');
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('some');
      throw new Error('the client went away');
    }
    await expect(blobs.putStream(`${OWNER}/other`, broken())).rejects.toThrow('went away');
    expect([...server.objects.keys()]).toHaveLength(1);
    const left = readdirSync(path.join(folder, 'blob-cache'), { recursive: true }).map(String);
    expect(left.filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('support content whose key is known only later, which can be read before and after', async () => {
    const { blobs } = node();
    const spool = await blobs.spool(OTHER);
    await spool.write(Buffer.from('some '));
    await spool.write(Buffer.from('text'));
    expect((await spool.read({ start: 5, end: 9 })).toString()).toBe('text');
    expect(server.objects.size).toBe(0);
    await spool.keep(`${OWNER}/body`);
    expect((await spool.read({ start: 0, end: 4 })).toString()).toBe('some');
    await spool.close();
    expect((await node().blobs.get(`${OWNER}/body`)).toString()).toBe('some text');
  });

  it('report a blob that was never stored as missing, and distinguish it from a missing bucket', async () => {
    const { blobs } = node();
    await expect(blobs.get(`${OWNER}/body`)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(blobs.size(`${OWNER}/body`)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await blobs.open(`${OWNER}/body`)).toBeUndefined();
    expect(await blobs.digest(`${OWNER}/body`)).toBeUndefined();
    await expect(node({ bucket: 'another' }).blobs.get(`${OWNER}/body`)).rejects.toThrow(/404 NoSuchBucket/);
  });

  it.each(['body', `${OWNER}/..`, `${OWNER}/a/b`, `../${OWNER}`, `${OWNER}/x.part`])(
    'refuse the key %j',
    async (key) => {
      const { blobs } = node();
      await expect(blobs.put(key, Buffer.from('x'))).rejects.toThrow(/blob/);
      await expect(blobs.get(key)).rejects.toThrow(/blob/);
      await expect(blobs.open(key)).rejects.toThrow(/blob/);
      expect(server.asked).toEqual([]);
    },
  );

  it('fail as a whole in putAll when one blob is not stored, with the message of the store', async () => {
    const { blobs } = node();
    server.wrong = ({ method, key }) => (method === 'PUT' && key.endsWith('/3') ? 'forbid' : undefined);
    const many = Array.from({ length: 10 }, (_, i) => ({ key: `${OWNER}/${i}`, content: Buffer.from('x') }));
    await expect(blobs.putAll(many)).rejects.toThrow(/403 AccessDenied/);
  });
});

describe('links in the object store', () => {
  it('are copies in the store, without a download of the content', async () => {
    const { blobs } = node();
    await blobs.put(`${OWNER}/a`, Buffer.from('the content'));
    await blobs.linkAll([
      { from: `${OWNER}/a`, to: `${OTHER}/b` },
      { from: `${OWNER}/a`, to: `${OTHER}/c` },
    ]);
    await blobs.remove(OWNER);
    expect((await blobs.get(`${OTHER}/b`)).toString()).toBe('the content');
    expect((await node().blobs.get(`${OTHER}/c`)).toString()).toBe('the content');
    expect(gets()).toHaveLength(2);
    await expect(blobs.linkAll([{ from: `${OWNER}/a`, to: `${OTHER}/d` }])).rejects.toMatchObject({ code: 'ENOENT' });
    await blobs.removeKeys([`${OTHER}/b`, `${OTHER}/z`]);
    expect([...server.objects.keys()]).toEqual([`a/prefix/blobs/cd/${OTHER}/c`]);
  });
});

describe('the blob cache', () => {
  it('serves content that was stored here, and sends one request for concurrent readers', async () => {
    const one = node().blobs;
    const two = node().blobs;
    await one.put(`${OWNER}/a`, Buffer.from('x'));
    await Promise.all([
      one.get(`${OWNER}/a`),
      one.size(`${OWNER}/a`),
      one.open(`${OWNER}/a`).then((it) => it?.content.destroy()),
    ]);
    expect(gets()).toHaveLength(0);
    await Promise.all(Array.from({ length: 20 }, () => two.get(`${OWNER}/a`)));
    expect(gets()).toHaveLength(1);
  });

  it('keeps no content that was truncated or changed on its way', async () => {
    await node().blobs.put(`${OWNER}/a`, Buffer.alloc(1000, 'x'));
    const { blobs } = node();
    for (const wrong of ['cut', 'change'] as const) {
      server.wrong = ({ method }) => (method === 'GET' ? wrong : undefined);
      await expect(blobs.get(`${OWNER}/a`)).rejects.toMatchObject({ code: 'OBJECT_STORE' });
    }
    server.wrong = undefined;
    expect((await blobs.get(`${OWNER}/a`)).equals(Buffer.alloc(1000, 'x'))).toBe(true);
  });

  it('in a data folder shared by containers, whose processes all have the number 1, mixes nothing up', async () => {
    const one = node();
    const two = node({}, one.folder);
    const owners = Array.from({ length: 60 }, (_, at) => `018bcfe5-6800-7000-8000-0000000000${at + 10}`);
    const buildContent = (owner: string): Buffer => Buffer.alloc(200_000, owner.slice(-2));
    await Promise.all(
      owners.map((owner, at) => (at % 2 === 0 ? one : two).blobs.put(`${owner}/a`, buildContent(owner))),
    );
    for (const owner of owners)
      expect((await one.blobs.get(`${owner}/a`)).equals(buildContent(owner)), owner).toBe(true);
    const spools = await Promise.all([one, two].map(({ blobs }) => blobs.spool(OWNER)));
    for (const spool of spools) await spool.close();
  });

  it('that cannot be written does not prevent reading, and does not repeat requests forever', async () => {
    await node().blobs.put(`${OWNER}/a`, Buffer.from('x'));
    const { blobs, folder } = node();
    const [made = ''] = await blobs.check().then(() => readdirSync(path.join(folder, 'blob-cache')));
    mkdirSync(path.join(folder, 'blob-cache', made, 'ab'));
    symlinkSync(path.join(folder, 'nowhere'), path.join(folder, 'blob-cache', made, 'ab', OWNER));
    expect((await blobs.get(`${OWNER}/a`)).toString()).toBe('x');
    expect(gets().length).toBeLessThanOrEqual(2);
    expect(await blobs.open(`${OTHER}/a`)).toBeUndefined();
  });

  it('that somebody removed is filled from the store again', async () => {
    const { blobs, folder } = node();
    await blobs.put(`${OWNER}/a`, Buffer.from('x'));
    rmSync(path.join(folder, 'blob-cache'), { recursive: true });
    expect((await blobs.get(`${OWNER}/a`)).toString()).toBe('x');
    expect(existsSync(path.join(folder, 'blobs'))).toBe(false);
  });
});

describe('maintenance of the object store', () => {
  it('lists owners whose newest object is old enough', async () => {
    const { blobs } = node();
    for (const key of [`${OWNER}/a`, `${OWNER}/b`, `${OTHER}/a`]) await blobs.put(key, Buffer.from('x'));
    expect(await all(blobs.owners(Date.now() - 60_000))).toEqual([]);
    for (const [key, object] of server.objects) object.modifiedAt = key.endsWith(`${OWNER}/b`) ? 5000 : 1000;
    expect(await all(blobs.owners(5000))).toEqual([OTHER]);
    expect(await all(blobs.owners(5001))).toEqual([OWNER, OTHER]);
    expect(await all(blobs.keys())).toEqual([`${OWNER}/a`, `${OWNER}/b`, `${OTHER}/a`]);
  });

  it('keeps the first mark, which does not make a store count as used', async () => {
    const { blobs } = node();
    expect([await blobs.readMark(), await blobs.isEmpty()]).toEqual([undefined, true]);
    expect(await blobs.writeMark('one')).toBe('one');
    expect(await node().blobs.writeMark('two')).toBe('one');
    expect(await blobs.isEmpty()).toBe(true);
    await blobs.put(`${OWNER}/a`, Buffer.from('x'));
    expect(await blobs.isEmpty()).toBe(false);
    await blobs.removeMark();
    expect(await blobs.readMark()).toBeUndefined();
  });

  it('writes in check(), and reports why it could not', async () => {
    const { blobs } = node();
    await blobs.check();
    server.wrong = () => 'forbid';
    await expect(blobs.check()).rejects.toThrow(/403 AccessDenied/);
  });
});

it('the secret key of the object store may be in a file', async () => {
  const folder = scratchFolder('rasket-secret-');
  folders.push(folder);
  const file = path.join(folder, 'key');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(file, `${server.secretKey}\n`);
  const { blobs } = node({ secret_key: '', secret_key_file: file });
  await blobs.put(`${OWNER}/a`, Buffer.from('x'));
  expect(server.objects.size).toBe(1);
});
