import type { Socket } from 'node:net';
import { refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { errorBody, rateHeaders } from './answers.ts';
import type { RateState } from './rate-limit.ts';
import { UPLOAD_BYTES_PER_SECOND } from './slow-uploads.ts';

/**
 * Answers bytes that are not a complete HTTP request, in the form of every other answer, and closes the connection: it
 * is unknown where such a request ends and the next begins.
 */
export function createBrokenRequests(
  world: World,
  { rateOf, isAnswered }: { rateOf(address: string): RateState; isAnswered(socket: Socket): boolean },
): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const code = String((error as { code?: unknown }).code);
    if (code === 'ECONNRESET' || !socket.writable || isBeingAnswered(socket) || isAnswered(socket)) {
      socket.destroy();
      return;
    }
    const requestId = world.ids.uuid();
    world.log.info({ code, requestId }, 'request could not be read');
    const refusal = refusalOf(code);
    const body = JSON.stringify(errorBody(refusal));
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...rateHeaders(rateOf(socket.remoteAddress ?? '')),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${refusal.status} Bad Request\r\n${lines.join('')}\r\n${body}`);
  };
}

/** A second answer in the middle of the first would be read as part of it. */
const isBeingAnswered = (socket: Socket): boolean =>
  (socket as { _httpMessage?: { headersSent: boolean } | null })._httpMessage?.headersSent === true;

function refusalOf(code: string): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return badRequest('The request line and the headers may have at most 16 KB together.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return badRequest('The chunks of the request body carry too many extensions.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return badRequest('The headers of the request did not arrive in time.');
    case 'UPLOAD_TOO_SLOW':
      return badRequest(
        `The body comes too slowly; at least ${UPLOAD_BYTES_PER_SECOND / 1024} KB a second are needed.`,
      );
    default:
      return badRequest('The request is not valid HTTP/1.1.');
  }
}

const badRequest = (say: string): Refusal => refuse('validation_error', { status: 400, say });
