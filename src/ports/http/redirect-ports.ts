import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { World } from '../../platform/world/index.ts';
import { createChallengeRoute } from './challenges.ts';
import { listenOn } from './secure-ports.ts';

export interface RedirectPorts {
  ports: readonly number[];
  close(): Promise<void>;
}

/** A name or an address, with or without a port. */
const HOST = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i;

/** Opens the ports that lead to https, and answer nothing but that and challenges: whatever else was sent there was sent in clear. */
export async function openRedirectPorts(world: World): Promise<RedirectPorts> {
  const { host, ports, redirect_ports: redirects } = world.config.https;
  const answersChallenge = createChallengeRoute(world);
  const port = ports[0] ?? 443;
  const servers: Server[] = [];
  const bound: number[] = [];
  try {
    for (const each of redirects) {
      const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 8192 }, (request, response) => {
        if (!answersChallenge(request, response)) redirect(request, response, port === 443 ? '' : `:${port}`);
      });
      servers.push(server);
      bound.push(await listenOn(server, { port: each, host, setting: 'https.redirect_ports' }));
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return {
    ports: bound,
    close: async () =>
      void (await Promise.all(
        servers.map((server) => {
          server.closeAllConnections();
          return new Promise((resolve) => server.close(resolve));
        }),
      )),
  };
}

function redirect({ headers, method, url = '/' }: IncomingMessage, response: ServerResponse, port: string): void {
  const [, name] = HOST.exec(headers.host ?? '') ?? [];
  const mayFollow = (method === 'GET' || method === 'HEAD') && name !== undefined && url.startsWith('/');
  const text = mayFollow ? '' : 'This port leads to https only; ask there.\n';
  const location = mayFollow ? { location: `https://${name}${port}${url}` } : {};
  const head = { 'content-type': 'text/plain; charset=utf-8', 'content-length': text.length, connection: 'close' };
  response.writeHead(mayFollow ? 308 : 403, { ...head, ...location }).end(text);
}
