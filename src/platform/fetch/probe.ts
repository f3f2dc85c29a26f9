import { createConnection, isIP, isIPv6, type NetConnectOpts } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import type { FetchFault } from './fetch-answer.ts';
import type { Hop } from './get-once.ts';
import { faultOfPeer } from './guarded-connector.ts';

export interface FetchFailure {
  fault: FetchFault;
  /** For the log alone. */
  because?: unknown;
  /** The name has no address. Only in development may a caller learn of it. */
  hasNoAddress?: boolean;
}

/** Node's own 250 ms between two addresses are less than some round trips. */
const NEXT_ADDRESS_MS = 1500;

/**
 * Connects to one of the addresses given and to no other, finishes the TLS handshake of an https URL as a request would, and
 * sends not a byte more. Answers what is in the way of a request, if anything is. Never rejects.
 */
export function probeOnce(hop: Omit<Hop, 'userAgent'>, signal: AbortSignal): Promise<FetchFailure | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ fault: { kind: 'timeout' } });
    let stage: 'unreachable' | 'tls' = 'unreachable';
    const isTls = hop.url.protocol === 'https:';
    const options = optionsOf(hop, isTls ? 443 : 80);
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
      // The second lock on the same door: whatever led the connection here, it goes no further.
      const fault = faultOfPeer(socket, hop.mayReach);
      if (fault) finish({ fault, because: `connected to ${socket.remoteAddress}` });
      else if (!isTls) finish();
    });
    socket.once('secureConnect', () => finish());
    const failed = (error?: Error & { code?: unknown }): void =>
      finish({ fault: stage === 'tls' ? { kind: 'tls', code: codeOf(error) } : { kind: stage }, because: error });
    socket.on('error', failed);
    socket.once('close', () => failed());
  });
}

function optionsOf({ url, addresses, ca }: Omit<Hop, 'userAgent'>, defaultPort: number): ConnectionOptions {
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
    // The look-up has been made and checked; a second one could answer something else.
    lookup(_host: string, wish: { all?: boolean }, done: (...answer: unknown[]) => void): void {
      if (wish.all) done(null, all);
      else done(null, all[0]?.address ?? '', all[0]?.family);
    },
  };
  return options as ConnectionOptions;
}

function codeOf(error: { code?: unknown } | undefined): string {
  const code = error?.code;
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'handshake failed';
}
