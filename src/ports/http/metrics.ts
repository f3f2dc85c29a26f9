import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { METRICS_TYPE } from '../../platform/meter/index.ts';
import { plainAddress } from '../../platform/network/index.ts';
import type { World } from '../../platform/world.ts';

/** Headers that a proxy adds to a request, so that an external request never looks like one from this machine. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;
const LOOPBACK_ADDRESS = /^(?:127(?:\.\d+){3}|::1)$/;
/** A shorter token could be guessed. */
const TOKEN_CHARS_MIN = 16;

/** Renders the metrics of this process, or of all processes that share its ports. */
export type ReadMetrics = () => Promise<string>;

interface No {
  status: number;
  say: string;
}

/**
 * Serves GET /metrics; returns false to leave a request to the API. It runs before the API's hooks: Prometheus has no
 * key of a team, and no limit applies to it.
 */
export function createMetricsRoute(
  world: World,
  read: ReadMetrics = world.meter.text,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    if ((request.url ?? '').split('?', 1)[0] !== '/metrics') return false;
    void answer(world, read, request, response).catch((error: unknown) => {
      world.log.error({ err: error }, 'the metrics could not be read');
      response.destroy();
    });
    return true;
  };
}

async function answer(
  world: World,
  read: ReadMetrics,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const no = (await findRefusal(world, request)) ?? undefined;
  if (no) {
    const challenge =
      no.status === 401 ? { 'www-authenticate': 'Bearer' } : no.status === 405 ? { allow: 'GET, HEAD' } : {};
    response.writeHead(no.status, { 'content-type': 'text/plain; charset=utf-8', ...challenge });
    return void response.end(request.method === 'HEAD' ? undefined : `${no.say}\n`);
  }
  const text = await read();
  response.writeHead(200, { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : text);
}

async function findRefusal(world: World, request: IncomingMessage): Promise<No | undefined> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, say: 'Read the metrics with GET.' };
  const { token_file: file } = world.config.metrics;
  if (file === '') return isFromHere(request) ? undefined : ONLY_FROM_HERE;
  const token = await readFile(path.resolve(world.dataDir, file), 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => world.log.error({ err: error }, 'metrics.token_file cannot be read'),
  );
  if (token === undefined) return UNREADABLE;
  if (token.length < TOKEN_CHARS_MIN) return TOO_SHORT;
  return isToken(request.headers.authorization, token) ? undefined : WRONG_TOKEN;
}

const ONLY_FROM_HERE: No = {
  status: 403,
  say: 'Without metrics.token_file, the metrics can only be read on this machine, at its loopback address and without a proxy.',
};
const UNREADABLE: No = {
  status: 503,
  say: 'The file that metrics.token_file names cannot be read; the log has the reason.',
};
const TOO_SHORT: No = {
  status: 503,
  say: `The file that metrics.token_file names must hold a token of at least ${TOKEN_CHARS_MIN} characters.`,
};
const WRONG_TOKEN: No = { status: 401, say: 'Send the token of metrics.token_file as Authorization: Bearer <token>.' };

/** Proxies speak HTTP/1.0 to us unless they are configured otherwise; Prometheus and curl do not. */
const isFromHere = ({ headers, httpVersion, socket }: IncomingMessage): boolean =>
  LOOPBACK_ADDRESS.test(plainAddress(socket.remoteAddress ?? '')) &&
  LOOPBACK_HOST.test(headers.host ?? '') &&
  httpVersion === '1.1' &&
  FORWARDED.every((name) => headers[name] === undefined);

function isToken(header: string | undefined, token: string): boolean {
  const given = /^bearer +(\S+)$/i.exec(header ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface MetricsPort {
  port: number;
  close(): Promise<void>;
}

/** Opens a port for the metrics alone, if one is set. */
export async function startMetricsPort(world: World, read?: ReadMetrics): Promise<MetricsPort | undefined> {
  const { host, port } = world.config.metrics;
  if (port === 0) return undefined;
  const answers = createMetricsRoute(world, read);
  const server = createServer((request, response) => {
    if (!answers(request, response)) response.writeHead(404).end('Only /metrics is served here.\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault) => reject(Object.assign(fault, { setting: 'metrics.port' })));
    server.listen({ host, port }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
