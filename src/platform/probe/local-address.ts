import { createSocket } from 'node:dgram';

/** Addresses that are kept for documentation (RFC 5737, RFC 3849): nothing is sent there, and the way out leads to them. */
const OUTSIDE = { 4: '192.0.2.1', 6: '2001:db8::1' };

/** The address that this machine would speak from to the world; undefined where no way leads there. Nothing is sent. */
export function localAddress(family: 4 | 6): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    const end = (address: string | undefined): void => {
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      resolve(address);
    };
    socket.on('error', () => end(undefined));
    socket.connect(9, OUTSIDE[family], (error?: Error) => end(error ? undefined : socket.address().address));
  });
}
