import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { World } from '../../platform/world.ts';
import { refuse } from '../../platform/refusal.ts';

const LOOK_MS = 10_000;
/**
 * How far a body may fall behind `UPLOAD_BYTES_PER_SECOND`. Also the total time for the remaining body of a request
 * that has its response already.
 */
const BEHIND_MS_MAX = 120_000;
/** Slower than any line in use; 50 MiB take less than two hours. */
export const UPLOAD_BYTES_PER_SECOND = 8192;

interface Upload {
  request: IncomingMessage;
  response: ServerResponse;
  /** The bytes of the connection at the last check. */
  bytes: number;
  deadline: number;
}

/**
 * Ends requests whose body arrives too slowly. Node's `requestTimeout` is switched off: it limits the whole request,
 * and would cut a large file on a slow line. Its `headersTimeout` stays.
 */
export function endSlowUploads({ clock }: Pick<World, 'clock'>, server: Server): void {
  /** A connection has one body at a time. */
  const uploads = new Map<Socket, Upload>();
  let cancel: (() => void) | undefined;
  server.requestTimeout = 0;
  server.once('close', () => cancel?.());
  server.on('request', (request, response) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    if (length === '0' && coding === undefined) return;
    const { socket } = request;
    uploads.set(socket, { request, response, bytes: socket.bytesRead, deadline: clock.now() + BEHIND_MS_MAX });
    cancel ??= clock.timer(LOOK_MS, look);
  });

  function look(): void {
    const now = clock.now();
    for (const [socket, upload] of uploads) {
      if (upload.request.complete || socket.destroyed) uploads.delete(socket);
      else if (isLate(socket, upload, now)) end(socket, upload);
    }
    cancel = uploads.size > 0 ? clock.timer(LOOK_MS, look) : undefined;
  }

  /**
   * Received bytes extend the deadline, to `BEHIND_MS_MAX` from now at most: a fast beginning does not allow a longer
   * silence. The remaining body of a request that has its response is read and dropped, and does not extend the
   * deadline.
   */
  function isLate(socket: Socket, upload: Upload, now: number): boolean {
    const earned = upload.response.writableEnded ? 0 : (socket.bytesRead - upload.bytes) / UPLOAD_BYTES_PER_SECOND;
    upload.bytes = socket.bytesRead;
    // Bytes that this server has not read yet: it is the server that is slow, so the client loses no time.
    if (upload.request.readableLength > 0) upload.deadline += LOOK_MS;
    upload.deadline = Math.min(now + BEHIND_MS_MAX, upload.deadline + earned * 1000);
    return now >= upload.deadline;
  }

  function end(socket: Socket, { response }: Upload): void {
    const tooSlow = Object.assign(new Error('the body comes too slowly'), { code: 'UPLOAD_TOO_SLOW' });
    if (response.writableEnded) socket.destroy();
    else server.emit('clientError', tooSlow, socket);
  }
}

const UNREAD_LOOK_MS = 15_000;
/** A connection that takes no byte for this long is not being read; a mobile network may be away for some seconds. */
const STALLED_MS = 30_000;
/** When the memory for responses is used up, connections that have read nothing for this long are closed first. */
const IDLE_MS = 2000;
/** Limit of all unread responses together: twenty times the largest one. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
/** Smaller responses are sent without a check. */
const LARGE_BYTES = 64 * 1024;

interface Connection {
  /** Bytes that the system had taken over from us when last some were waiting. */
  taken: number;
  /** The time when `taken` last grew, or when nothing was waiting. */
  since: number;
  large: Set<ServerResponse>;
}

interface UnreadAnswers {
  /** Makes room for a large response, or throws the refusal. Called before the response is written. */
  admit(response: ServerResponse, bytes: number): void;
  close(): void;
}

/**
 * A response stays in memory until the client has read it, so connections that stop reading are closed. Connections
 * without unread bytes, such as those of callers who wait for us, stay open for any time, and so does a slow client
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
    cancel ??= world.clock.timer(UNREAD_LOOK_MS, checkAgain);
  });

  function checkAgain(): void {
    for (const [socket, { since }] of look()) if (world.clock.now() - since >= STALLED_MS) socket.destroy();
    cancel = connections.size > 0 ? world.clock.timer(UNREAD_LOOK_MS, checkAgain) : undefined;
  }

  /** The connections with unread bytes, and when each of them last took some. */
  function look(): [Socket, Connection][] {
    const now = world.clock.now();
    const waiting: [Socket, Connection][] = [];
    for (const [socket, connection] of connections) {
      const isWaiting = waitingOn(socket, connection) > 0;
      const taken = isWaiting ? countTakenBytes(socket) : connection.taken;
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
          say: 'Too many large responses are waiting to be read; try again in a few seconds.',
        });
      }
      const connection = response.req.socket && connections.get(response.req.socket);
      connection?.large.add(response);
      response.once('finish', () => connection?.large.delete(response));
    },
    close: () => cancel?.(),
  };
}

/** With pipelined requests, a response has no socket until those before it are sent. */
function waitingOn(socket: Socket, { large }: Connection): number {
  let bytes = socket.writableLength;
  for (const response of large) if (response.socket === null) bytes += response.writableLength;
  return bytes;
}

/**
 * `bytesWritten` counts a buffer of megabytes as soon as it is handed over, and would show no progress until all of it
 * is gone; the handle knows how much of it is still unsent, and Node's own socket timeout asks it as well. For a
 * response of 22 MB the public figures show nothing before the client has read 15 MB: a client that reads less than 500
 * KB a second would be cut off while reading.
 */
function countTakenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null;
  };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/** A slow line takes this long for the largest body; a silent client gets no more. */
const REST_MS_MAX = 30_000;
/**
 * The limit for the body of a refused request, as a multiple of the largest one; at least `REST_BYTES_MIN` if limits
 * are small.
 */
const REST_BODIES_MAX = 2;
const REST_BYTES_MIN = 64 * 1024 * 1024;
/** Further connections are closed at once. */
const CONNECTIONS_MAX = 64;

export interface LingeringClose {
  /** Keeps the connection of a refused request until its body has arrived. Called before the refusal is sent. */
  begin(request: IncomingMessage): void;
  /** Reports whether no further request of a connection gets a response. */
  isLingering(socket: Socket): boolean;
  /** Closes every connection whose refusal is written. */
  close(): void;
}

/**
 * A connection that is closed with unread bytes is reset, and a client that is still sending then finds a broken pipe
 * in place of the response. So the refusal is sent at once, and the remaining body is read and dropped before the
 * connection is closed: for a bounded time, a bounded number of bytes and a bounded number of connections.
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
    // Node.js calls this once the response is written.
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

interface LastAnswers {
  /** Registers a request. Called for every request before it gets a response. */
  note(request: IncomingMessage, response: ServerResponse): void;
  /** Makes every response from now on end its connection, including those under way. */
  begin(): void;
}

/**
 * A server that closes ends the connections that are idle at that moment. A connection with a response under way would
 * then be kept for the client's next request, and the stop would wait for it until the grace period is over.
 */
export function createLastAnswers(): LastAnswers {
  const underWay = new Map<ServerResponse, IncomingMessage>();
  let isClosing = false;
  const end = (request: IncomingMessage, response: ServerResponse): void => {
    if (!response.headersSent) response.shouldKeepAlive = false;
    else response.once('finish', () => request.socket.destroySoon());
  };
  return {
    note(request, response) {
      if (isClosing) return end(request, response);
      underWay.set(response, request);
      response.once('close', () => underWay.delete(response));
    },
    begin() {
      isClosing = true;
      for (const [response, request] of underWay) end(request, response);
    },
  };
}
