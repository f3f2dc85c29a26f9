import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readTime, timeRequest } from '../protocol/sntp.ts';

export type Greeting =
  | { kind: 'greeted'; line: string }
  /** The connection is there, and nothing is said. */
  | { kind: 'silent' }
  | { kind: 'failed'; code: string };

interface Place {
  address: string;
  port: number;
  /** The address to connect from; the system chooses where none is given. */
  from?: string | undefined;
}

/** A greeting is a line or some; what is longer is none. */
const GREETING_BYTES_MAX = 4096;

/** The first line that a mail server says, and no more: a QUIT is left behind, as a client that was called off would. */
export function greetingOf({ address, port, from }: Place, signal: AbortSignal): Promise<Greeting> {
  return new Promise((resolve) => {
    let isConnected = false;
    let said = '';
    const socket = connect({ host: address, port, ...(from === undefined ? {} : { localAddress: from }) });
    const end = (greeting: Greeting): void => {
      signal.removeEventListener('abort', late);
      socket.removeAllListeners('error').on('error', () => undefined);
      if (greeting.kind === 'greeted') socket.end('QUIT\r\n');
      socket.destroySoon();
      resolve(greeting);
    };
    const late = (): void => {
      end(isConnected ? { kind: 'silent' } : { kind: 'failed', code: 'ETIMEDOUT' });
      socket.destroy();
    };
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    socket.on('connect', () => (isConnected = true));
    socket.on('error', ({ code }: NodeJS.ErrnoException) => end({ kind: 'failed', code: code ?? 'unknown' }));
    socket.on('end', () => end({ kind: 'failed', code: 'closed' }));
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
      const [line = '', ...more] = said.split('\n');
      if (more.length > 0 || said.length > GREETING_BYTES_MAX) {
        end({ kind: 'greeted', line: line.replaceAll(/[^\x20-\x7e]/g, '').slice(0, 200) });
      }
    });
  });
}

/** Whether a connection can be made at all. */
export function mayConnect({ address, port }: Place, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    const end = (is: boolean): void => {
      signal.removeEventListener('abort', late);
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.destroy();
      resolve(is);
    };
    const late = (): void => end(false);
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

/** Addresses that are kept for documentation (RFC 5737, RFC 3849): nothing is sent there, and the way out leads to them. */
const OUTSIDE = { 4: '192.0.2.1', 6: '2001:db8::1' };

/** The address that this machine would speak from to the world; undefined where no way leads there. Nothing is sent. */
export function localAddress(family: 4 | 6): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    const end = (address: string | undefined): void => {
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      resolve(address);
    };
    socket.on('error', () => end(undefined));
    socket.connect(9, OUTSIDE[family], (error?: Error) => end(error ? undefined : socket.address().address));
  });
}

/** What a time server says, in milliseconds; undefined where it says nothing that can be used until the signal ends. */
export function askTime(
  { address, port }: { address: string; port: number },
  signal: AbortSignal,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const mark = randomBytes(8);
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const end = (time: number | undefined): void => {
      signal.removeEventListener('abort', late);
      socket.removeAllListeners('message');
      socket.removeAllListeners('error').on('error', () => undefined);
      socket.close();
      resolve(time);
    };
    const late = (): void => end(undefined);
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    socket.on('error', () => end(undefined));
    socket.on('message', (reply) => {
      const time = readTime(reply, mark);
      if (time !== undefined) end(time);
    });
    // Connected, the system drops what comes from anybody else.
    socket.connect(port, address, (error?: Error) => {
      if (error) end(undefined);
      else socket.send(timeRequest(mark));
    });
  });
}
