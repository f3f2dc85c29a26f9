import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  openObjectStore,
  type Asked,
  type ObjectBody,
  type ObjectStore,
} from '../../src/platform/object-store/index.ts';
import { startObjectServer, type ObjectServer, type Wrong } from '../rig/object-server.ts';

let server: ObjectServer;
let store: ObjectStore;
let asked: Asked[];

const open = (options: { timeoutMs?: number; giveUpMs?: number; requestsMax?: number; secretKey?: string } = {}) =>
  openObjectStore({
    endpoint: server.endpoint,
    bucket: server.bucket,
    region: server.region,
    pathStyle: true,
    accessKey: server.accessKey,
    secretKey: server.secretKey,
    timeoutMs: 5000,
    giveUpMs: 10_000,
    requestsMax: 8,
    now: Date.now,
    random: () => 0,
    observe: (one) => asked.push(one),
    ...options,
  });

beforeEach(async () => {
  server = await startObjectServer();
  asked = [];
  store = open();
});
afterEach(async () => {
  await store.close();
  await server.close();
  expect(server.faults).toEqual([]);
});

const buildBody = (content: Buffer): ObjectBody => ({
  size: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  md5: createHash('md5').update(content).digest('hex'),
  open: () => content,
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function read(key: string): Promise<Buffer | undefined> {
  let found = Buffer.alloc(0);
  const isThere = await store.get(key, async (content) => {
    found = Buffer.concat(await all(content));
  });
  return isThere ? found : undefined;
}

/** Makes the first `times` requests of this method go wrong. */
const first = (wrong: Wrong, method: string, times = 1): void => {
  let left = times;
  server.wrong = (request) => (request.method === method && left-- > 0 ? wrong : undefined);
};

it('the object store client stores any bytes under any key, and reads, copies, lists and removes them', async () => {
  const contents = [Buffer.alloc(0), Buffer.from([0, 255, 10]), randomBytes(1_000_000)];
  for (const [i, content] of contents.entries()) {
    const key = `a prefix/ä+(${i})`;
    await store.put(key, buildBody(content));
    expect(await read(key)).toEqual(content);
    expect(await store.head(key)).toEqual({ size: content.length, sha256: buildBody(content).sha256 });
  }
  expect(await read('nothing')).toBeUndefined();
  expect(await store.head('nothing')).toBeUndefined();
  await store.put('from', buildBody(Buffer.from('x')));
  expect(await store.copy('from', 'to')).toBe(true);
  expect(await store.copy('nothing', 'to')).toBe(false);
  await store.remove('from');
  await store.remove('from');
  expect([await read('from'), await read('to')]).toEqual([undefined, Buffer.from('x')]);
});

it('the object store client lists page by page, in the order of keys', async () => {
  for (let i = 0; i < 7; i++) await store.put(`list/${i}`, buildBody(Buffer.alloc(i)));
  await store.put('other', buildBody(Buffer.alloc(1)));
  const found = await all(store.list('list/', { pageMax: 3 }));
  expect(found.map(({ key, size }) => `${key} ${size}`)).toEqual([0, 1, 2, 3, 4, 5, 6].map((i) => `list/${i} ${i}`));
  expect(server.asked.filter((one) => one === 'GET ')).toHaveLength(3);
});

describe('a store that fails', () => {
  const content = randomBytes(100_000);

  it.each<[Wrong, string]>([
    ['lose', 'PUT'],
    ['keep less', 'PUT'],
    ['wrong etag', 'PUT'],
    ['slow down', 'PUT'],
    ['hang up', 'PUT'],
    ['hang up', 'HEAD'],
  ])('once, by “%s” of a %s, gets the request again', async (wrong, method) => {
    first(wrong, method, 2);
    await store.put('key', buildBody(content));
    expect(server.objects.get('key')?.content.equals(content)).toBe(true);
  });

  it.each<Wrong>(['cut', 'change', 'slow down', 'hang up'])(
    'once, by “%s” of a GET, gets the request again',
    async (wrong) => {
      await store.put('key', buildBody(content));
      first(wrong, 'GET', 2);
      expect((await read('key'))?.equals(content)).toBe(true);
    },
  );

  it('once, by an error under a 200, gets the request again, whoever wrote the object', async () => {
    await store.put('key', buildBody(content));
    for (const method of ['GET', 'HEAD']) {
      first('error in 200', method);
      expect((await read('key'))?.equals(content)).toBe(true);
      expect(await store.head('key')).toMatchObject({ size: content.length });
    }
  });

  it('once, by changed content of another program, gets the request again', async () => {
    server.objects.set('key', { content, sha256: undefined, modifiedAt: 0 });
    first('change', 'GET');
    expect((await read('key'))?.equals(content)).toBe(true);
  });

  it('once, by half a list, is not taken for a complete one', async () => {
    await store.put('key', buildBody(content));
    first('half a list', 'GET');
    await expect(all(store.list(''))).rejects.toThrow('answers a list with something else, or with a part of one');
  });

  it('during a copy gets the request again', async () => {
    await store.put('key', buildBody(content));
    for (const wrong of ['error in 200', 'lose', 'keep less'] as const) {
      first(wrong, 'PUT');
      await store.copy('key', wrong);
      expect(server.objects.get(wrong)?.content.equals(content)).toBe(true);
    }
  });

  it.each<[Wrong, RegExp]>([
    ['lose', /acknowledged key and does not have it/],
    ['keep less', /acknowledged key with 100000 bytes and holds another content of 99999/],
    ['wrong etag', /took another content for key/],
    ['slow down', /refuses PUT: 503 SlowDown: Please reduce/],
    ['hang up', /does not answer PUT/],
  ])('always, by “%s”, has stored nothing', async (wrong, message) => {
    first(wrong, 'PUT', Infinity);
    await expect(store.put('key', buildBody(content))).rejects.toMatchObject({
      code: 'OBJECT_STORE',
      message: expect.stringMatching(message),
    });
    expect(asked.filter(({ operation }) => operation === 'put')).toHaveLength(5);
  });

  it('by a refusal gets no second request, and its reason is reported', async () => {
    first('forbid', 'PUT', Infinity);
    await expect(store.put('key', buildBody(content))).rejects.toThrow(
      `s3://mail at ${server.endpoint} refuses PUT: 403 AccessDenied: Access Denied`,
    );
    expect(asked).toMatchObject([{ operation: 'put', result: 'error', sentBytes: 100_000 }]);
  });

  it('by silence is given up', async () => {
    await store.close();
    store = open({ timeoutMs: 100, giveUpMs: 400 });
    first('stall', 'PUT', Infinity);
    await expect(store.put('key', buildBody(content))).rejects.toThrow(
      /does not answer PUT: no sign of life for [\d.]+ s \(blobs\.timeout_seconds\)/,
    );
    first('stall', 'GET', Infinity);
    await expect(read('key')).rejects.toThrow(/does not answer GET/);
  });

  it('because of another clock is reported with the offset', async () => {
    server.skewMs = -16 * 60_000;
    await expect(store.put('key', buildBody(content))).rejects.toThrow(
      /RequestTimeTooSkewed.*the clock of this machine is 9[56]\d s ahead of that of the store/,
    );
    server.skewMs = 16 * 60_000;
    await expect(store.put('key', buildBody(content))).rejects.toThrow(/is 9[56]\d s behind that of the store/);
  });

  it('because of a wrong key is reported as such', async () => {
    await store.close();
    store = open({ secretKey: 'another' });
    await expect(store.put('key', buildBody(content))).rejects.toThrow(/403 SignatureDoesNotMatch.*secret key/);
    expect(server.faults.splice(0)).toHaveLength(1);
  });
});

it('the object store client has no more requests in progress than allowed', async () => {
  await store.close();
  store = open({ requestsMax: 3, timeoutMs: 1000, giveUpMs: 200 });
  server.wrong = () => 'stall';
  const heads = await Promise.allSettled(Array.from({ length: 9 }, (_, i) => store.head(`key${i}`)));
  expect(heads.filter(({ status }) => status === 'rejected')).toHaveLength(9);
  expect(server.atOnceMax).toBe(3);
});

it('the object store client does not wait for a slot forever', async () => {
  await store.close();
  store = open({ requestsMax: 1, timeoutMs: 400, giveUpMs: 100 });
  first('stall', 'HEAD', 1);
  const stalled = expect(store.head('a')).rejects.toThrow(/does not answer HEAD/);
  await expect(store.head('b')).rejects.toThrow(/blobs.requests_max/);
  await stalled;
});
