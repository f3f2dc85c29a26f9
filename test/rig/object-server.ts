import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { computeSignature } from '../../src/protocol/aws-signature.ts';

/** Deviations of the store from a correct one, for the requests that `to` selects. */
export type Wrong =
  /** Answers 200 and keeps nothing. */
  | 'lose'
  /** Answers 200 and loses the last byte. */
  | 'keep less'
  | 'wrong etag'
  | 'forbid'
  /** Answers 503 SlowDown. */
  | 'slow down'
  /** The connection ends before an answer. */
  | 'hang up'
  /** Accepts the request and never answers. */
  | 'stall'
  /** Returns half of the body with the whole length. */
  | 'cut'
  /** Returns another body of the same length. */
  | 'change'
  /** Answers 200 with an error in it, as a copy that fails midway does, and as a proxy does for any request. */
  | 'error in 200'
  /** Returns a list that ends within an entry. */
  | 'half a list'
  /** Returns a list without the latest object. */
  | 'late list';

export interface ObjectServer extends AsyncDisposable {
  endpoint: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
  region: string;
  objects: Map<string, StoredObject>;
  /** Method and key of all accepted requests, in order. */
  asked: string[];
  /** Requests refused because S3 would refuse them, with the reason; must be empty at the end of a test. */
  faults: string[];
  /** How the next requests are handled; undefined means correctly. */
  wrong: ((asked: { method: string; key: string; count: number }) => Wrong | undefined) | undefined;
  /** Offset of its clock from that of the tests. */
  skewMs: number;
  /** Most requests at once so far. */
  atOnceMax: number;
  close(): Promise<void>;
}

export interface StoredObject {
  content: Buffer;
  sha256: string | undefined;
  modifiedAt: number;
}

const SKEW_MS_MAX = 15 * 60_000;

/**
 * Starts an S3 server with one bucket that is stricter than any: a wrong signature, hash or length is refused. Two of
 * them with the same `objects` give access to one store.
 */
export async function startObjectServer(
  options: { now?: () => number; objects?: ObjectServer['objects'] } = {},
): Promise<ObjectServer> {
  const now = options.now ?? (() => Date.now());
  let underWay = 0;
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    underWay++;
    store.atOnceMax = Math.max(store.atOnceMax, underWay);
    response.on('close', () => underWay--);
    answer({ store, now, counts }, request, response).catch((error: unknown) => {
      store.faults.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  const store: ObjectServer = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket: 'mail',
    accessKey: 'AKIDEXAMPLE',
    secretKey: 'a-secret/of+the-stand-in',
    region: 'eu-north-7',
    objects: options.objects ?? new Map(),
    asked: [],
    faults: [],
    wrong: undefined,
    skewMs: 0,
    atOnceMax: 0,
    close,
    [Symbol.asyncDispose]: close,
  };
  return store;
}

interface Serving {
  store: ObjectServer;
  now: () => number;
  counts: Map<string, number>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string = code) {
    super(message);
    [this.status, this.code] = [status, code];
  }
}

async function answer(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { store, now } = serving;
  response.setHeader('date', new Date(now() + store.skewMs).toUTCString());
  const url = new URL(request.url ?? '', store.endpoint);
  const key = decodeURIComponent(url.pathname).slice(store.bucket.length + 2);
  const method = request.method ?? '';
  const named = `${method} ${key}`;
  const count = (serving.counts.get(named) ?? 0) + 1;
  serving.counts.set(named, count);
  const wrong = store.wrong?.({ method, key, count });
  if (wrong === 'hang up') return void request.destroy();
  if (wrong === 'stall') return void request.resume();
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  const body = Buffer.concat(pieces);
  try {
    if (wrong === 'forbid') throw new Refusal(403, 'AccessDenied', 'Access Denied');
    if (wrong === 'slow down') throw new Refusal(503, 'SlowDown', 'Please reduce your request rate.');
    mustBeSigned(serving, request, url, body);
    store.asked.push(named);
    serve(serving, { request, response, url, key, body, wrong });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const isAsked = wrong === 'forbid' || wrong === 'slow down' || error.status === 404;
    if (!isAsked && error.code !== 'RequestTimeTooSkewed')
      store.faults.push(`${named}: ${error.code}: ${error.message}`);
    const xml = `<?xml version="1.0"?><Error><Code>${error.code}</Code><Message>${error.message}</Message></Error>`;
    response.writeHead(error.status, { 'content-type': 'application/xml' }).end(method === 'HEAD' ? undefined : xml);
  }
}

function mustBeSigned({ store, now }: Serving, request: IncomingMessage, url: URL, body: Buffer): void {
  const { headers } = request;
  const header = (name: string): string => String(headers[name] ?? '');
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w{64})$/.exec(
      header('authorization'),
    );
  if (!given) throw new Refusal(403, 'AccessDenied', 'no signature');
  const [, accessKey, day, region, signedNames = '', signature] = given;
  if (accessKey !== store.accessKey) throw new Refusal(403, 'InvalidAccessKeyId');
  if (region !== store.region) throw new Refusal(400, 'AuthorizationHeaderMalformed', 'wrong region');
  const time = header('x-amz-date');
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (!time.startsWith(`${day}T`) || Number.isNaN(Date.parse(iso))) throw new Refusal(403, 'AccessDenied', 'no date');
  if (Math.abs(Date.parse(iso) - now() - store.skewMs) > SKEW_MS_MAX) {
    throw new Refusal(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
    );
  }
  const names = signedNames.split(';');
  const must = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-') || name === 'content-md5')];
  const unsigned = must.filter((name) => !names.includes(name));
  if (unsigned.length > 0 || names.join() !== [...names].sort().join()) {
    throw new Refusal(403, 'AccessDenied', `headers that are not signed: ${unsigned.join()}`);
  }
  const bodyHash = header('x-amz-content-sha256');
  const signedRequest = {
    method: request.method ?? '',
    path: decodeURIComponent(url.pathname),
    bodyHash,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(names.map((name) => [name, header(name)])),
  };
  const key = { accessKey: store.accessKey, secretKey: store.secretKey, region: store.region };
  if (computeSignature(signedRequest, { key, time, names }) !== signature)
    throw new Refusal(403, 'SignatureDoesNotMatch');
  mustBeWhole(request, body, bodyHash);
}

function mustBeWhole({ method, headers }: IncomingMessage, body: Buffer, bodyHash: string): void {
  if (headers['transfer-encoding'] !== undefined) throw new Refusal(411, 'MissingContentLength');
  if (headers['content-encoding'] !== undefined) throw new Refusal(501, 'NotImplemented', 'aws-chunked');
  if (method === 'PUT' && Number(headers['content-length']) !== body.length) throw new Refusal(400, 'IncompleteBody');
  if (createHash('sha256').update(body).digest('hex') !== bodyHash) throw new Refusal(400, 'XAmzContentSHA256Mismatch');
  const md5 = headers['content-md5'];
  if (md5 !== undefined && md5 !== hashMd5(body).toString('base64')) throw new Refusal(400, 'BadDigest');
}

const hashMd5 = (content: Buffer): Buffer => createHash('md5').update(content).digest();

interface Served {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  key: string;
  body: Buffer;
  wrong: Wrong | undefined;
}

function serve(serving: Serving, served: Served): void {
  const { request, response, url, key } = served;
  const { objects, bucket } = serving.store;
  if (!url.pathname.startsWith(`/${bucket}`)) throw new Refusal(404, 'NoSuchBucket');
  if (key === '') return list(serving, served);
  switch (request.method) {
    case 'PUT':
      return put(serving, served);
    case 'DELETE':
      objects.delete(key);
      return void response.writeHead(204).end();
    default:
      return get(serving, served);
  }
}

function put({ store, now }: Serving, { request, response, key, body, wrong }: Served): void {
  const from = request.headers['x-amz-copy-source'];
  let content = body;
  let sha256 = request.headers['x-amz-meta-sha256'] as string | undefined;
  if (from !== undefined) {
    const source = store.objects.get(decodeURIComponent(String(from)).slice(store.bucket.length + 2));
    if (!source) throw new Refusal(404, 'NoSuchKey');
    ({ content, sha256 } = source);
  }
  const etag = wrong === 'wrong etag' ? '0'.repeat(32) : hashMd5(content).toString('hex');
  if (wrong === 'keep less') content = content.subarray(0, -1);
  if (wrong === 'error in 200') {
    return void response.end('<?xml version="1.0"?><Error><Code>InternalError</Code></Error>');
  }
  if (wrong !== 'lose') store.objects.set(key, { content, sha256, modifiedAt: now() });
  if (from === undefined) return void response.writeHead(200, { etag: `"${etag}"` }).end();
  response.end(`<?xml version="1.0"?><CopyObjectResult><ETag>&quot;${etag}&quot;</ETag></CopyObjectResult>`);
}

function get({ store }: Serving, { request, response, key, wrong }: Served): void {
  const found = store.objects.get(key);
  if (!found) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
  if (wrong === 'error in 200') {
    return void response.end('<?xml version="1.0"?><Error><Code>InternalError</Code></Error>');
  }
  const { content, sha256 } = found;
  const etag = `"${hashMd5(content).toString('hex')}"`;
  response.writeHead(200, { 'content-length': content.length, etag, ...(sha256 && { 'x-amz-meta-sha256': sha256 }) });
  if (request.method === 'HEAD') return void response.end();
  if (wrong === 'change') return void response.end(Buffer.alloc(content.length, '?'));
  if (wrong !== 'cut') return void response.end(content);
  response.write(content.subarray(0, content.length / 2), () => response.destroy());
}

function list({ store }: Serving, { response, url: { searchParams: query }, wrong }: Served): void {
  if (query.get('list-type') !== '2') throw new Refusal(501, 'NotImplemented');
  const max = Math.min(Number(query.get('max-keys') ?? 1000), 1000);
  const after = query.get('continuation-token') ?? '';
  const keys = [...store.objects.keys()]
    .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
    .sort()
    .slice(0, wrong === 'late list' ? -1 : undefined);
  const page = keys.slice(0, max);
  const entries = page.map((key) => {
    const { content, modifiedAt } = store.objects.get(key) ?? { content: '', modifiedAt: 0 };
    const at = new Date(modifiedAt).toISOString();
    return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified><Size>${content.length}</Size></Contents>`;
  });
  const isMore = keys.length > max;
  const next = isMore ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  const text = `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isMore}</IsTruncated>${next}${entries.join('')}</ListBucketResult>`;
  response.end(wrong === 'half a list' ? text.slice(0, text.length / 2) : text);
}

/** Returns the settings for this store. */
export const blobsIn = <More extends object>(server: ObjectServer, more: More) => ({
  store: 's3' as const,
  endpoint: server.endpoint,
  bucket: server.bucket,
  region: server.region,
  access_key: server.accessKey,
  secret_key: server.secretKey,
  ...more,
});
