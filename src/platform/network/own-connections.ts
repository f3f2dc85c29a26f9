import type { Socket } from 'node:net';
import { plainAddress } from './address-guard.ts';

/** A connection as seen by the side that accepted it. */
export interface AcceptedConnection {
  remoteAddress: string;
  remotePort: number;
  localAddress: string;
  localPort: number;
}

/**
 * The connections that this process opens, keyed by the end that the other side sees. Our own listeners recognize by it
 * connections from ourselves: no other machine can have that end at the same time. A program of this machine can,
 * towards another destination, so both sides must name the same destination. If addresses are translated in between
 * they cannot, and the near end decides alone, but only for connections that were opened to one of our own names.
 */
export interface OwnConnections {
  /** Tracks a socket from its connect to its close. `isHome`: it was opened to one of our own names. */
  add(socket: Socket, to: { isHome: boolean }): void;
  has(connection: AcceptedConnection): boolean;
}

export function createOwnConnections(): OwnConnections {
  /** The far ends by near end; several connections may share a near end. */
  const open = new Map<string, Set<Far>>();
  return {
    add(socket, { isHome }) {
      socket.once('connect', () => {
        const near = toEndKey(socket.localAddress ?? '', socket.localPort ?? 0);
        const far = { address: plainAddress(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0, isHome };
        const sharing = open.get(near) ?? new Set();
        open.set(near, sharing.add(far));
        socket.once('close', () => {
          sharing.delete(far);
          if (sharing.size === 0) open.delete(near);
        });
      });
    },
    has({ remoteAddress, remotePort, localAddress, localPort }) {
      const here = plainAddress(localAddress);
      const candidates = open.get(toEndKey(remoteAddress, remotePort)) ?? [];
      return [...candidates].some(({ address, port, isHome }) => (address === here ? port === localPort : isHome));
    },
  };
}

interface Far {
  address: string;
  port: number;
  isHome: boolean;
}

const toEndKey = (address: string, port: number): string => `${plainAddress(address)} ${port}`;
