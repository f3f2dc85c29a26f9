import type { ClientRequest, IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { AddressGuard } from '../network/index.ts';
import type { FetchAnswer, FetchFault, FetchLimits } from './fetch-answer.ts';
import { faultOfPeer } from './guarded-connector.ts';

export interface Hop {
  url: URL;
  /** Where the host is; every one of them has passed the guard. */
  addresses: readonly string[];
  mayReach: AddressGuard;
  userAgent: string;
  ca: readonly string[] | undefined;
}

export type HopAnswer = FetchAnswer | { kind: 'redirected'; location: string };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Node's own 250 ms between two addresses are less than some round trips. */
const NEXT_ADDRESS_MS = 1500;

/** One request over a connection of its own, to one of the addresses given and to no other. Never rejects. */
export function getOnce(hop: Hop, limits: FetchLimits): Promise<HopAnswer> {
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
        // The second lock on the same door: whatever led the connection here, it goes no further.
        const fault = faultOfPeer(socket, hop.mayReach);
        if (fault) fail(fault, `connected to ${socket.remoteAddress}`);
      });
      socket.once('secureConnect', () => (stage = 'interrupted'));
    });
    request.on('error', (error) => {
      if (limits.signal.aborted) fail({ kind: 'timeout' });
      else fail(stage === 'tls' ? { kind: 'tls', code: codeOf(error) } : { kind: stage }, error);
    });
    request.once('response', (response) => readResponse(response, limits, finish));
    // An answer that is none, such as a change of protocol, ends without an error.
    request.once('close', () => fail({ kind: 'interrupted' }));
    request.end();
  });
}

function open({ url, addresses, userAgent, ca }: Hop, signal: AbortSignal): ClientRequest {
  return https.request({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : url.port,
    path: url.pathname + url.search,
    // Of our own: the shared one may be told by the environment to go through a proxy, which no guard would see.
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

/** The look-up has been made and checked; a second one could answer something else. */
export function answerWith(addresses: readonly string[]): LookupFunction {
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
    return finish({ kind: 'redirected', location: utf8Of(headers.location) });
  }
  if (status !== 200) return fail({ kind: 'status', status });
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') return fail({ kind: 'encoded', encoding: encoding.slice(0, 40) });
  // Node's parser holds the body to the announced length, so that what was granted once need not be asked again.
  const announced = headers['content-length'];
  if (announced !== undefined && !mayTake(Number(announced))) return fail({ kind: 'too_large' });
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => {
    if (announced === undefined && !mayTake(chunk.length)) return fail({ kind: 'too_large' });
    chunks.push(chunk);
  });
  // Node says "end" only of a body that came whole.
  response.on('end', () => finish({ kind: 'fetched', content: Buffer.concat(chunks) }));
}

/** Node reads header bytes as Latin-1; a server that writes a letter beyond ASCII into a URL means UTF-8. */
const utf8Of = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'handshake failed';
}
