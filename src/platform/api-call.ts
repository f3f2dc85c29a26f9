import https from 'node:https';
import { isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { createAddressGuard } from './network/index.ts';
import type { Resolver } from './resolver/index.ts';

export interface ApiRequest {
  method: 'GET' | 'POST' | 'DELETE';
  url: URL;
  headers: Record<string, string>;
  body?: string;
}

export type ApiAnswer =
  | { kind: 'answered'; status: number; body: string }
  /** `say` may be shown to the caller; `because` is for the log. */
  | { kind: 'failed'; say: string; because?: unknown };

export interface ApiCallOptions {
  resolver: Pick<Resolver, 'addresses'>;
  /** Private CIDR ranges that may be contacted nevertheless. */
  allowPrivate: readonly string[];
  userAgent: string;
  /** Certificates in PEM that are trusted instead of the system's. */
  ca?: readonly string[] | undefined;
}

export type ApiCall = (request: ApiRequest, limits: { bytesMax: number; signal: AbortSignal }) => Promise<ApiAnswer>;

export function createApiCall({ resolver, allowPrivate, userAgent, ca }: ApiCallOptions): ApiCall {
  const mayReach = createAddressGuard([...allowPrivate]);

  return async (request, limits) => {
    const { url } = request;
    if (url.protocol !== 'https:') return { kind: 'failed', say: `${url.host} is only called over TLS` };
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const found = await resolver.addresses(host);
    if (found.kind !== 'found') return { kind: 'failed', say: `${host} has no address`, because: found };
    const addresses = [...found.records.v4, ...found.records.v6].filter(mayReach);
    if (addresses.length === 0) {
      return { kind: 'failed', say: `${host} has no address that may be connected to`, because: found.records };
    }
    return exchange({ request, limits, host, addresses, headers: { 'user-agent': userAgent }, ca });
  };
}

interface Exchange {
  request: ApiRequest;
  limits: { bytesMax: number; signal: AbortSignal };
  host: string;
  addresses: readonly string[];
  headers: Record<string, string>;
  ca: readonly string[] | undefined;
}

function exchange({ request, limits, host, addresses, headers, ca }: Exchange): Promise<ApiAnswer> {
  const { url, method, body } = request;
  return new Promise((resolve) => {
    const sent = https.request({
      method,
      host,
      port: url.port === '' ? 443 : url.port,
      path: url.pathname + url.search,
      // A separate agent: the environment may configure the shared one to use a proxy, which would bypass the address
      // guard.
      agent: new https.Agent({ keepAlive: false, lookup: answerWith(addresses) }),
      headers: {
        host: url.host,
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...headers,
        ...request.headers,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
      ...(ca ? { ca: [...ca] } : {}),
      signal: limits.signal,
    });
    const finish = (answer: ApiAnswer): void => {
      resolve(answer);
      sent.destroy();
    };
    let stage = `${host} cannot be reached`;
    sent.once('socket', (socket: Socket) => {
      socket.once('connect', () => (stage = `${host} has no certificate that can be trusted`));
      socket.once('secureConnect', () => (stage = `${host} closed the connection`));
    });
    sent.on('error', (error) => {
      finish({
        kind: 'failed',
        say: limits.signal.aborted ? `${host} did not respond in time` : stage,
        because: error,
      });
    });
    sent.once('response', (response) => readAnswer(response, host, limits, finish));
    sent.once('close', () => finish({ kind: 'failed', say: stage }));
    sent.end(body);
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

function readAnswer(
  response: IncomingMessage,
  host: string,
  { bytesMax, signal }: Exchange['limits'],
  finish: (answer: ApiAnswer) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  response.on('error', (error) => {
    const say = signal.aborted
      ? `${host} did not respond in time`
      : `${host} closed the connection in the middle of its response`;
    finish({ kind: 'failed', say, because: error });
  });
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > bytesMax) {
      return finish({ kind: 'failed', say: `${host} responded with more than ${bytesMax} bytes` });
    }
    chunks.push(chunk);
  });
  // Node only emits "end" for a complete body.
  response.on('end', () => {
    const body = Buffer.concat(chunks).toString('utf8');
    finish({ kind: 'answered', status: response.statusCode ?? 0, body });
  });
}
