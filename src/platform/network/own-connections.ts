import type { Socket } from 'node:net';
import { plainAddress } from './range-check.ts';

/**
 * The connections that this process opens, by the end that the other side sees. A port of ours knows by it what we bring
 * to ourselves: no stranger can have that end at the same time.
 */
export interface OwnConnections {
  /** From when it stands until it is gone. */
  add(socket: Socket): void;
  has(address: string, port: number): boolean;
}

export function createOwnConnections(): OwnConnections {
  const ends = new Set<string>();
  return {
    add(socket) {
      socket.once('connect', () => {
        const end = endOf(socket.localAddress ?? '', socket.localPort ?? 0);
        ends.add(end);
        socket.once('close', () => ends.delete(end));
      });
    },
    has: (address, port) => ends.has(endOf(address, port)),
  };
}

const endOf = (address: string, port: number): string => `${plainAddress(address)} ${port}`;
