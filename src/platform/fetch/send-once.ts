import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { FetchAnswer, FetchFault, FetchLimits } from './fetch-answer.ts';
import { answerWith, type Hop } from './get-once.ts';
import { faultOfPeer } from './guarded-connector.ts';

export interface Send {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
  body?: string | undefined;
}

export type SendAnswer =
  /** Any status at all; redirects are never followed, so that a credential goes nowhere else. */
  { kind: 'answered'; status: number; headers: IncomingHttpHeaders; body: Buffer } | (FetchAnswer & { kind: 'failed' });

/**
 * One request over a connection of its own, to one of the addresses given and to no other. http is spoken where the URL says
 * so: the caller has made sure that it may be. Never rejects.
 */
export function sendOnce(hop: Omit<Hop, 'url'>, send: Send, limits: FetchLimits): Promise<SendAnswer> {
  return new Promise((resolve) => {
    const isTls = send.url.protocol === 'https:';
    let stage: 'unreachable' | 'tls' | 'interrupted' = 'unreachable';
    const request = open(hop, send, limits.signal);
    const finish = (answer: SendAnswer): void => {
      resolve(answer);
      request.destroy();
    };
    const fail = (fault: FetchFault, because?: unknown): void => finish({ kind: 'failed', fault, because });
    request.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        stage = isTls ? 'tls' : 'interrupted';
        // The second lock on the same door: whatever led the connection here, it goes no further.
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
    // An answer that is none, such as a change of protocol, ends without an error.
    request.once('close', () => fail({ kind: 'interrupted' }));
    request.end(send.body);
  });
}

function open(
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
  // Of our own: the shared one may be told by the environment to go through a proxy, which no guard would see.
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
  // Node says "end" only of a body that came whole.
  response.on('end', () => finish({ kind: 'answered', status, headers, body: Buffer.concat(chunks) }));
}
