import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { World } from '../../platform/world/index.ts';

/** A slow line takes this long for the largest body; who is silent gets no more. */
const REST_MS_MAX = 30_000;
/** So many of the largest bodies are read of one refused request, and of small limits at least `REST_BYTES_MIN`. */
const REST_BODIES_MAX = 2;
const REST_BYTES_MIN = 64 * 1024 * 1024;
/** Further connections are closed at once. */
const CONNECTIONS_MAX = 64;

export interface LingeringClose {
  /** Called before a request is refused whose body is still coming: keeps its connection until the body has come. */
  begin(request: IncomingMessage): void;
  /** Reports whether nothing more of a connection is answered. */
  isLingering(socket: Socket): boolean;
  /** Closes every connection whose refusal is written. */
  close(): void;
}

/**
 * A connection that is closed with unread bytes is reset, and a client that is still sending then finds a broken pipe in place
 * of the answer. So the refusal is sent at once, and the rest of the body is read and dropped before the connection is closed: for a bounded
 * time, a bounded number of bytes and a bounded number of connections.
 */
export function createLingeringClose({ clock, config }: Pick<World, 'clock' | 'config'>): LingeringClose {
  const bytesMax = Math.max(REST_BODIES_MAX * config.http.email_body_limit_bytes, REST_BYTES_MIN);
  const lingering = new Map<Socket, () => void>();

  function begin(request: IncomingMessage): void {
    const { socket } = request;
    if (request.complete || socket.destroyed || lingering.has(socket) || lingering.size >= CONNECTIONS_MAX) return;
    const close = socket.destroySoon.bind(socket);
    let isAnswered = false;
    let isOver = false;
    let bytesLeft = bytesMax;
    const cancel = clock.timer(REST_MS_MAX, end);
    lingering.set(socket, end);
    // Node.js calls this once the answer is written.
    socket.destroySoon = () => {
      isAnswered = true;
      if (isOver) close();
    };
    socket.once('close', () => {
      cancel();
      lingering.delete(socket);
    });
    request.once('end', end).on('data', count).resume();

    function count(chunk: Buffer): void {
      bytesLeft -= chunk.length;
      if (bytesLeft < 0) end();
    }
    function end(): void {
      isOver = true;
      cancel();
      request.off('data', count);
      if (isAnswered) close();
    }
  }

  return {
    begin,
    isLingering: (socket) => lingering.has(socket),
    close() {
      for (const end of lingering.values()) end();
    },
  };
}
