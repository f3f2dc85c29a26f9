import { isIPv6, createConnection, isIP, type LookupFunction, type Socket, type NetConnectOpts } from 'node:net';
import { createAddressGuard, type AddressGuard } from '../network/index.ts';
import type { Resolver } from '../resolver/index.ts';
import {
  faultOfPeer,
  type FetchAnswer,
  type FetchLimits,
  type PostPool,
  type FetchFault,
} from './guarded-connector.ts';
import { readHttpsUrl } from '../../protocol/https-url.ts';
import { createPostPools, type PoolWishes } from './post-pool.ts';
import http from 'node:http';
import type { ClientRequest, IncomingMessage, IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { RequestOptions } from 'node:https';
import { connect, type ConnectionOptions } from 'node:tls';

interface Hop {
  url: URL;
  /** The addresses of the host; each of them has passed the guard. */
  addresses: readonly string[];
  mayReach: AddressGuard;
  userAgent: string;
  ca: readonly string[] | undefined;
}

type HopAnswer = FetchAnswer | { kind: 'redirected'; location: string };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Node's default of 250 ms between two addresses is less than some round trips. */
const NEXT_ADDRESS_MS = 1500;

/** Makes one request over a new connection, to one of the given addresses and to no other. Never rejects. */
function getOnce(hop: Hop, limits: FetchLimits): Promise<HopAnswer> {
  return new Promise((resolve) => {
    let stage: 'unreachable' | 'tls' | 'interrupted' = 'unreachable';
    const request = open(hop, limits.signal);
    const finish = (answer: HopAnswer): void => {
      resolve(answer);
      request.destroy();
    };
    const fail = (fault: FetchFault, because?: unknown): void => finish({ kind: 'failed', fault, because });
    request.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        stage = 'tls';
        // Second check, of the actual peer: whatever led the connection here, it goes no further.
        const fault = faultOfPeer(socket, hop.mayReach);
        if (fault) fail(fault, `connected to ${socket.remoteAddress}`);
      });
      socket.once('secureConnect', () => (stage = 'interrupted'));
    });
    request.on('error', (error) => {
      if (limits.signal.aborted) fail({ kind: 'timeout' });
      else fail(stage === 'tls' ? { kind: 'tls', code: readErrorCode(error) } : { kind: stage }, error);
    });
    request.once('response', (response) => readResponse(response, limits, finish));
    // An invalid response, such as a change of protocol, ends without an error.
    request.once('close', () => fail({ kind: 'interrupted' }));
    request.end();
  });
}

function open({ url, addresses, userAgent, ca }: Hop, signal: AbortSignal): ClientRequest {
  return https.request({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : url.port,
    path: url.pathname + url.search,
    // A separate agent: the environment may configure the shared one to use a proxy, which would bypass the address
    // guard.
    agent: new https.Agent({
      keepAlive: false,
      lookup: answerWith(addresses),
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    }),
    headers: { host: url.host, 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' },
    ...(ca ? { ca: [...ca] } : {}),
    signal,
  });
}

/** Returns the addresses that were looked up and checked; a second look-up could return others. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, options, done) => {
    if (options.all) done(null, all);
    else done(null, all[0]?.address ?? '', all[0]?.family);
  };
}

function readResponse(
  response: IncomingMessage,
  { signal, mayTake }: FetchLimits,
  finish: (answer: HopAnswer) => void,
): void {
  const fail = (fault: FetchFault, because?: unknown): void => finish({ kind: 'failed', fault, because });
  const { statusCode: status = 0, headers } = response;
  response.on('error', (error) => fail({ kind: signal.aborted ? 'timeout' : 'interrupted' }, error));
  if (REDIRECTS.has(status) && headers.location !== undefined) {
    return finish({ kind: 'redirected', location: toUtf8(headers.location) });
  }
  if (status !== 200) return fail({ kind: 'status', status });
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') return fail({ kind: 'encoded', encoding: encoding.slice(0, 40) });
  // Node's parser limits the body to the announced length, so one check is enough.
  const announced = headers['content-length'];
  if (announced !== undefined && !mayTake(Number(announced))) return fail({ kind: 'too_large' });
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => {
    if (announced === undefined && !mayTake(chunk.length)) return fail({ kind: 'too_large' });
    chunks.push(chunk);
  });
  // Node only emits "end" for a complete body.
  response.on('end', () => finish({ kind: 'fetched', content: Buffer.concat(chunks) }));
}

/** Node reads header bytes as Latin-1; a server that puts a non-ASCII letter into a URL means UTF-8. */
const toUtf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

function readErrorCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'handshake failed';
}

export interface FetchFailure {
  fault: FetchFault;
  /** For the log only. */
  because?: unknown;
  /** The name has no address. Only in development may a caller learn of it. */
  hasNoAddress?: boolean;
}

/**
 * Connects to one of the given addresses and to no other, does the TLS handshake of an https URL as a request would,
 * and sends nothing more. Returns what would make a request fail, if anything. Never rejects.
 */
function probeOnce(hop: Omit<Hop, 'userAgent'>, signal: AbortSignal): Promise<FetchFailure | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ fault: { kind: 'timeout' } });
    let stage: 'unreachable' | 'tls' = 'unreachable';
    const isTls = hop.url.protocol === 'https:';
    const options = buildConnectionOptions(hop, isTls ? 443 : 80);
    const socket = isTls ? connect(options) : createConnection(options as NetConnectOpts);
    const finish = (failure?: FetchFailure): void => {
      signal.removeEventListener('abort', late);
      resolve(failure);
      socket.destroy();
    };
    const late = (): void => finish({ fault: { kind: 'timeout' } });
    signal.addEventListener('abort', late, { once: true });
    socket.once('connect', () => {
      stage = 'tls';
      // Second check, of the actual peer: whatever led the connection here, it goes no further.
      const fault = faultOfPeer(socket, hop.mayReach);
      if (fault) finish({ fault, because: `connected to ${socket.remoteAddress}` });
      else if (!isTls) finish();
    });
    socket.once('secureConnect', () => finish());
    const failed = (error?: Error & { code?: unknown }): void =>
      finish({
        fault: stage === 'tls' ? { kind: 'tls', code: readErrorCode(error) } : { kind: stage },
        because: error,
      });
    socket.on('error', failed);
    socket.once('close', () => failed());
  });
}

function buildConnectionOptions(
  { url, addresses, ca }: Omit<Hop, 'userAgent'>,
  defaultPort: number,
): ConnectionOptions {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const options = {
    host,
    port: url.port === '' ? defaultPort : Number(url.port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
    ...(ca ? { ca: [...ca] } : {}),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    // Returns the addresses that were looked up and checked; a second look-up could return others.
    lookup(_host: string, wish: { all?: boolean }, done: (...answer: unknown[]) => void): void {
      if (wish.all) done(null, all);
      else done(null, all[0]?.address ?? '', all[0]?.family);
    },
  };
  return options as ConnectionOptions;
}

export interface GuardedFetchOptions {
  resolver: Pick<Resolver, 'addresses'>;
  /** Private CIDR ranges that may be contacted nevertheless. */
  allowPrivate: readonly string[];
  userAgent: string;
  /** Certificates in PEM that are trusted instead of the system's. */
  ca?: readonly string[] | undefined;
}

export interface GuardedFetch {
  get(url: URL, limits: FetchLimits): Promise<FetchAnswer>;
  /**
   * Sends a request with a credential or a body, and reads the response whatever its status; no redirect is followed.
   */
  send(request: Send, limits: FetchLimits): Promise<SendAnswer>;
  /**
   * Checks whether a request could be made, by a connection and its TLS handshake only. Returns what would make it
   * fail.
   */
  probe(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined>;
  /** Checks whether the host has a permitted address, without connecting. Returns what would make a request fail. */
  checkAddress(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined>;
  /** Opens a pool of guarded connections for many requests to one host, which stay open; no redirect is followed. */
  pool(url: URL, wishes: PoolWishes): PostPool;
}

const REDIRECTS_MAX = 3;

export function createGuardedFetch({ resolver, allowPrivate, userAgent, ca }: GuardedFetchOptions): GuardedFetch {
  const mayReach = createAddressGuard([...allowPrivate]);

  async function follow(from: URL, limits: FetchLimits): Promise<FetchAnswer> {
    let url = from;
    for (let redirects = 0; ; redirects++) {
      const addresses = await publicAddresses(url, mayReach, resolver);
      if ('fault' in addresses) return addresses;
      const hop: Hop = { url, addresses: addresses.found, mayReach, userAgent, ca };
      const answer = await getOnce(hop, limits);
      if (answer.kind !== 'redirected') return answer;
      const max = REDIRECTS_MAX;
      if (redirects === max) return { kind: 'failed', fault: { kind: 'too_many_redirects', max } };
      const next = readHttpsUrl(URL.parse(answer.location, url.href)?.href ?? '');
      if (typeof next === 'string') return blocked(`a redirect to ${JSON.stringify(answer.location.slice(0, 200))}`);
      url = next;
    }
  }

  async function probe(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined> {
    const addresses = await publicAddresses(url, mayReach, resolver);
    return 'fault' in addresses ? addresses : probeOnce({ url, addresses: addresses.found, mayReach, ca }, signal);
  }

  async function checkAddress(url: URL): Promise<FetchFailure | undefined> {
    const addresses = await publicAddresses(url, mayReach, resolver);
    return 'fault' in addresses ? addresses : undefined;
  }

  async function send(request: Send, limits: FetchLimits): Promise<SendAnswer> {
    const addresses = await publicAddresses(request.url, mayReach, resolver);
    if ('fault' in addresses) return addresses;
    return sendOnce({ addresses: addresses.found, mayReach, userAgent, ca }, request, limits);
  }

  return {
    send: (request, limits) => untilAborted(send(request, limits), limits.signal),
    get: (url, limits) => untilAborted(follow(url, limits), limits.signal),
    probe: (url, signal) => untilAborted(probe(url, signal), signal),
    checkAddress: (url, signal) => untilAborted(checkAddress(url), signal),
    pool: createPostPools({ mayReach, ca, addresses: (host) => publicAddresses(host, mayReach, resolver) }),
  };
}

/** A look-up cannot be canceled, so stop waiting for it instead. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | (FetchAnswer & { kind: 'failed' })> {
  return new Promise((resolve, reject) => {
    const late = (): void => resolve({ kind: 'failed', fault: { kind: 'timeout' } });
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', late));
  });
}

const blocked = (because: string): FetchAnswer & { kind: 'failed' } => ({
  kind: 'failed',
  fault: { kind: 'blocked' },
  because,
});

/**
 * Returns the permitted addresses of a host. The URL parser has already turned every spelling of an IPv4 address,
 * decimal, octal or hexadecimal, into four decimal numbers.
 */
async function publicAddresses(
  { hostname }: Pick<URL, 'hostname'>,
  mayReach: AddressGuard,
  resolver: Pick<Resolver, 'addresses'>,
): Promise<{ found: string[] } | (FetchAnswer & { kind: 'failed' })> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const answer = await resolver.addresses(host);
  if (answer.kind === 'failed') {
    return { kind: 'failed', fault: { kind: 'unreachable' }, because: `${host} was not looked up: ${answer.reason}` };
  }
  if (answer.kind === 'none') return { ...blocked(`${host} has no address: ${answer.why}`), hasNoAddress: true };
  const all = [...answer.records.v4, ...answer.records.v6];
  const found = all.filter(mayReach);
  if (found.length === 0) return blocked(`${host} has the address ${all.join(', ')}`);
  // IPv4 first: a host without IPv6 connectivity would lose time on addresses that it cannot reach.
  return { found: found.sort((a, b) => Number(isIPv6(a)) - Number(isIPv6(b))) };
}

export interface Send {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
}

export type SendAnswer =
  /** Any status; redirects are never followed, so that a credential is sent nowhere else. */
  { kind: 'answered'; status: number; headers: IncomingHttpHeaders; body: Buffer } | (FetchAnswer & { kind: 'failed' });

/**
 * Makes one request over a new connection, to one of the given addresses and to no other. It uses plain http if the URL
 * does: the caller has made sure that it may. Never rejects.
 */
function sendOnce(hop: Omit<Hop, 'url'>, send: Send, limits: FetchLimits): Promise<SendAnswer> {
  return new Promise((resolve) => {
    const isTls = send.url.protocol === 'https:';
    let stage: 'unreachable' | 'tls' | 'interrupted' = 'unreachable';
    const request = openSend(hop, send, limits.signal);
    const finish = (answer: SendAnswer): void => {
      resolve(answer);
      request.destroy();
    };
    const fail = (fault: FetchFault, because?: unknown): void => finish({ kind: 'failed', fault, because });
    request.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        stage = isTls ? 'tls' : 'interrupted';
        // Second check, of the actual peer: whatever led the connection here, it goes no further.
        const fault = faultOfPeer(socket, hop.mayReach);
        if (fault) fail(fault, `connected to ${socket.remoteAddress}`);
      });
      socket.once('secureConnect', () => (stage = 'interrupted'));
    });
    request.on('error', (error: Error & { code?: unknown }) => {
      if (limits.signal.aborted) return fail({ kind: 'timeout' });
      fail(stage === 'tls' ? { kind: 'tls', code: String(error.code ?? 'handshake failed') } : { kind: stage }, error);
    });
    request.once('response', (response) => read(response, limits, finish));
    // An invalid response, such as a change of protocol, ends without an error.
    request.once('close', () => fail({ kind: 'interrupted' }));
    request.end(send.body);
  });
}

function openSend(
  { addresses, userAgent, ca }: Omit<Hop, 'url'>,
  { method, url, headers, body }: Send,
  signal: AbortSignal,
): ClientRequest {
  const own = { keepAlive: false, lookup: answerWith(addresses), autoSelectFamilyAttemptTimeout: 1500 };
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options: RequestOptions = {
    method,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    path: url.pathname + url.search,
    headers: { 'user-agent': userAgent, ...headers, host: url.host, 'accept-encoding': 'identity', ...length },
    signal,
  };
  // A separate agent: the environment may configure the shared one to use a proxy, which would bypass the address
  // guard.
  if (url.protocol !== 'https:') return http.request({ ...options, port: url.port || 80, agent: new http.Agent(own) });
  const trusted = ca ? { ca: [...ca] } : {};
  return https.request({ ...options, ...trusted, port: url.port || 443, agent: new https.Agent(own) });
}

function read(response: IncomingMessage, { signal, mayTake }: FetchLimits, finish: (answer: SendAnswer) => void): void {
  const fail = (fault: FetchFault, because?: unknown): void => finish({ kind: 'failed', fault, because });
  response.on('error', (error) => fail({ kind: signal.aborted ? 'timeout' : 'interrupted' }, error));
  const { statusCode: status = 0, headers } = response;
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') return fail({ kind: 'encoded', encoding: encoding.slice(0, 40) });
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => {
    if (!mayTake(chunk.length)) return fail({ kind: 'too_large' });
    chunks.push(chunk);
  });
  // Node only emits "end" for a complete body.
  response.on('end', () => finish({ kind: 'answered', status, headers, body: Buffer.concat(chunks) }));
}
