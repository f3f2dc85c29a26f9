/**
 * An untrusted https endpoint for webhooks, on 127.0.0.2. It keeps every request with its exact body and answers what
 * the test says, 200 until then. In a scene:
 *
 *   const receiver = await startWebhookReceiver();
 *   const scene = await startScene(sceneFor(receiver));
 *   receiver.publishIn(scene.dns);
 *   … endpoint: receiver.url('/hook') …
 *   const [request] = await receiver.until(1);
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SceneOptions } from './scene.ts';
import { ALLOWED } from './file-server.ts';
import { makeCertificate, type Certificate } from './tls.ts';

export interface WebhookRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** The exact text that was signed. */
  body: string;
  /** The body as JSON. */
  payload: { type: string; created_at: string; data: Record<string, unknown> };
}

/** A status, or a function that answers by itself, or never. */
export type Reply = number | ((response: ServerResponse, request: WebhookRequest) => void);

export interface WebhookReceiver extends AsyncDisposable {
  host: string;
  port: number;
  certificate: Certificate;
  /** All requests so far, in the order of arrival. */
  requests: WebhookRequest[];
  url(path?: string): string;
  /** Sets how requests are answered from now on; with a path, those to it alone. */
  reply(reply: Reply, path?: string): void;
  /** Resolves with the requests when that many have arrived (at `path`, if one is given). */
  until(count: number, path?: string): Promise<WebhookRequest[]>;
  publishIn(dns: { set(name: string, type: 'A', values: string[]): void }): void;
  /** Returns the number of open connections, and the total. */
  open(): number;
  connections(): number;
  close(): Promise<void>;
}

export async function startWebhookReceiver(options: { host?: string } = {}): Promise<WebhookReceiver> {
  const host = options.host ?? 'hooks.test';
  const certificate = makeCertificate({ names: [host, `*.${host}`] });
  const requests: WebhookRequest[] = [];
  const replies = new Map<string, Reply>();
  const sockets = new Set<Socket>();
  let connections = 0;
  let waiters: (() => void)[] = [];
  const server = https.createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const { url: path = '', headers } = request;
      const received = { path, headers, body, payload: JSON.parse(body) as WebhookRequest['payload'] };
      requests.push(received);
      const reply = replies.get(path) ?? replies.get('') ?? 200;
      if (typeof reply === 'function') reply(response, received);
      else response.writeHead(reply).end('ok');
      const waiting = waiters;
      waiters = [];
      for (const look of waiting) look();
    });
  });
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    host,
    port,
    certificate,
    requests,
    url: (path = '/') => `https://${host}:${port}${path}`,
    reply: (reply, path = '') => void replies.set(path, reply),
    async until(count, path) {
      for (;;) {
        const found = path === undefined ? requests : requests.filter((request) => request.path === path);
        if (found.length >= count) return found.slice();
        await new Promise<void>((look) => waiters.push(look));
      }
    },
    publishIn(dns) {
      dns.set(host, 'A', [ALLOWED]);
      dns.set(`*.${host}`, 'A', [ALLOWED]);
    },
    open: () => sockets.size,
    connections: () => connections,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the options for a scene whose app trusts the receiver and may reach it. */
export function sceneFor(receiver: WebhookReceiver, options: SceneOptions = {}): SceneOptions {
  const network = { http_allow_private: [`${ALLOWED}/32`], ...options.config?.network };
  return {
    ...options,
    trustedCa: [...(options.trustedCa ?? []), receiver.certificate.cert],
    config: { ...options.config, network },
  };
}
