import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressGuard } from '../network/index.ts';
import { undici } from './undici.ts';

/** Reasons to reject the bytes of a response. */
type InterimWrong = 'upgrade' | 'interim' | 'endless';

const INTERIM_MAX = 16;
/** Headers, a body of the maximum size that is read, and the framing of very small chunks. */
const WIRE_BYTES_MAX = 131_072;
/** An interim response is short; this is far more. */
const INTERIM_BYTES_MAX = 8192;

const CR = 13;
const LF = 10;
const NONE = Buffer.alloc(0);

/**
 * RFC 9110 §15.2: any number of interim responses may precede the final one, requested or not. undici treats status 100
 * as the end of the connection and spends a call on each of the others, so they are removed before it reads, and
 * counted; so is every byte, because framing such as chunk extensions or blank lines never reaches the code that reads
 * the body. Node's own `https` hands over interim responses one by one, and costs 20 to 80 percent more processor time
 * for each post; it does not report the bytes that it skips, either. Requests are not pipelined: the bytes after a
 * request belong to its response.
 */
function skipInterimAnswers(socket: Socket, fail: (wrong: InterimWrong) => void): void {
  const readOn = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let written = -1;
  let seenBytes = 0;
  let interim = 0;
  /** The beginning of a response until its kind is known; then undefined. */
  let begun: Buffer | undefined;
  const failAs = (wrong: InterimWrong): null => {
    begun = undefined;
    fail(wrong);
    return null;
  };
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = readOn(size);
      if (chunk === null) return null;
      if (socket.bytesWritten !== written) {
        written = socket.bytesWritten;
        seenBytes = interim = 0;
        begun = NONE;
      }
      seenBytes += chunk.length;
      if (seenBytes > WIRE_BYTES_MAX) return failAs('endless');
      if (begun === undefined) return chunk;
      begun = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
      for (;;) {
        begun = withoutBlankLines(begun);
        if (!mayBeInterim(begun)) {
          const answer: Buffer = begun;
          begun = undefined;
          return answer;
        }
        if (begun.length >= FORM.length && begun.toString('latin1', 9, 12) === '101') return failAs('upgrade');
        const end = begun.indexOf('\r\n\r\n');
        if (end < 0) break;
        if (++interim > INTERIM_MAX) return failAs('interim');
        begun = begun.subarray(end + 4);
      }
      if (begun.length > INTERIM_BYTES_MAX) return failAs('interim');
    }
  };
}

const FORM = 'HTTP/1.d 1dd';

/** Reports whether the bytes so far may be the beginning of an interim response; no bytes at all may become one. */
function mayBeInterim(begun: Buffer): boolean {
  const length = Math.min(begun.length, FORM.length);
  for (let i = 0; i < length; i++) {
    const char = String.fromCharCode(begun[i] ?? 0);
    if (FORM[i] === 'd' ? char < '0' || char > '9' : char !== FORM[i]) return false;
  }
  return true;
}

/** RFC 9112 §2.2: a robust recipient ignores empty lines in front of a message. */
function withoutBlankLines(begun: Buffer): Buffer {
  let from = 0;
  while (begun[from] === CR || begun[from] === LF) from++;
  return from === 0 ? begun : begun.subarray(from);
}

export interface ConnectorOptions {
  mayReach: AddressGuard;
  /** Returns the permitted addresses of a host, looked up again for each connection. */
  addresses: (host: { hostname: string }) => Promise<{ found: string[] } | (FetchAnswer & { kind: 'failed' })>;
  ca: readonly string[] | undefined;
}

const NEXT_ADDRESS_MS = 1500;
/** A connection that takes longer will not succeed; the requests that wait for it have limits of their own. */
const CONNECT_MS = 10_000;

/** Attaches the fault to an error, because it passes through the pool. */
export class Faulted extends Error {
  readonly fault: PostFault;
  constructor(fault: PostFault, because: unknown) {
    super(`connection failed: ${fault.kind}`, { cause: because });
    this.fault = fault;
  }
}

/** Creates TLS connections to addresses that pass the guard, and checks the actual peer again once connected. */
export function guardedConnector({ mayReach, addresses, ca }: ConnectorOptions) {
  let connectTls: buildConnector.connector | undefined;
  // Created once, with the first connection: reading the trusted certificates takes longer than a handshake.
  const connect: buildConnector.connector = (...call) => (connectTls ??= tlsConnector(addresses, ca))(...call);
  return (options: buildConnector.Options, done: buildConnector.Callback): void => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    // An IP address needs no look-up, so the resolver would not check it.
    if (isIP(host) !== 0 && !mayReach(host)) return done(new Faulted({ kind: 'blocked' }, host), null);
    let hasConnected = false;
    // The declared type omits it, but it returns the socket.
    const socket = connect({ ...options, hostname: host }, (error, made) => {
      if (error) return done(asFaulted(error, hasConnected), null);
      skipInterimAnswers(made, (wrong) => made.destroy(new Faulted({ kind: 'unreadable', wrong }, 'read')));
      done(null, made);
    }) as unknown as Socket;
    socket.once('connect', () => {
      hasConnected = true;
      // Second check, of the actual peer: whatever led the connection here, it goes no further.
      const fault = faultOfPeer(socket, mayReach);
      if (fault) socket.destroy(new Faulted(fault, `connected to ${socket.remoteAddress}`));
    });
  };
}

/** Checks the peer of a new connection. Without an address it is gone already. */
export function faultOfPeer(
  { remoteAddress }: Pick<Socket, 'remoteAddress'>,
  mayReach: AddressGuard,
): { kind: 'blocked' | 'unreachable' } | undefined {
  if (!remoteAddress) return { kind: 'unreachable' };
  return mayReach(remoteAddress) ? undefined : { kind: 'blocked' };
}

function tlsConnector(addresses: ConnectorOptions['addresses'], ca: ConnectorOptions['ca']): buildConnector.connector {
  return undici().buildConnector({
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
  const code = readErrorCode(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Faulted({ kind: 'timeout' }, error);
  if (hasConnected) return new Faulted({ kind: 'tls', code: code || 'handshake failed' }, error);
  return new Faulted({ kind: 'unreachable' }, error);
}

/**
 * Called for every new connection, because a name that resolved to a public address once may resolve to another one
 * now.
 */
function lookUp(addresses: ConnectorOptions['addresses']): LookupFunction {
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

export function readErrorCode(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : '';
}

export interface Post {
  /** Path and query, as written in the URL. */
  path: string;
  /** All headers except those of the connection and the body itself. */
  headers: Record<string, string>;
  body: string;
}

export type PostFault =
  | Extract<FetchFault, { kind: 'blocked' | 'unreachable' | 'tls' | 'interrupted' | 'timeout' }>
  /** The bytes received are not a valid response; `reason` is the parser's message. */
  | { kind: 'unreadable'; wrong: InterimWrong | 'headers' | 'length' }
  | { kind: 'unreadable'; wrong: 'syntax'; reason: string };

export type PostAnswer =
  /**
   * Any status; redirects are never followed. `isCut`: the body did not end in time, and the connection was closed.
   * `retryAfter`: the header as sent.
   */
  | { kind: 'answered'; status: number; body: string; isCut?: true; retryAfter?: string }
  /** `because` is for the log only. */
  | { kind: 'failed'; fault: PostFault; because?: unknown };

/** A request in progress. */
export interface Posted {
  /** Never rejects. */
  answer: Promise<PostAnswer>;
  /** Ends the request in any state, with the fault `timeout`; does nothing once it is over. */
  giveUp(): void;
}

/** Connections to one host, kept open between requests. */
export interface PostPool {
  /**
   * Keeps up to `answerBytesMax` bytes of the response's body, as UTF-8 text; it reads further bytes for a moment, so
   * that the connection can be reused, and then closes it. A request has no time limit except its caller's.
   */
  post(request: Post, answerBytesMax: number): Posted;
  /** Accepts no more requests, waits a while for those in progress, and closes; the remaining ones are cut. */
  close(): Promise<void>;
  /** Closes every connection at once. */
  cut(): Promise<void>;
}

export interface FetchLimits {
  /** Aborts the fetch. There is no other time limit. */
  signal: AbortSignal;
  /** Called before bytes are kept, or once with the announced length; false ends the fetch. */
  mayTake: (bytes: number) => boolean;
}

/**
 * The fault that a caller may see. `blocked` gives no details: a forbidden address, a name that does not exist and a
 * redirect to either look the same, so that nobody can map our network.
 */
export type FetchFault =
  | { kind: 'blocked' }
  | { kind: 'unreachable' }
  /** `code` is OpenSSL's or Node's code for the fault of the certificate or the handshake. */
  | { kind: 'tls'; code: string }
  | { kind: 'status'; status: number }
  | { kind: 'too_many_redirects'; max: number }
  | { kind: 'encoded'; encoding: string }
  | { kind: 'too_large' }
  | { kind: 'interrupted' }
  | { kind: 'timeout' };

export type FetchAnswer =
  | { kind: 'fetched'; content: Buffer }
  /** `because` is for the log only. */
  | {
      kind: 'failed';
      fault: FetchFault;
      because?: unknown;
      /** The name has no address. Only in development may a caller learn of it. */
      hasNoAddress?: boolean;
    };
