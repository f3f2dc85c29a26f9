import type { Socket } from 'node:dgram';
import type { AddressInfo, Server } from 'node:net';

const TRIES = 10;

/** Makes both listen on one port, as a name server does. If a free TCP port is used by another program for UDP, the next one is tried. */
export async function listenOnSamePort(tcp: Server, udp: Socket, address: string, wanted = 0): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    await listening(tcp, () => tcp.listen(wanted, address));
    const { port } = tcp.address() as AddressInfo;
    try {
      await listening(udp, () => udp.bind(port, address));
      return port;
    } catch (error) {
      await new Promise<void>((done) => tcp.close(() => done()));
      if (wanted !== 0 || attempt === TRIES) throw error;
    }
  }
}

function listening(server: Server | Socket, start: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: Error): void => {
      server.off('error', end);
      server.off('listening', end);
      if (error) reject(error);
      else resolve();
    };
    server.once('error', end);
    server.once('listening', end);
    start();
  });
}
