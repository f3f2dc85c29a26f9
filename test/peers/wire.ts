import { connect, createServer, type Socket } from 'node:net';

export interface Wire {
  port: number;
  /** The bytes that the client wrote, one item for each piece that arrived; unreadable once it is encrypted. */
  pieces: string[];
  /** The client's commands with this verb. */
  commands(verb: string): string[];
  close(): Promise<void>;
}

/** A listener in front of Postfix that passes everything on and remembers what the client wrote, and in which pieces. */
export async function startWire(targetPort: number): Promise<Wire> {
  const pieces: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const peer = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    client.on('data', (piece) => pieces.push(piece.toString('utf8')));
    for (const [from, to] of [
      [client, peer],
      [peer, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => sockets.delete(from));
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as { port: number }).port,
    pieces,
    commands: (verb) =>
      pieces
        .join('')
        .split('\r\n')
        .filter((line) => line.startsWith(verb)),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
