import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressGuard } from '../network/index.ts';
import { undici } from './undici.ts';

/** Why what stands on the wire is no answer that we take. */
type InterimWrong = 'upgrade' | 'interim' | 'endless';

const INTERIM_MAX = 16;
/** Headers, a body as far as anybody reads it, and the framing around very small chunks. */
const WIRE_BYTES_MAX = 131_072;
/** An interim answer says a few words; this is far more. */
const INTERIM_BYTES_MAX = 8192;

const CR = 13;
const LF = 10;
const NONE = Buffer.alloc(0);

/**
 * RFC 9110 §15.2: any number of interim answers may come before the final one, asked for or not. undici takes 100 for
 * the end of the connection and spends a call on each of the others, so they are taken out before it reads, and
 * counted; so is every byte, because framing such as chunk extensions or blank lines never reaches the code that reads the
 * body. Node's own `https` hands interim answers over one by one, and costs a fifth to four fifths more processor time
 * for each post; the bytes that it skips it does not show either. Requests are not pipelined: what comes after a request
 * was written answers that request.
 */
function skipInterimAnswers(socket: Socket, fail: (wrong: InterimWrong) => void): void {
  const readOn = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let written = -1;
  let seenBytes = 0;
  let interim = 0;
  /** What has been read of the beginning of an answer, until it is known what it is; then undefined. */
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

/** Whether it is the beginning of an interim answer as far as it goes; nothing at all may become one. */
function mayBeInterim(begun: Buffer): boolean {
  const length = Math.min(begun.length, FORM.length);
  for (let i = 0; i < length; i++) {
    const char = String.fromCharCode(begun[i] ?? 0);
    if (FORM[i] === 'd' ? char < '0' || char > '9' : char !== FORM[i]) return false;
  }
  return true;
}

/** RFC 9112 §2.2: a robust reader passes over empty lines in front of a message. */
function withoutBlankLines(begun: Buffer): Buffer {
  let from = 0;
  while (begun[from] === CR || begun[from] === LF) from++;
  return from === 0 ? begun : begun.subarray(from);
}

export interface ConnectorOptions {
  mayReach: AddressGuard;
  /** The addresses of a host that may be connected to, looked up anew for each connection. */
  addresses: (host: { hostname: string }) => Promise<{ found: string[] } | (FetchAnswer & { kind: 'failed' })>;
  ca: readonly string[] | undefined;
}

const NEXT_ADDRESS_MS = 1500;
/** A connection that is not there by then will not be; the requests that wait for it have limits of their own. */
const CONNECT_MS = 10_000;

/** Marks an error with what it means, because it comes back through the pool. */
export class Faulted extends Error {
  readonly fault: PostFault;
  constructor(fault: PostFault, because: unknown) {
    super(`connection failed: ${fault.kind}`, { cause: because });
    this.fault = fault;
  }
}

/** Connections over TLS to addresses that have passed the guard, and pass it again when the connection stands. */
export function guardedConnector({ mayReach, addresses, ca }: ConnectorOptions) {
  let connectTls: buildConnector.connector | undefined;
  // Made with the first connection, and once: to read the certificates that are trusted takes longer than a handshake.
  const connect: buildConnector.connector = (...call) => (connectTls ??= tlsConnector(addresses, ca))(...call);
  return (options: buildConnector.Options, done: buildConnector.Callback): void => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    // An address is not looked up, so the resolver would not have been asked.
    if (isIP(host) !== 0 && !mayReach(host)) return done(new Faulted({ kind: 'blocked' }, host), null);
    let hasConnected = false;
    // Its declaration does not say so, but it answers the socket.
    const socket = connect({ ...options, hostname: host }, (error, made) => {
      if (error) return done(asFaulted(error, hasConnected), null);
      skipInterimAnswers(made, (wrong) => made.destroy(new Faulted({ kind: 'unreadable', wrong }, 'read')));
      done(null, made);
    }) as unknown as Socket;
    socket.once('connect', () => {
      hasConnected = true;
      // The second lock on the same door: whatever led the connection here, it goes no further.
      const fault = faultOfPeer(socket, mayReach);
      if (fault) socket.destroy(new Faulted(fault, `connected to ${socket.remoteAddress}`));
    });
  };
}

/** What is wrong with the other end of a connection that has just been made. Without an address it is gone already. */
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
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Faulted({ kind: 'timeout' }, error);
  if (hasConnected) return new Faulted({ kind: 'tls', code: code || 'handshake failed' }, error);
  return new Faulted({ kind: 'unreachable' }, error);
}

/** Asked for every new connection: a name that answered a public address once may answer another one now. */
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

export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : '';
}

export interface Post {
  /** Path and query, as they stand in the URL. */
  path: string;
  /** All that are sent but those of the connection and the body itself. */
  headers: Record<string, string>;
  body: string;
}

export type PostFault =
  | Extract<FetchFault, { kind: 'blocked' | 'unreachable' | 'tls' | 'interrupted' | 'timeout' }>
  /** Something came, and it was no answer; `reason` is what the parser, in its own words, found wrong. */
  | { kind: 'unreadable'; wrong: InterimWrong | 'headers' | 'length' }
  | { kind: 'unreadable'; wrong: 'syntax'; reason: string };

export type PostAnswer =
  /**
   * Any status at all; redirects are never followed. `isCut`: its body did not end in time, and its connection went with it.
   * `retryAfter`: that header, as it was sent.
   */
  | { kind: 'answered'; status: number; body: string; isCut?: true; retryAfter?: string }
  /** `because` is for the log alone. */
  | { kind: 'failed'; fault: PostFault; because?: unknown };

/** A request under way. */
export interface Posted {
  /** Never rejects. */
  answer: Promise<PostAnswer>;
  /** Ends it, whatever it is at, with the fault `timeout`; when it is over, nothing happens. */
  giveUp(): void;
}

/** Connections to one host, kept open between requests. */
export interface PostPool {
  /**
   * Of the answer's body, `answerBytesMax` bytes are kept, as text in UTF-8; what comes after them is read for a moment,
   * so that the connection can be used again, and then cut. A request has no time limit but its caller's patience.
   */
  post(request: Post, answerBytesMax: number): Posted;
  /** Takes nothing more, lets what is under way end for a while, and closes; what has not ended by then is cut. */
  close(): Promise<void>;
  /** Cuts every connection. */
  cut(): Promise<void>;
}

export interface FetchLimits {
  /** Ends the fetch when it fires. There is no time limit but this one. */
  signal: AbortSignal;
  /** Asked before bytes are kept, or once with the length the other side announces; false ends the fetch. */
  mayTake: (bytes: number) => boolean;
}

/**
 * What a caller may be told. `blocked` says no more than that: an address that is refused, a name that does not exist and
 * a redirect to either read alike, or our network could be mapped by asking.
 */
export type FetchFault =
  | { kind: 'blocked' }
  | { kind: 'unreachable' }
  /** `code` is OpenSSL's or Node's name for what is wrong with the certificate or the handshake. */
  | { kind: 'tls'; code: string }
  | { kind: 'status'; status: number }
  | { kind: 'too_many_redirects'; max: number }
  | { kind: 'encoded'; encoding: string }
  | { kind: 'too_large' }
  | { kind: 'interrupted' }
  | { kind: 'timeout' };

export type FetchAnswer =
  | { kind: 'fetched'; content: Buffer }
  /** `because` is for the log alone. */
  | {
      kind: 'failed';
      fault: FetchFault;
      because?: unknown;
      /** The name has no address. Only in development may a caller learn of it. */
      hasNoAddress?: boolean;
    };
