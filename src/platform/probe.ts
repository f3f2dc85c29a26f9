import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readTime, timeRequest } from '../protocol/sntp.ts';

export type Greeting =
  | { kind: 'greeted'; line: string }
  /** Connected, but the server sends nothing. */
  | { kind: 'silent' }
  | { kind: 'failed'; code: string };

interface Place {
  address: string;
  port: number;
  /** The local address to connect from; the system chooses one if it is not set. */
  from?: string | undefined;
}

/** A greeting is a few lines; anything longer is not one. */
const GREETING_BYTES_MAX = 4096;

/** Reads the first line that a mail server sends, and sends no more than a QUIT before it disconnects. */
export function readGreeting({ address, port, from }: Place, signal: AbortSignal): Promise<Greeting> {
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

/** Reports whether a connection can be made at all. */
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

/**
 * Addresses reserved for documentation (RFC 5737, RFC 3849): nothing is sent to them, but they are routed like the
 * internet.
 */
const OUTSIDE = { 4: '192.0.2.1', 6: '2001:db8::1' };

/** Returns the local address of connections to the internet; undefined without a route. Nothing is sent. */
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

/** Returns a time server's time in milliseconds; undefined if it sends nothing usable before the signal aborts. */
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
    // On a connected socket, the system drops packets from anybody else.
    socket.connect(port, address, (error?: Error) => {
      if (error) end(undefined);
      else socket.send(timeRequest(mark));
    });
  });
}
