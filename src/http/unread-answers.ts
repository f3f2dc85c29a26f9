import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '../platform/refusal/index.ts';
import type { World } from '../platform/world/index.ts';

const LOOK_MS = 15_000;
/** A mobile network may be away for some seconds; who takes no byte for this long is not reading. */
const STALLED_MS = 30_000;
/** Without room, who has taken nothing since this long makes way. */
const IDLE_MS = 2000;
/** What may wait to be taken in all: the largest answers there are, twenty times. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
/** Smaller answers are not counted before they are sent. */
const LARGE_BYTES = 64 * 1024;

interface Connection {
  /** Bytes that the system took over from us, as of the last time that this was more, or that nothing waited. */
  taken: number;
  since: number;
  large: Set<ServerResponse>;
}

export interface UnreadAnswers {
  /** Before a large answer is written: makes room for it, or throws the refusal. */
  admit(response: ServerResponse, bytes: number): void;
  close(): void;
}

/**
 * An answer stays in memory until its reader takes it, so a reader who does not is cut off. Connections on which
 * nothing waits, such as those of callers who wait for us, are left alone however long that takes, and so is a slow
 * reader who goes on reading.
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

  /** The connections on which something waits, with when each of them last took something. */
  function look(): [Socket, Connection][] {
    const now = world.clock.now();
    return [...connections].filter(([socket, connection]) => {
      const taken = takenOf(socket);
      const isWaiting = waitingOn(socket, connection) > 0;
      if (!isWaiting || taken !== connection.taken) Object.assign(connection, { taken, since: now });
      return isWaiting;
    });
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

/** An answer to one of several requests that came at once waits without a socket until its turn comes. */
function waitingOn(socket: Socket, { large }: Connection): number {
  let bytes = socket.writableLength;
  for (const response of large) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}

/**
 * `bytesWritten` counts a buffer of megabytes as soon as it is handed over, and would show no progress until the whole
 * of it is gone; the handle knows how much of it is still to be taken, and node's own socket timeout asks it as well. Of an
 * answer of 22 MB the public figures show nothing before its reader has taken 15 MB: who reads less than 500 KB a second
 * would be cut off while reading.
 */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null;
  };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
