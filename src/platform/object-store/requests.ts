import { Readable } from 'node:stream';
import type { Agent } from 'undici';
import {
  EMPTY_BODY_HASH,
  encodedPath,
  encodedQuery,
  signRequest,
  type SigningKey,
} from '../../protocol/aws-signature.ts';
import { stopwatch, systemClock, waitFor } from '../clock.ts';
import { createSemaphore } from '../limits/index.ts';

/** The object store does not respond, or not correctly. Work that needs it is retried later: no message is at fault. */
export class ObjectStoreFault extends Error {
  override readonly name = 'ObjectStoreFault';
  readonly code = 'OBJECT_STORE';
  /** The same request may succeed in a moment. */
  readonly isTransient: boolean;

  constructor(message: string, { isTransient, cause }: { isTransient: boolean; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.isTransient = isTransient;
  }
}

/** Codes of 4xx responses that a retry may change. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'SlowDown',
  'Throttling',
  'TooManyRequests',
  'OperationAborted',
  'BadDigest',
  'IncompleteBody',
]);

interface Refused {
  method: string;
  status: number;
  body: string;
  /** The `date` header of the response. */
  date: string | undefined;
  region: string | undefined;
}

/** Describes an error response on one line for the log, the findings and the operator. */
function refusedBy(store: string, refused: Refused, nowMs: number): ObjectStoreFault {
  const { method, status, body } = refused;
  const code = findElement(body, 'Code') ?? '';
  const says = [`${status}`, code].filter(Boolean).join(' ');
  const message = findElement(body, 'Message')?.slice(0, 300);
  const hint = hintFor(code, refused, nowMs);
  const isTransient = status >= 500 || status === 429 || status === 408 || TRANSIENT_CODES.has(code);
  return new ObjectStoreFault(
    `${store} refuses ${method}: ${says}${message === undefined ? '' : `: ${message}`}${hint === undefined ? '' : ` (${hint})`}`,
    { isTransient },
  );
}

function hintFor(code: string, { status, date, region }: Refused, nowMs: number): string | undefined {
  if (code === 'RequestTimeTooSkewed') {
    const offsetMs = nowMs - Date.parse(date ?? '');
    if (Number.isNaN(offsetMs)) return 'the clocks of this machine and of the store differ';
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    return `the clock of this machine is ${seconds} s ${offsetMs < 0 ? 'behind' : 'ahead of'} that of the store`;
  }
  if ([301, 307, 308].includes(status) || code === 'AuthorizationHeaderMalformed') {
    return region === undefined ? 'look at blobs.endpoint and blobs.region' : `the bucket is in region ${region}`;
  }
  if (code === 'SignatureDoesNotMatch') return 'look at the secret key and blobs.region';
  return undefined;
}

/**
 * Returns the text of the first element of this name. The parts of S3 responses that are read here have neither
 * attributes nor CDATA sections.
 */
export function findElement(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replaceAll(
    /&(?:(amp|lt|gt|quot|apos)|#(x?[0-9a-f]{1,6}));/gi,
    (whole, named: string, number: string) => {
      if (named !== undefined) return NAMED[named.toLowerCase()] ?? whole;
      const point = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number.parseInt(number, 10);
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    },
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export interface ObjectStoreOptions extends SigningKey {
  /** An origin, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  bucket: string;
  /** Put the bucket into the path as its first segment, rather than into the host name. */
  pathStyle: boolean;
  /** An attempt fails if the store sends nothing for this long. */
  timeoutMs: number;
  /** No further attempt begins after this time. */
  giveUpMs: number;
  /** Maximum number of concurrent requests of this process. */
  requestsMax: number;
  /** The time with which requests are dated. Waits use the machine's own clock. */
  now: () => number;
  random: () => number;
  /** Called for every attempt. */
  observe?: (asked: Asked) => void;
}

export interface Asked {
  operation: string;
  result: 'ok' | 'missing' | 'error';
  sentBytes: number;
  receivedBytes: number;
}

interface Ask {
  operation: 'put' | 'get' | 'head' | 'list' | 'copy' | 'delete';
  method: 'PUT' | 'GET' | 'HEAD' | 'DELETE';
  /** Undefined for a request about the bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: { size: number; sha256: string; open: () => Buffer | Readable };
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  body: Readable;
}

export interface Requests {
  /** `s3://bucket at https://…`, for messages to operators. */
  name: string;
  bucket: string;
  /** Retries with doubling waits, while the faults of `attempt` are transient and there is time. */
  retry<T>(attempt: () => Promise<T>): Promise<T>;
  /**
   * Makes one attempt. An error response is thrown as a fault, except 404, which the caller reads. `read` must read the
   * whole body, because the connection is reused afterwards.
   */
  ask<T>(ask: Ask, read: (answer: Answer) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const TRIES_MAX = 5;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 3000;
/** A body slower than this counts as stalled. */
const BYTES_PER_MS_MIN = 32;

export function openRequests(options: ObjectStoreOptions): Requests {
  const { bucket, timeoutMs, giveUpMs, requestsMax } = options;
  const name = `s3://${bucket} at ${options.endpoint}`;
  const slots = createSemaphore(requestsMax);
  let agent: Promise<Agent> | undefined;
  const connected = (): Promise<Agent> =>
    (agent ??= import('undici').then(
      ({ Agent: Made }) =>
        new Made({
          connections: requestsMax,
          connect: { timeout: timeoutMs },
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        }),
    ));
  const inSlot = async <T>(attempt: () => Promise<T>): Promise<T> => {
    const release = await slots.acquire({ timeoutMs: giveUpMs }).catch(() => {
      const says = `${requestsMax} requests to the blob store are under way (blobs.requests_max), and none ended within ${giveUpMs / 1000} s`;
      throw new ObjectStoreFault(says, { isTransient: false });
    });
    try {
      return await attempt();
    } finally {
      release();
    }
  };
  const peer: Peer = { name, options, target: buildTarget(options), connected };
  return {
    name,
    bucket,
    retry: (attempt) => retry(options, () => inSlot(attempt)),
    ask: (wanted, read) => ask(peer, wanted, read),
    close: async () => (await agent)?.destroy(),
  };
}

interface Peer {
  name: string;
  options: ObjectStoreOptions;
  target: ReturnType<typeof buildTarget>;
  connected(): Promise<Agent>;
}

async function retry<T>({ random, giveUpMs }: ObjectStoreOptions, attempt: () => Promise<T>): Promise<T> {
  const elapsedMs = stopwatch();
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ObjectStoreFault) || !error.isTransient || tries >= TRIES_MAX) throw error;
      const pauseMs = Math.min(PAUSE_MS_MIN * 2 ** (tries - 1), PAUSE_MS_MAX) * (0.5 + random());
      if (elapsedMs() + pauseMs >= giveUpMs) throw error;
      await waitFor(pauseMs);
    }
  }
}

async function ask<T>(peer: Peer, wanted: Ask, read: (answer: Answer) => Promise<T>): Promise<T> {
  const { operation, method, body } = wanted;
  const { timeoutMs, observe } = peer.options;
  const over = new AbortController();
  let [receivedBytes, result]: [number, Asked['result']] = [0, 'error'];
  const lastMs = timeoutMs * 2 + Math.ceil((body?.size ?? 0) / BYTES_PER_MS_MIN);
  const cancel = systemClock.timer(lastMs, () => over.abort(new Error(`no end after ${lastMs} ms`)));
  let content: Readable | undefined;
  try {
    const answer = await (await peer.connected()).request({ ...signed(peer, wanted), method, signal: over.signal });
    content = answer.body;
    const { statusCode: status } = answer;
    const headers = plain(answer.headers);
    if (method === 'GET') receivedBytes = Number(headers['content-length'] ?? 0);
    // A large body may take long: from here on only its pauses are limited, by `bodyTimeout`.
    if (method === 'GET' && status < 300) cancel();
    if (status >= 300 && status !== 404) throw await refusal(peer, method, { status, headers, body: content });
    const done = await read({ status, headers, body: content });
    result = status === 404 ? 'missing' : 'ok';
    return done;
  } catch (error) {
    // `read` may fail by itself while it processes the content, for example on a full disk.
    const isOwn = error instanceof ObjectStoreFault || (content && !content.errored);
    throw isOwn ? error : unanswered(peer, method, error);
  } finally {
    cancel();
    content?.on('error', () => undefined).destroy();
    observe?.({ operation, result, sentBytes: body?.size ?? 0, receivedBytes });
  }
}

function signed({ target, options }: Peer, { method, key, query = {}, headers = {}, body }: Ask) {
  const path = target.pathOf(key ?? '');
  const toSign = {
    method,
    path,
    query,
    headers: { ...headers, host: target.host },
    bodyHash: body?.sha256 ?? EMPTY_BODY_HASH,
  };
  const search = encodedQuery(query);
  const { host: _, ...rest } = signRequest(toSign, options, options.now());
  return {
    origin: target.origin,
    path: `${encodedPath(path)}${search === '' ? '' : `?${search}`}`,
    headers: { host: target.host, ...rest, ...(body && { 'content-length': String(body.size) }) },
    ...(body && { body: body.open() }),
  };
}

async function refusal({ name, options }: Peer, method: string, answer: Answer): Promise<ObjectStoreFault> {
  const { status, headers } = answer;
  const date = headers['date'];
  const region = headers['x-amz-bucket-region'];
  return refusedBy(name, { method, status, body: await shortText(answer.body), date, region }, options.now());
}

const SILENT_CODES = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT'];

function unanswered({ name, options }: Peer, method: string, cause: unknown): ObjectStoreFault {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  // Distinguishes a slow store from an unreachable one.
  const why = SILENT_CODES.includes(code)
    ? `no sign of life for ${options.timeoutMs / 1000} s (blobs.timeout_seconds)`
    : [code, message].filter(Boolean).join(' ');
  return new ObjectStoreFault(`${name} does not answer ${method}: ${why}`, { isTransient: true, cause });
}

function buildTarget({ endpoint, bucket, pathStyle }: ObjectStoreOptions) {
  const url = new URL(endpoint);
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  const toPath = (key: string): string => (pathStyle ? `/${bucket}${key === '' ? '' : `/${key}`}` : `/${key}`);
  return { origin: url.origin, host: url.host, pathOf: toPath };
}

function plain(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
}

const TEXT_BYTES_MAX = 64 * 1024;

/** Limited to the length of an error text. */
async function shortText(body: Readable): Promise<string> {
  return readText(body, TEXT_BYTES_MAX).catch(() => '');
}

/** Throws if the body is longer. */
export async function readText(body: Readable, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) {
      throw new ObjectStoreFault(`the blob store answers with more than ${bytesMax} bytes`, { isTransient: false });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
