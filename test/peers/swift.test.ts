// An S3 API that others wrote: our client, and an installation whose contents stand there.
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openObjectStore, type ObjectBody, type ObjectStoreOptions } from '../../src/platform/object-store/index.ts';
import { EMPTY_BODY_HASH, signRequest } from '../../src/protocol/aws-signature.ts';
import { mailIn } from '../flow/mail.ts';
import { startScene } from '../rig/scene.ts';
import { describePeers } from './peers.ts';
import { startSwift, type Swift } from './swift.ts';

const buildBody = (content: Buffer): ObjectBody => {
  const hash = (name: string): string => createHash(name).update(content).digest('hex');
  return { size: content.length, sha256: hash('sha256'), md5: hash('md5'), open: () => content };
};

const KEYS = ['plain', 'a/b/c', 'two//slashes', 'with space', "a+b=c~(d)!*'", 'ünïcode/ß', 'a&b<c>"d"', '%41', 'q?x#y'];

describePeers('a third-party object store', ['swift'], () => {
  let swift: Swift;
  beforeAll(async () => {
    swift = await startSwift();
    await makeBucket(swift, 'mail');
  });
  afterAll(() => swift.close());

  const open = (more: Partial<ObjectStoreOptions> = {}) => {
    const { endpoint, region, accessKey, secretKey } = swift;
    return openObjectStore({
      endpoint,
      region,
      accessKey,
      secretKey,
      bucket: 'mail',
      pathStyle: true,
      timeoutMs: 30_000,
      giveUpMs: 60_000,
      requestsMax: 8,
      now: Date.now,
      random: Math.random,
      ...more,
    });
  };

  it('stores, copies, lists page by page and removes content with any key', async () => {
    const store = open();
    const contents = new Map(KEYS.map((key) => [key, randomBytes(1000)]));
    contents.set('nothing', Buffer.alloc(0)).set('large', randomBytes(8_000_000));
    for (const [key, content] of contents) {
      await store.put(key, buildBody(content));
      expect(await store.head(key)).toEqual({ size: content.length, sha256: buildBody(content).sha256 });
      expect(await store.copy(key, `copy of ${key}`)).toBe(true);
      for (const name of [key, `copy of ${key}`]) expect((await read(store, name))?.equals(content)).toBe(true);
    }
    const listed: string[] = [];
    for await (const { key, size } of store.list('', { pageMax: 3 })) {
      expect(size).toBe(contents.get(key.replace('copy of ', ''))?.length);
      listed.push(key);
    }
    const bytes = (key: string): Buffer => Buffer.from(key);
    const all = [...contents.keys()].flatMap((key) => [key, `copy of ${key}`]);
    expect(listed).toEqual(all.toSorted((a, b) => Buffer.compare(bytes(a), bytes(b))));
    for (const key of listed) await store.remove(key);
    for await (const { key } of store.list('')) throw new Error(`${key} is still there`);
    await store.remove('plain');
    expect([await store.head('plain'), await read(store, 'plain'), await store.copy('plain', 'x')]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    await store.close();
  });

  it.each<[string, Partial<ObjectStoreOptions>, RegExp]>([
    ['a wrong secret', { secretKey: 'wrong' }, /403 SignatureDoesNotMatch.*look at the secret key/],
    ['a region of others', { region: 'eu-north-1' }, /400 AuthorizationHeaderMalformed.*look at .*blobs.region/],
    ['a bucket that is not there', { bucket: 'other' }, /404 NoSuchBucket/],
    ['a clock that is an hour late', { now: () => Date.now() - 3_600_000 }, /RequestTimeTooSkewed.* behind/],
  ])('refuses %s with a message that says what to check', async (_, more, says) => {
    const store = open(more);
    await expect(read(store, 'plain')).rejects.toThrow(says);
    await store.close();
  });

  it('refuses content that arrives modified', async () => {
    const store = open({ giveUpMs: 1 });
    const body = { ...buildBody(Buffer.from('x')), md5: '0'.repeat(32) };
    await expect(store.put('other', body)).rejects.toThrow(/400 BadDigest/);
    expect(await store.head('other')).toBeUndefined();
    await store.close();
  });

  it('stores the content of an installation, and returns it for delivery', async () => {
    await makeBucket(swift, 'installation');
    const { endpoint, region, accessKey, secretKey } = swift;
    const blobs = {
      store: 's3' as const,
      endpoint,
      region,
      bucket: 'installation',
      prefix: 'production',
      access_key: accessKey,
      secret_key: secretKey,
      cache_bytes: 0,
    };
    await using scene = await startScene({ config: { blobs, storage: { inline_bytes: 0, row_bytes: 0 } } });
    const mail = await mailIn(scene);
    const attachment = randomBytes(100_000);
    const attachments = [{ filename: 'a.bin', content: attachment.toString('base64') }];
    const id = await mail.send('x@one.example', { text: 'It stands elsewhere.', attachments });
    await scene.sink.waitFor(1);
    const arrived = scene.sink.messages[0]?.data.toString('latin1') ?? '';
    expect(arrived).toContain('It stands elsewhere.');
    expect(arrived.replaceAll('\r\n', '')).toContain(attachment.toString('base64'));
    await scene.settled();
    const store = open({ bucket: 'installation' });
    const keys: string[] = [];
    for await (const { key } of store.list('production/blobs/')) keys.push(key);
    expect(keys.filter((key) => key.includes(id)).length).toBeGreaterThan(0);
    await store.close();
  });
});

async function read(store: ReturnType<typeof openObjectStore>, key: string): Promise<Buffer | undefined> {
  let pieces: Buffer[] = [];
  const isThere = await store.get(key, async (content) => {
    pieces = [];
    for await (const piece of content) pieces.push(piece);
  });
  return isThere ? Buffer.concat(pieces) : undefined;
}

/** rasket makes none. */
async function makeBucket(swift: Swift, name: string): Promise<void> {
  const { host } = new URL(swift.endpoint);
  const toSign = { method: 'PUT', path: `/${name}`, query: {}, headers: { host }, bodyHash: EMPTY_BODY_HASH };
  const { host: _, ...headers } = signRequest(toSign, swift, Date.now());
  const { status } = await fetch(`${swift.endpoint}/${name}`, { method: 'PUT', headers });
  expect(status).toBe(200);
}
