import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import { connect, type AddressInfo } from 'node:net';

export interface Outside {
  port: number;
  /** Every connection counts, whether anything was asked over it or not: a preconnect asks for nothing. */
  connections(): number;
  /** The requests, in order. */
  asked: { target: string; headers: http.IncomingHttpHeaders }[];
  /** Resolves when a path that begins so is asked for, or was. */
  hears(path: string): Promise<void>;
  /** Resolves with the next connection. */
  connected(): Promise<void>;
  /** Closes what is open, so that the next call needs a connection of its own. */
  hangUp(): void;
  /**
   * Resolves when every connection has been closed by who opened it, and so all that was asked over them is in `asked`.
   * Behind the end of a browser, that is all it ever asked for.
   */
  heardAll(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** Plays the rest of the internet, as far as the browser of a test can see: every request to the outside ends up here. */
export async function startOutside(): Promise<Outside> {
  let connections = 0;
  let open = 0;
  const asked: Outside['asked'] = [];
  const news = new EventEmitter().setMaxListeners(0);
  const server = http.createServer((request, response) => {
    asked.push({ target: request.url ?? '', headers: request.headers });
    news.emit('asked');
    response.writeHead(200, {
      'content-type': 'image/gif',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
    });
    response.end(PIXEL);
  });
  server.on('connection', (socket) => {
    connections++;
    open++;
    socket.on('close', () => {
      open--;
      news.emit('closed');
    });
    news.emit('connected');
  });
  // TLS and anything else that is no HTTP has been counted already.
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((done) => server.close(() => done()));
  };
  return {
    port,
    connections: () => connections,
    asked,
    async hears(path) {
      while (!asked.some(({ target }) => target.startsWith(`/${path}`))) await once(news, 'asked');
    },
    async connected() {
      await once(news, 'connected');
    },
    hangUp: () => server.closeAllConnections(),
    async heardAll() {
      // Connections are accepted in their order: once this one has ended, all before it are known. It does not count.
      await once(connect(port, '127.0.0.1').resume().end(), 'close');
      connections--;
      while (open > 0) await once(news, 'closed');
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
