import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';

const LOOK_MS = 15_000;
/** A connection that takes no byte for this long is not being read; a mobile network may be away for some seconds. */
const STALLED_MS = 30_000;
/** When the memory for answers is used up, connections that have taken nothing for this long are closed first. */
const IDLE_MS = 2000;
/** Limit of all unread answers together: the largest answers there are, twenty times. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
/** Smaller answers are sent without a check. */
const LARGE_BYTES = 64 * 1024;

interface Connection {
  /** Bytes that the system had taken over from us when last some were waiting. */
  taken: number;
  /** When `taken` last grew, or when last nothing was waiting. */
  since: number;
  large: Set<ServerResponse>;
}

export interface UnreadAnswers {
  /** Called before a large answer is written: makes room for it, or throws the refusal. */
  admit(response: ServerResponse, bytes: number): void;
  close(): void;
}

/**
 * An answer stays in memory until the client has read it, so connections that stop reading are closed. Connections
 * without unread bytes, such as those of callers who wait for us, are left alone for any time, and so is a slow client
 * that goes on reading.
 */
export function createUnreadAnswers(
  world: Pick<World, 'clock'>,
  server: Server,
  waitingBytesMax = WAITING_BYTES_MAX,
): UnreadAnswers {
  const connections = new Map<Socket, Connection>();
  let cancel: (() => void) | undefined;

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, since: world.clock.now(), large: new Set() });
    socket.once('close', () => connections.delete(socket));
    cancel ??= world.clock.timer(LOOK_MS, lookAgain);
  });

  function lookAgain(): void {
    for (const [socket, { since }] of look()) if (world.clock.now() - since >= STALLED_MS) socket.destroy();
    cancel = connections.size > 0 ? world.clock.timer(LOOK_MS, lookAgain) : undefined;
  }

  /** The connections with unread bytes, and when each of them last took some. */
  function look(): [Socket, Connection][] {
    const now = world.clock.now();
    const waiting: [Socket, Connection][] = [];
    for (const [socket, connection] of connections) {
      const isWaiting = waitingOn(socket, connection) > 0;
      const taken = isWaiting ? takenOf(socket) : connection.taken;
      if (!isWaiting || taken !== connection.taken) connection.since = now;
      connection.taken = taken;
      if (isWaiting) waiting.push([socket, connection]);
    }
    return waiting;
  }

  return {
    admit(response, bytes) {
      if (bytes < LARGE_BYTES) return;
      const waiting = look();
      let total = bytes + waiting.reduce((sum, [socket, connection]) => sum + waitingOn(socket, connection), 0);
      for (const [socket, connection] of waiting.sort(([, a], [, b]) => a.since - b.since)) {
        if (total <= waitingBytesMax || world.clock.now() - connection.since < IDLE_MS) break;
        total -= waitingOn(socket, connection);
        socket.destroy();
      }
      if (total > waitingBytesMax) {
        throw refuse('service_unavailable', {
          say: 'Too many large answers are waiting to be read just now; try again in a few seconds.',
        });
      }
      const connection = response.req.socket && connections.get(response.req.socket);
      connection?.large.add(response);
      response.once('finish', () => connection?.large.delete(response));
    },
    close: () => cancel?.(),
  };
}

/** With pipelined requests, an answer has no socket until those before it are sent. */
function waitingOn(socket: Socket, { large }: Connection): number {
  let bytes = socket.writableLength;
  for (const response of large) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}

/**
 * `bytesWritten` counts a buffer of megabytes as soon as it is handed over, and would show no progress until all of it
 * is gone; the handle knows how much of it is still to be taken, and Node's own socket timeout asks it as well. Of an
 * answer of 22 MB the public figures show nothing before the client has taken 15 MB: a client that reads less than 500
 * KB a second would be cut off while reading.
 */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null;
  };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
