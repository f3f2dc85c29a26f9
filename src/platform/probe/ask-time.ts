import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readTime, timeRequest } from '../../protocol/sntp/index.ts';

/** What a time server says, in milliseconds; undefined where it says nothing that can be used until the signal ends. */
export function askTime(
  { address, port }: { address: string; port: number },
  signal: AbortSignal,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const mark = randomBytes(8);
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const end = (time: number | undefined): void => {
      signal.removeEventListener('abort', late);
      socket.removeAllListeners('message');
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      resolve(time);
    };
    const late = (): void => end(undefined);
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    socket.on('error', () => end(undefined));
    socket.on('message', (reply) => {
      const time = readTime(reply, mark);
      if (time !== undefined) end(time);
    });
    // Connected, the system drops what comes from anybody else.
    socket.connect(port, address, (error?: Error) => {
      if (error) end(undefined);
      else socket.send(timeRequest(mark));
    });
  });
}
