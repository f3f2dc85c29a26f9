import { createServer, connect, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface PgRelay {
  /** The URL of the same database through the relay. */
  url: string;
  /**
   * Cuts off the client of the next transaction that sends `statement`, just as it commits: the server does not learn
   * that its client is gone, and gets the COMMIT when `land` is called.
   */
  loseCommitAfter(statement: string): { lost: Promise<void>; land(): Promise<void> };
  /** Ends every connection, and each that is opened until `heal`: the server is notified, the clients find out. */
  cut(): void;
  heal(): void;
  close(): Promise<void>;
}

/** A message that names a statement; later ones use the name alone. */
const PREPARED = /(rasket_\d+)\0([^\0]+)\0/g;

interface Plan {
  statement: string;
  isLost: boolean;
  lose(held: { server: Socket; commit: Buffer }): void;
}

/** Relays between the app and PostgreSQL, and can lose the answer to a COMMIT, as a half-open connection does. */
export async function startPgRelay(url: string): Promise<PgRelay> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let plan: Plan | undefined;
  let isParted = false;
  /** Statements by name, which are the same on every connection. */
  const prepared = new Map<string, string>();
  const isIn = (sent: string, statement: string): boolean =>
    sent.includes(statement) ||
    [...prepared].some(([name, text]) => text.includes(statement) && sent.includes(`\0${name}\0`));
  const relay = createServer((client) => {
    if (isParted) return void client.destroy();
    const server = connect(Number(port), hostname);
    let sawStatement = false;
    let isCut = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    server.on('data', (bytes) => void (isCut || client.write(bytes)));
    server.on('end', () => client.end());
    client.on('data', (bytes) => {
      if (isCut) return;
      const sent = bytes.toString('latin1');
      for (const [, name = '', text = ''] of sent.matchAll(PREPARED)) prepared.set(name, text);
      if (plan && isIn(sent, plan.statement)) sawStatement = true;
      if (!plan || plan.isLost || !sawStatement || !sent.includes('commit\0')) return void server.write(bytes);
      isCut = true;
      plan.lose({ server, commit: bytes });
      client.destroy();
    });
    client.on('close', () => void (isCut || server.end()));
  });
  await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
  return {
    url: urlThrough(relay, url),
    loseCommitAfter(statement) {
      const held = Promise.withResolvers<{ server: Socket; commit: Buffer }>();
      const made: Plan = {
        statement,
        isLost: false,
        lose(what) {
          made.isLost = true;
          held.resolve(what);
        },
      };
      plan = made;
      return {
        lost: held.promise.then(() => undefined),
        async land() {
          const { server, commit } = await held.promise;
          const answered = new Promise<void>((done) => server.once('data', () => done()));
          server.write(commit);
          await answered;
          server.destroy();
        },
      };
    },
    cut() {
      isParted = true;
      endAll(sockets);
    },
    heal: () => void (isParted = false),
    async close() {
      endAll(sockets);
      await new Promise<void>((done) => relay.close(() => done()));
    },
  };
}

function urlThrough(relay: Server, url: string): string {
  const through = new URL(url);
  through.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return through.href;
}

const endAll = (sockets: ReadonlySet<Socket>): void => sockets.forEach((socket) => void socket.destroy());
