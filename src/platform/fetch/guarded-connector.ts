import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressGuard } from '../network/index.ts';
import type { FetchAnswer } from './fetch-answer.ts';
import { skipInterimAnswers } from './interim-answers.ts';
import type { PostFault } from './post-answer.ts';
import { undici } from './undici.ts';

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
