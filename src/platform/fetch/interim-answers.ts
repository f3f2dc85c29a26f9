import type { Socket } from 'node:net';

/** Why what stands on the wire is no answer that we take. */
export type InterimWrong = 'upgrade' | 'interim' | 'endless';

const INTERIM_MAX = 16;
/** Headers, a body as far as anybody reads it, and the framing around very small chunks. */
const WIRE_BYTES_MAX = 131_072;
/** An interim answer says a few words; this is far more. */
const INTERIM_BYTES_MAX = 8192;

const CR = 13;
const LF = 10;
const NONE = Buffer.alloc(0);

/**
 * RFC 9110 §15.2: any number of interim answers may come before the final one, asked for or not. undici takes 100 for
 * the end of the connection and spends a call on each of the others, so they are taken out before it reads, and
 * counted; so is every byte, because framing such as chunk extensions or blank lines never reaches the code that reads the
 * body. Node's own `https` hands interim answers over one by one, and costs a fifth to four fifths more processor time
 * for each post; the bytes that it skips it does not show either. Requests are not pipelined: what comes after a request
 * was written answers that request.
 */
export function skipInterimAnswers(socket: Socket, fail: (wrong: InterimWrong) => void): void {
  const readOn = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let written = -1;
  let seenBytes = 0;
  let interim = 0;
  /** What has been read of the beginning of an answer, until it is known what it is; then undefined. */
  let begun: Buffer | undefined;
  const failAs = (wrong: InterimWrong): null => {
    begun = undefined;
    fail(wrong);
    return null;
  };
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = readOn(size);
      if (chunk === null) return null;
      if (socket.bytesWritten !== written) {
        written = socket.bytesWritten;
        seenBytes = interim = 0;
        begun = NONE;
      }
      seenBytes += chunk.length;
      if (seenBytes > WIRE_BYTES_MAX) return failAs('endless');
      if (begun === undefined) return chunk;
      begun = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
      for (;;) {
        begun = withoutBlankLines(begun);
        if (!mayBeInterim(begun)) {
          const answer: Buffer = begun;
          begun = undefined;
          return answer;
        }
        if (begun.length >= FORM.length && begun.toString('latin1', 9, 12) === '101') return failAs('upgrade');
        const end = begun.indexOf('\r\n\r\n');
        if (end < 0) break;
        if (++interim > INTERIM_MAX) return failAs('interim');
        begun = begun.subarray(end + 4);
      }
      if (begun.length > INTERIM_BYTES_MAX) return failAs('interim');
    }
  };
}

const FORM = 'HTTP/1.d 1dd';

/** Whether it is the beginning of an interim answer as far as it goes; nothing at all may become one. */
function mayBeInterim(begun: Buffer): boolean {
  const length = Math.min(begun.length, FORM.length);
  for (let i = 0; i < length; i++) {
    const char = String.fromCharCode(begun[i] ?? 0);
    if (FORM[i] === 'd' ? char < '0' || char > '9' : char !== FORM[i]) return false;
  }
  return true;
}

/** RFC 9112 §2.2: a robust reader passes over empty lines in front of a message. */
function withoutBlankLines(begun: Buffer): Buffer {
  let from = 0;
  while (begun[from] === CR || begun[from] === LF) from++;
  return from === 0 ? begun : begun.subarray(from);
}
