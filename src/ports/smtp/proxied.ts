import type { Socket } from 'node:net';
import { readProxyHeader } from '../../protocol/proxy-header/index.ts';

/** Takes the PROXY header off a connection and returns the client that it names; destroys a connection without one. */
export function takeProxyHeader(socket: Socket): Promise<{ address: string; port: number } | undefined> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const settle = (error?: Error, source?: { address: string; port: number }): void => {
      socket.off('readable', read).off('error', settle).off('close', gone).off('end', gone);
      if (!error) return resolve(source);
      socket.on('error', () => undefined);
      socket.destroy();
      reject(error);
    };
    const gone = (): void => settle(new Error('the connection ended before its PROXY header'));
    const read = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        held = Buffer.concat([held, chunk]);
        const header = readProxyHeader(held);
        if (header.kind === 'bad') return settle(new Error(`no PROXY header: ${header.fault}`));
        if (header.kind === 'more') continue;
        if (header.length < held.length) socket.unshift(held.subarray(header.length));
        return settle(undefined, header.source);
      }
    };
    socket.on('readable', read).on('error', settle).on('close', gone).on('end', gone);
  });
}
