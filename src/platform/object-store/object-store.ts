import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { encodedPath } from '../../protocol/aws-signature.ts';
import {
  findElement,
  ObjectStoreFault,
  openRequests,
  readText,
  type Answer,
  type ObjectStoreOptions,
  type Requests,
} from './requests.ts';

export interface ObjectBody {
  size: number;
  /** In hexadecimal. */
  sha256: string;
  md5: string;
  /** Opens the content from its first byte, for each attempt. */
  open: () => Buffer | Readable;
}

export interface ObjectHead {
  size: number;
  /** Hash recorded when it was written; undefined for objects of other programs. */
  sha256: string | undefined;
}

export interface Stored {
  key: string;
  size: number;
  modifiedAt: number;
}

export interface ObjectStore {
  /** `s3://bucket at https://…`. */
  readonly name: string;
  /** Resolves when the store has confirmed the write and, on a second request, that it holds exactly this content. */
  put(key: string, body: ObjectBody): Promise<void>;
  /**
   * Passes the content to `take`, once for each attempt: `take` must discard what it wrote in the previous attempt.
   * Returns false if there is no object.
   */
  get(key: string, take: (content: AsyncIterable<Buffer>, head: ObjectHead) => Promise<void>): Promise<boolean>;
  head(key: string): Promise<ObjectHead | undefined>;
  /** Copies within the store; returns false if there is no `from`. */
  copy(from: string, to: string): Promise<boolean>;
  /** Not an error if there is no object. */
  remove(key: string): Promise<void>;
  /** Lists objects in the order of their keys, page by page. */
  list(prefix: string, options?: { pageMax?: number }): AsyncIterable<Stored>;
  close(): Promise<void>;
}

const HASH_HEADER = 'x-amz-meta-sha256';
const LIST_BYTES_MAX = 8 * 1024 * 1024;
const PAGE = 1000;

export function openObjectStore(options: ObjectStoreOptions): ObjectStore {
  const requests = openRequests(options);
  const { name, retry, ask, close } = requests;
  return {
    name,
    close,
    put: (key, body) => retry(() => putOnce(requests, key, body)),
    copy: (from, to) => retry(() => copyOnce(requests, from, to)),
    head: (key) => retry(() => headOnce(requests, key)),
    get: (key, take) =>
      retry(() =>
        ask({ operation: 'get', method: 'GET', key }, async (answer) => {
          if (answer.status === 404) return mustBeOfKey(requests, answer, 'GET').then(() => false);
          const head = readHead(requests, answer.headers);
          const md5 = head.sha256 === undefined ? plainEtag(answer.headers) : undefined;
          await take(
            checked(answer.body, { ...head, md5 }, (says) => wrong(requests, says)),
            head,
          );
          return true;
        }),
      ),
    remove: (key) =>
      retry(() =>
        ask({ operation: 'delete', method: 'DELETE', key }, async (answer) => {
          if (answer.status === 404) await mustBeOfKey(requests, answer, 'DELETE');
          else answer.body.resume();
        }),
      ),
    list: (prefix, { pageMax = PAGE } = {}) => listAll(requests, prefix, pageMax),
  };
}

const wrong = ({ name }: Requests, says: string): ObjectStoreFault =>
  new ObjectStoreFault(`${name} ${says}`, { isTransient: true });

const headOnce = (requests: Requests, key: string): Promise<ObjectHead | undefined> =>
  requests.ask({ operation: 'head', method: 'HEAD', key }, async ({ status, headers, body }) => {
    body.resume();
    return status === 404 ? undefined : readHead(requests, headers);
  });

/** Throws for a 404 about anything but the key, such as the bucket. */
async function mustBeOfKey({ name }: Requests, { body }: Answer, method: string): Promise<void> {
  const code = findElement(await readText(body, LIST_BYTES_MAX), 'Code');
  if (code === 'NoSuchKey') return;
  throw new ObjectStoreFault(`${name} refuses ${method}: 404 ${code ?? 'without a code'}`, { isTransient: false });
}

async function putOnce(requests: Requests, key: string, body: ObjectBody): Promise<void> {
  const headers = { 'content-md5': Buffer.from(body.md5, 'hex').toString('base64'), [HASH_HEADER]: body.sha256 };
  const etag = await requests.ask({ operation: 'put', method: 'PUT', key, headers, body }, async (answer) => {
    if (answer.status === 404) await mustBeOfKey(requests, answer, 'PUT');
    answer.body.resume();
    return plainEtag(answer.headers);
  });
  if (etag !== undefined && etag !== body.md5) throw wrong(requests, `took another content for ${key} than was sent`);
  const found = await headOnce(requests, key);
  if (!found) throw wrong(requests, `acknowledged ${key} and does not have it`);
  if (isSame(found, body)) return;
  throw wrong(requests, `acknowledged ${key} with ${body.size} bytes and holds another content of ${found.size}`);
}

async function copyOnce(requests: Requests, from: string, to: string): Promise<boolean> {
  const headers = { 'x-amz-copy-source': encodedPath(`/${requests.bucket}/${from}`) };
  const wanted = { operation: 'copy', method: 'PUT', key: to, headers, body: NOTHING } as const;
  const text = await requests.ask(wanted, async (answer) => {
    if (answer.status !== 404) return readText(answer.body, LIST_BYTES_MAX);
    await mustBeOfKey(requests, answer, 'PUT');
    return undefined;
  });
  if (text === undefined) return false;
  // A copy that fails midway has already sent its status 200.
  if (text.includes('<Error>')) throw wrong(requests, `could not copy ${from}: ${findElement(text, 'Code')}`);
  const source = await headOnce(requests, from);
  const found = await headOnce(requests, to);
  if (!source) return false;
  if (!found) throw wrong(requests, `acknowledged a copy to ${to} and does not have it`);
  if (!isSame(found, source)) throw wrong(requests, `made another content of ${from} at ${to}`);
  return true;
}

const isSame = (one: ObjectHead, other: ObjectHead): boolean => one.size === other.size && one.sha256 === other.sha256;

async function* listAll(requests: Requests, prefix: string, pageMax: number): AsyncGenerator<Stored> {
  const read = async (answer: Answer): Promise<string> => {
    if (answer.status === 404) await mustBeOfKey(requests, answer, 'GET');
    return readText(answer.body, LIST_BYTES_MAX);
  };
  let token: string | undefined;
  do {
    const more = token !== undefined && { 'continuation-token': token };
    const query = { 'list-type': '2', 'max-keys': String(pageMax), prefix, ...more };
    const text = await requests.retry(() => requests.ask({ operation: 'list', method: 'GET', query }, read));
    if (!text.includes('<ListBucketResult') || !/<\/ListBucketResult>\s*$/.test(text))
      throw wrong(requests, 'answers a list with something else, or with a part of one');
    yield* storedIn(text);
    const next = findElement(text, 'IsTruncated') === 'true' ? findElement(text, 'NextContinuationToken') : undefined;
    if (next !== undefined && next === token) throw wrong(requests, 'answers each page of a list with the same');
    token = next;
  } while (token !== undefined);
}

const NOTHING = { size: 0, sha256: createHash('sha256').digest('hex'), open: () => Buffer.alloc(0) };

/** Every object has an ETag or our hash: a response without both is a page of a proxy, or an error with status 200. */
function readHead(requests: Requests, headers: Answer['headers']): ObjectHead {
  if (headers[HASH_HEADER] === undefined && headers['etag'] === undefined)
    throw wrong(requests, 'answers with something else than an object');
  return { size: Number(headers['content-length'] ?? Number.NaN), sha256: headers[HASH_HEADER] };
}

/**
 * Returns the ETag if it is the MD5 of the content, which it is not if the store encrypts with a key of its key
 * service.
 */
function plainEtag(headers: Answer['headers']): string | undefined {
  if (/kms/i.test(headers['x-amz-server-side-encryption'] ?? '')) return undefined;
  return /^"?([0-9a-f]{32})"?$/i.exec(headers['etag'] ?? '')?.[1]?.toLowerCase();
}

/** Throws at its end if the content was cut short or differs. */
async function* checked(
  body: AsyncIterable<Buffer>,
  head: ObjectHead & { md5: string | undefined },
  wrong: (says: string) => ObjectStoreFault,
): AsyncGenerator<Buffer> {
  const hash = createHash(head.md5 === undefined ? 'sha256' : 'md5');
  const wanted = head.md5 ?? head.sha256;
  let size = 0;
  try {
    for await (const piece of body) {
      hash.update(piece);
      size += piece.length;
      yield piece;
    }
  } catch (error) {
    throw wrong(`ended a content after ${size} of ${head.size} bytes: ${(error as Error).message}`);
  }
  if (size !== head.size) throw wrong(`ended a content after ${size} of ${head.size} bytes`);
  if (wanted !== undefined && hash.digest('hex') !== wanted) throw wrong('answers another content than was stored');
}

function* storedIn(page: string): Generator<Stored> {
  for (const [, entry = ''] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
    const key = findElement(entry, 'Key');
    if (key === undefined) continue;
    yield {
      key,
      size: Number(findElement(entry, 'Size')),
      modifiedAt: Date.parse(findElement(entry, 'LastModified') ?? ''),
    };
  }
}
