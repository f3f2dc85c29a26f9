import { createSocket } from 'node:dgram';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnSamePort } from './same-port.ts';

export interface DnsRelay extends AsyncDisposable {
  port: number;
  /** Awaited before a connection over TCP is passed on: updates come over TCP, queries do not. */
  beforeTcp: () => Promise<void>;
  /** May change the answer over TCP. */
  onAnswer: (bytes: Buffer) => Buffer;
}

/** Relays between the program and a name server on loopback, UDP and TCP on one port. */
export async function startDnsRelay(target: { port: number }): Promise<DnsRelay> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const tcp = createServer((near) => {
    keep(near);
    near.pause();
    void relay.beforeTcp().then(() => {
      const far = keep(connect(target.port, '127.0.0.1'));
      near.on('data', (chunk) => far.write(chunk)).on('end', () => far.end());
      far.on('data', (chunk) => near.write(relay.onAnswer(chunk))).on('end', () => near.end());
      near.resume();
    });
  });
  const near = createSocket('udp4');
  const relay: DnsRelay = {
    port: await listenOnSamePort(tcp, near, '127.0.0.1'),
    beforeTcp: () => Promise.resolve(),
    onAnswer: (bytes) => bytes,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise<void>((done) => tcp.close(() => done())),
        new Promise<void>((done) => near.close(() => done())),
      ]);
    },
  };
  near.on('message', (question, from) => {
    const far = createSocket('udp4');
    far.on('message', (answer) => {
      near.send(answer, from.port, from.address);
      far.close();
    });
    far.send(question, target.port, '127.0.0.1');
  });
  return relay;
}
