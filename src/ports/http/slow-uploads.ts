import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { World } from '../../platform/world/index.ts';

const LOOK_MS = 10_000;
/** So far a body may fall behind `UPLOAD_BYTES_PER_SECOND`. The rest of a request that is answered already has this time in all. */
const BEHIND_MS_MAX = 120_000;
/** Slower than any line in use; 50 MiB take less than two hours. */
export const UPLOAD_BYTES_PER_SECOND = 8192;

interface Upload {
  request: IncomingMessage;
  response: ServerResponse;
  /** Bytes of the connection until the last look. */
  bytes: number;
  deadline: number;
}

/**
 * Ends requests whose body comes too slowly. Node's `requestTimeout` is switched off: it limits the whole request, and would
 * cut a large file on a slow line. Its `headersTimeout` stays.
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
   * Bytes that have come move the deadline on, to `BEHIND_MS_MAX` from now at most: a fast beginning allows no longer silence. The
   * rest of an answered request is read and dropped, and moves nothing.
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
