import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { makeCertificate, type Certificate } from './tls.ts';

/** The address on loopback that a test allows; everything else on loopback stays private. */
export const ALLOWED = '127.0.0.2';

export interface Visit {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** What was sent with it, if anything. */
  body?: Buffer;
}

export interface FileServer extends AsyncDisposable {
  port: number;
  certificate: Certificate;
  visits: Visit[];
  /** Returns the number of open connections. */
  open(): number;
  close(): Promise<void>;
}

/** Starts an https server of an untrusted party, which answers what the test says. */
export async function startFileServer(
  answer: (path: string, response: ServerResponse, socket: Socket) => void,
  options: { names?: string[]; certificate?: Certificate } = {},
): Promise<FileServer> {
  const certificate = options.certificate ?? makeCertificate({ names: options.names ?? ['files.test'] });
  const visits: Visit[] = [];
  const sockets = new Set<Socket>();
  const server = https.createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    const { method = '', url = '', headers } = request;
    const visit: Visit = { method, path: url, headers };
    visits.push(visit);
    if (method === 'GET') return answer(url, response, request.socket);
    request.on('data', (piece: Buffer) => (visit.body = Buffer.concat([visit.body ?? Buffer.alloc(0), piece])));
    request.on('end', () => answer(url, response, request.socket));
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, ALLOWED, resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    visits,
    open: () => sockets.size,
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface Doorbell extends AsyncDisposable {
  port: number;
  /** Returns how often somebody connected. */
  rings(): number;
}

/** Starts a server inside the network that must never be reached: it listens on every address of this machine, and counts connections. */
export async function startDoorbell(host = '::'): Promise<Doorbell> {
  let rings = 0;
  const server = net.createServer((socket) => {
    rings++;
    socket.on('error', () => undefined);
    socket.destroy();
  });
  await new Promise<void>((resolve) => {
    // A machine without IPv6 has no "::".
    server.once('error', () => server.listen(0, '0.0.0.0', resolve));
    server.listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    rings: () => rings,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

/** Spellings of private addresses that have been used to bypass guards; PORT stands for the port to try. */
export const PRIVATE_URLS = [
  'https://127.0.0.1:PORT/',
  'https://127.0.0.1.:PORT/',
  'https://127.1:PORT/',
  'https://127.0.1:PORT/',
  'https://2130706433:PORT/',
  'https://0x7f000001:PORT/',
  'https://0x7F.1:PORT/',
  'https://0x7f.0x0.0x0.0x1:PORT/',
  'https://0177.0.0.1:PORT/',
  'https://017700000001:PORT/',
  'https://0177.0x0.1:PORT/',
  'https://0.0.0.0:PORT/',
  'https://0:PORT/',
  'https://%31%32%37.0.0.1:PORT/',
  'https://１２７.０.０.１:PORT/',
  'https://127。0。0。1:PORT/',
  'https://①②⑦.⓪.⓪.①:PORT/',
  'https:\\\\127.0.0.1:PORT\\',
  'https:127.0.0.1:PORT/',
  'https://localhost:PORT/',
  'https://LOCALHOST.:PORT/',
  'https://127.0.0.3:PORT/',
  'https://127.255.255.254:PORT/',
  'https://[::1]:PORT/',
  'https://[0:0:0:0:0:0:0:1]:PORT/',
  'https://[::]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://[::ffff:7f00:1]:PORT/',
  'https://[0:0:0:0:0:FFFF:127.0.0.1]:PORT/',
  'https://[::127.0.0.1]:PORT/',
  'https://[64:ff9b::127.0.0.1]:PORT/',
  'https://[64:ff9b:1::7f00:1]:PORT/',
  'https://[2002:7f00:1::]:PORT/',
  'https://[2001:0:7f00:1::]:PORT/',
  'https://[fe80::1]:PORT/',
  'https://[fc00::1]:PORT/',
  'https://[fd00:ec2::254]:PORT/',
  'https://[fec0::1]:PORT/',
  'https://[ff02::1]:PORT/',
  'https://10.0.0.1:PORT/',
  'https://172.16.0.1:PORT/',
  'https://192.168.0.1:PORT/',
  'https://100.64.0.1:PORT/',
  'https://169.254.169.254:PORT/latest/meta-data/',
  'https://224.0.0.1:PORT/',
  'https://255.255.255.255:PORT/',
  'https://240.0.0.1:PORT/',
  'https://198.18.0.1:PORT/',
] as const;
