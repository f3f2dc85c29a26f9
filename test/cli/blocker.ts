import net from 'node:net';

/** Somebody who has taken a port. */
export interface Blocker {
  port: number;
  close(): void;
}

export function listen(port: number): Promise<Blocker> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      resolve({ port: (server.address() as net.AddressInfo).port, close: () => void server.close() });
    });
  });
}
