import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import type { AddressGuard } from '../network/index.ts';
import type { FetchAnswer } from './fetch-answer.ts';
import type { Post, PostAnswer, PostFault, PostLimits, PostLine } from './post-answer.ts';

export interface LinesOptions {
  mayReach: AddressGuard;
  /** The addresses of a host that may be connected to, looked up anew for each connection. */
  addresses: (host: { hostname: string }) => Promise<{ found: string[] } | (FetchAnswer & { kind: 'failed' })>;
  userAgent: string;
  ca: readonly string[] | undefined;
}

const NEXT_ADDRESS_MS = 1500;
/** A connection that is not there by then will not be; the requests that wait for it have limits of their own. */
const CONNECT_MS = 10_000;
/** Node's servers close after five seconds, and a request that crosses the close is lost. */
const IDLE_MS = 4000;
/** An answer that is a little longer than what is kept costs less to read than a new connection. */
const SWALLOWED_BYTES_MAX = 65_536;

/** Lines to hosts, each connection to an address that has passed the guard, and checked again when it stands. */
export function createPostLines(options: LinesOptions): (url: URL, wishes: { connectionsMax: number }) => PostLine {
  const connect = guardedConnector(options);
  return (url, { connectionsMax }) => {
    const pool = new Pool(url.origin, {
      connect,
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS,
      // The caller's signal is the only limit.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return {
      post: (request, limits) => new Promise((resolve) => postOn(pool, options.userAgent, request, limits, resolve)),
      close: () => pool.close(),
      cut: () => pool.destroy(),
    };
  };
}

/** Marks an error with what it means, because it comes back through the pool. */
class Faulted extends Error {
  readonly fault: PostFault;
  constructor(fault: PostFault, because: unknown) {
    super(`connection failed: ${fault.kind}`, { cause: because });
    this.fault = fault;
  }
}

function guardedConnector({ mayReach, addresses, ca }: LinesOptions) {
  let connectTls: buildConnector.connector | undefined;
  // Made with the first connection, and once: to read the certificates that are trusted takes longer than a handshake.
  const connect: buildConnector.connector = (...call) => (connectTls ??= tlsConnector(addresses, ca))(...call);
  return (options: buildConnector.Options, done: buildConnector.Callback): void => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    // An address is not looked up, so nobody would have asked.
    if (isIP(host) !== 0 && !mayReach(host)) return done(new Faulted({ kind: 'blocked' }, host), null);
    let hasConnected = false;
    // Its declaration does not say so, but it answers the socket.
    const socket = connect({ ...options, hostname: host }, (error, made) => {
      if (error) return done(asFaulted(error, hasConnected), null);
      done(null, made);
    }) as unknown as Socket;
    socket.once('connect', () => {
      hasConnected = true;
      // The second lock on the same door: whatever led the connection here, it goes no further.
      if (!mayReach(socket.remoteAddress ?? '')) {
        socket.destroy(new Faulted({ kind: 'blocked' }, `connected to ${socket.remoteAddress}`));
      }
    });
  };
}

function tlsConnector(addresses: LinesOptions['addresses'], ca: LinesOptions['ca']): buildConnector.connector {
  return buildConnector({
    timeout: CONNECT_MS,
    allowH2: false,
    // Node does not compare the name in the certificate again when a session is resumed.
    maxCachedSessions: 0,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    lookup: lookUp(addresses),
    secureContext: createSecureContext(ca ? { ca: [...ca] } : {}),
  });
}

function asFaulted(error: Error, hasConnected: boolean): Error {
  if (error instanceof Faulted) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Faulted({ kind: 'timeout' }, error);
  if (hasConnected) return new Faulted({ kind: 'tls', code: code || 'handshake failed' }, error);
  return new Faulted({ kind: 'unreachable' }, error);
}

/** Asked for every new connection: a name that answered a public address once may answer another one now. */
function lookUp(addresses: LinesOptions['addresses']): LookupFunction {
  return (hostname, options, done) => {
    const fail = (error: Error): void => done(error, []);
    addresses({ hostname }).then((answer) => {
      if ('fault' in answer) return fail(new Faulted(answer.fault as PostFault, answer.because));
      const all = answer.found.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      if (options.all) done(null, all);
      else done(null, all[0]?.address ?? '', all[0]?.family);
    }, fail);
  };
}

function postOn(
  pool: Dispatcher,
  userAgent: string,
  { path, headers, body }: Post,
  { signal, answerBytesMax }: PostLimits,
  resolve: (answer: PostAnswer) => void,
): void {
  let controller: Dispatcher.DispatchController | undefined;
  let status = 0;
  let isOver = false;
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let seenBytes = 0;
  const conclude = (answer: PostAnswer): void => {
    isOver = true;
    resolve(answer);
  };
  const late = (): void => {
    if (!isOver) conclude({ kind: 'failed', fault: { kind: 'timeout' } });
    controller?.abort(new Error('the time for this request is over'));
  };
  if (signal.aborted) return late();
  signal.addEventListener('abort', late, { once: true });
  const letGo = (): void => signal.removeEventListener('abort', late);
  const answered = (): void => {
    if (!isOver) conclude({ kind: 'answered', status, body: textOf(Buffer.concat(kept), answerBytesMax) });
  };
  pool.dispatch(
    { path, method: 'POST', headers: { 'user-agent': userAgent, ...headers }, body },
    {
      onRequestStart(started) {
        controller = started;
        // It waited for a connection longer than it may take: nothing of it is sent any more.
        if (isOver) started.abort(new Error('the time for this request is over'));
      },
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(reading, chunk) {
        seenBytes += chunk.length;
        if (keptBytes <= answerBytesMax) kept.push(chunk);
        keptBytes += chunk.length;
        if (seenBytes > answerBytesMax) answered();
        if (seenBytes > SWALLOWED_BYTES_MAX) reading.abort(new Error('the answer is longer than anybody reads'));
      },
      onResponseEnd() {
        letGo();
        // The connection is free again after one more turn; who posts before that would open another one.
        queueMicrotask(() => setImmediate(answered));
      },
      onResponseError(_controller, error) {
        letGo();
        if (isOver) return;
        const fault = error instanceof Faulted ? error.fault : ({ kind: 'interrupted' } as const);
        conclude({ kind: 'failed', fault, because: error });
      },
    },
  );
}

/** At most that many bytes, cut between characters; NUL, which PostgreSQL cannot store, becomes the sign for unreadable. */
function textOf(bytes: Buffer, bytesMax: number): string {
  let end = Math.min(bytes.length, bytesMax);
  // RFC 3629 §3: bytes 10xxxxxx continue a character.
  if (end < bytes.length) while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end).replaceAll('\0', '\ufffd');
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : '';
}
