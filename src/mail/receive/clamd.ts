import net from 'node:net';
import type { Clock } from '../../platform/clock/index.ts';

export interface ClamdOptions {
  host: string;
  port: number;
  clock: Clock;
  timeoutMs: number;
}

const CHUNK_BYTES = 256 * 1024;
const ANSWER_BYTES_MAX = 4096;

/** Asks clamd (INSTREAM): the name of the virus, or undefined where it finds none. Rejects when it gives no answer. */
export function scan(raw: Buffer, { host, port, clock, timeoutMs }: ClamdOptions): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, host);
    let said = '';
    const end = (error: Error | undefined, virus?: string): void => {
      stop();
      socket.destroy();
      if (error) reject(error);
      else resolve(virus);
    };
    const stop = clock.timer(timeoutMs, () => end(new Error(`clamd gave no answer in ${timeoutMs / 1000} s`)));
    socket.on('error', (error) => end(error));
    socket.on('close', () => end(new Error(`clamd ended the connection: ${said.slice(0, 200)}`)));
    socket.on('data', (piece: Buffer) => {
      said += piece.toString('latin1');
      if (said.length > ANSWER_BYTES_MAX) return end(new Error('clamd says too much'));
      const [answer, ...rest] = said.split('\0');
      if (rest.length === 0) return undefined;
      const virus = /^stream: (.+) FOUND$/.exec(answer ?? '')?.[1];
      const isClean = answer === 'stream: OK';
      return end(isClean || virus !== undefined ? undefined : new Error(`clamd says: ${answer ?? ''}`), virus);
    });
    // clamd may answer and close before it has read everything.
    socket.write('zINSTREAM\0');
    for (let at = 0; at < raw.length; at += CHUNK_BYTES) {
      const chunk = raw.subarray(at, at + CHUNK_BYTES);
      socket.write(lengthOf(chunk.length));
      socket.write(chunk);
    }
    socket.write(lengthOf(0));
  });
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}
