import { createServer as createHttpServer, type Server, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureContext, type TLSSocket, type TlsOptions } from 'node:tls';
import { contextForProof, PROOF_PROTOCOL, answerToToken, type Issued } from '../../features/installation/start.ts';
import type { ServerTls } from '../../platform/server-tls.ts';
import type { World } from '../../platform/world.ts';
import { readClientHello, isToken } from '../../protocol/acme/index.ts';

interface SecurePorts {
  ports: readonly number[];
  /** Takes no new connections; resolves when the open ones have ended. */
  stopListening(): Promise<void>;
  /** Takes no new connections, and gives the open ones `graceMs` to end. */
  close(graceMs: number): Promise<void>;
}

export interface SecureParts {
  tls: ServerTls;
  issued: Issued;
}

const HANDSHAKE_MS = 20_000;
/** More than any client sends as its first message. */
const HELLO_BYTES_MAX = 16_384 + 5;
/** The authority asks once or a few times; no other client speaks that protocol. */
const PROOFS_AT_ONCE = 50;

/**
 * Opens the ports of HTTPS. Their connections are handed, decrypted, to the server that plain HTTP has, with all its
 * rules and limits. New connections get a new certificate; open ones continue.
 */
export async function openSecurePorts(world: World, server: Server, parts: SecureParts): Promise<SecurePorts> {
  const { host, ports } = world.config.https;
  const open = new Set<Socket>();
  const secure = createSecureServer(world, server, parts);
  const proofs = world.config.acme.challenge === 'tls-alpn-01' ? createProofServer(world) : undefined;
  const listeners: NetServer[] = [];
  const bound: number[] = [];
  try {
    for (const port of ports) {
      const listener = createServer({ noDelay: true }, (socket) => {
        open.add(socket);
        socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy());
        if (proofs) routeConnection(socket, { secure, proofs });
        else secure.emit('connection', socket);
      });
      listeners.push(listener);
      bound.push(await listenOn(listener, { port, host, setting: 'https.ports' }));
    }
  } catch (error) {
    for (const listener of listeners) listener.close();
    throw error;
  }
  const stopListening = async (): Promise<void> => {
    await Promise.all(listeners.map((each) => new Promise<void>((resolve) => void each.close(() => resolve()))));
  };
  return {
    ports: bound,
    stopListening,
    async close(graceMs) {
      const cancel = world.clock.timer(graceMs, () => open.forEach((socket) => socket.destroy()));
      if (graceMs === 0) open.forEach((socket) => socket.destroy());
      await stopListening();
      cancel();
    },
  };
}

interface Opening {
  port: number;
  host: string;
  /** Names the setting to change in the error when the port cannot be opened. */
  setting: string;
}

function listenOn(server: NetServer, { port, host, setting }: Opening): Promise<number> {
  return new Promise((resolve, rejectWith) => {
    const reject = (fault: Error): void => rejectWith(Object.assign(fault, { setting }));
    server.once('error', reject);
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function createSecureServer({ log }: World, server: Server, { tls, issued }: SecureParts): NetServer {
  const options: TlsOptions = {
    ...tls.current(),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_MS,
    // An unknown name gets the certificate of this installation, and no certificate is requested for it.
    SNICallback: (name, done) => {
      issued.contextFor(name).then(
        (context) => done(null, context),
        (error: unknown) => {
          log.error({ err: error }, 'could not read a certificate');
          done(null);
        },
      );
    },
  };
  const secure = createTlsServer(options, (socket: TLSSocket) => void server.emit('connection', socket));
  secure.on('tlsClientError', (_error, socket) => socket.destroy());
  tls.onChange((keys) => secure.setSecureContext({ ...keys, minVersion: 'TLSv1.2' }));
  return secure;
}

/** Presents only validation certificates (RFC 8737), and ends each connection after its handshake. */
function createProofServer(world: World): NetServer {
  let underWay = 0;
  const options: TlsOptions = {
    minVersion: 'TLSv1.2',
    ALPNProtocols: [PROOF_PROTOCOL],
    handshakeTimeout: HANDSHAKE_MS,
    SNICallback: (name, done) => {
      const refused = new Error('no order waits for this name');
      if (underWay >= PROOFS_AT_ONCE) return done(refused);
      underWay++;
      contextForProof(world, name.toLowerCase())
        .finally(() => underWay--)
        .then(
          (context: SecureContext | undefined) => (context ? done(null, context) : done(refused)),
          (error: Error) => done(error),
        );
    },
  };
  const proofs = createTlsServer(options, (socket) => void socket.end());
  proofs.on('tlsClientError', (_error, socket) => socket.destroy());
  return proofs;
}

/** The first message shows whether the authority asks for a proof, or a client for a page. */
function routeConnection(socket: Socket, { secure, proofs }: { secure: NetServer; proofs: NetServer }): void {
  let bytes = Buffer.alloc(0);
  socket.setTimeout(HANDSHAKE_MS, () => socket.destroy());
  socket.on('data', look);

  function look(part: Buffer): void {
    bytes = Buffer.concat([bytes, part]);
    const hello = readClientHello(bytes);
    if (hello === undefined && bytes.length < HELLO_BYTES_MAX) return;
    socket.off('data', look);
    socket.pause();
    socket.setTimeout(0);
    socket.removeAllListeners('timeout');
    socket.unshift(bytes);
    (hello?.protocols.includes(PROOF_PROTOCOL) ? proofs : secure).emit('connection', socket);
  }
}

const FOLDER = '/.well-known/acme-challenge/';

/**
 * Responds to the authority that validates our names (RFC 8555 §8.3), on every port: a proxy in front passes its
 * requests on. Only tokens of a pending order get a response, so that no path leads anywhere.
 */
export function createChallengeRoute(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  return ({ url = '', method }, response) => {
    if (!url.startsWith(FOLDER)) return false;
    const token = url.slice(FOLDER.length);
    const answer = (status: number, text: string): void => {
      const type = status === 200 ? 'application/octet-stream' : 'text/plain; charset=utf-8';
      const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) };
      response.writeHead(status, { ...headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      response.end(method === 'HEAD' ? undefined : text);
    };
    if ((method !== 'GET' && method !== 'HEAD') || !isToken(token))
      answer(404, 'No certificate order waits for this challenge.\n');
    else {
      answerToToken(world, token).then(
        (found) =>
          found === undefined ? answer(404, 'No certificate order waits for this challenge.\n') : answer(200, found),
        (error: unknown) => {
          world.log.error({ err: error }, 'could not respond to a challenge');
          answer(503, 'Try again later.\n');
        },
      );
    }
    return true;
  };
}

interface RedirectPorts {
  ports: readonly number[];
  close(): Promise<void>;
}

/** A name or an address, with or without a port. */
const HOST = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i;

/**
 * Opens the ports that redirect to https, and serve only that and challenges: any other content would have been sent in
 * clear.
 */
export async function openRedirectPorts(world: World): Promise<RedirectPorts> {
  const { host, ports, redirect_ports: redirects } = world.config.https;
  const answersChallenge = createChallengeRoute(world);
  const port = ports[0] ?? 443;
  const servers: Server[] = [];
  const bound: number[] = [];
  try {
    for (const each of redirects) {
      const server = createHttpServer({ requestTimeout: 10_000, maxHeaderSize: 8192 }, (request, response) => {
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
  const text = mayFollow ? '' : 'This port only redirects to https.\n';
  const location = mayFollow ? { location: `https://${name}${port}${url}` } : {};
  const head = { 'content-type': 'text/plain; charset=utf-8', 'content-length': text.length, connection: 'close' };
  response.writeHead(mayFollow ? 308 : 403, { ...head, ...location }).end(text);
}
