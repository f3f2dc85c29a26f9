import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { EVERY_ANSWER_HAS, type AnyBody } from './api.ts';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
  body: AnyBody;
}

export interface RawConnection {
  socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** Returns the next whole answer, which must have the headers of every answer. `isHead` expects no body. */
  answer(isHead?: boolean): Promise<RawAnswer>;
  /** Resolves when the peer has closed, with the bytes after the last answer that was read. */
  closed(): Promise<string>;
}

/** Sends HTTP by hand, for requests that no client would send. */
export async function connectRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((done, fail) => socket.once('connect', done).once('error', fail));
  let buffer = Buffer.alloc(0);
  let isClosed = false;
  let stir = (): void => undefined;
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    stir();
  });
  // A peer that closes while we still write causes a reset; what it sent before counts.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    stir();
  });
  const next = (): Promise<void> => new Promise((done) => (stir = done));
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    async answer(isHead = false) {
      for (;;) {
        const taken = takeAnswer(buffer, isHead);
        if (taken) {
          buffer = buffer.subarray(taken.length);
          for (const name of EVERY_ANSWER_HAS) expect(taken.answer.headers).toHaveProperty(name);
          return taken.answer;
        }
        if (isClosed) throw new Error(`closed before a whole answer: ${buffer.toString('latin1')}`);
        await next();
      }
    },
    async closed() {
      while (!isClosed) await next();
      return buffer.toString('latin1');
    },
  };
}

function takeAnswer(bytes: Buffer, isHead: boolean): { answer: RawAnswer; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  // 100 Continue is no answer yet.
  if (status === 100) {
    const later = takeAnswer(bytes.subarray(end + 4), isHead);
    return later && { ...later, length: later.length + end + 4 };
  }
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const size = isHead ? 0 : Number(headers['content-length'] ?? 0);
  if (bytes.length < end + 4 + size) return undefined;
  const text = bytes.subarray(end + 4, end + 4 + size).toString('utf8');
  const isJson = headers['content-type']?.startsWith('application/json') === true && text !== '';
  return { answer: { status, headers, text, body: isJson ? JSON.parse(text) : text }, length: end + 4 + size };
}
