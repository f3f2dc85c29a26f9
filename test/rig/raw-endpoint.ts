import net, { type AddressInfo, type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { ALLOWED } from './file-server.ts';
import { makeCertificate, type Certificate } from './tls.ts';

export interface RawEndpoint extends AsyncDisposable {
  host: string;
  port: number;
  certificate: Certificate;
  /** Returns the number of connections in total. */
  connections(): number;
  /** Returns the number of complete requests. */
  requests(): number;
  /** Resolves as soon as that many connections are open. */
  untilOpen(count: number): Promise<void>;
}

/** Starts a TLS server of an untrusted party that answers each request with the exact bytes that the test writes. */
export async function startRawEndpoint(
  answer: (socket: TLSSocket, request: number) => void,
  options: { host?: string } = {},
): Promise<RawEndpoint> {
  const host = options.host ?? 'raw.test';
  const certificate = makeCertificate({ names: [host] });
  const sockets = new Set<Socket>();
  let connections = 0;
  let requests = 0;
  const waiters = new Set<() => void>();
  const changed = (): void => {
    for (const look of [...waiters]) look();
  };
  const server = tls.createServer({ key: certificate.key, cert: certificate.cert }, (socket) => {
    socket.on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (head < 0 || received.length < head + 4 + length) return;
      received = '';
      answer(socket, ++requests);
    });
  });
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
    changed();
  });
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  return {
    host,
    port: (server.address() as AddressInfo).port,
    certificate,
    connections: () => connections,
    requests: () => requests,
    async untilOpen(count) {
      while (sockets.size !== count) {
        await new Promise<void>((resolve) => {
          const look = (): void => {
            waiters.delete(look);
            resolve();
          };
          waiters.add(look);
        });
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Starts a server that resets each connection the moment it is made. */
export async function startResetting(): Promise<AsyncDisposable & { port: number }> {
  const server = net.createServer((socket) => void socket.on('error', () => undefined).resetAndDestroy());
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}
