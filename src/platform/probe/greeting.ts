import { connect } from 'node:net';

export type Greeting =
  | { kind: 'greeted'; line: string }
  /** The connection is there, and nothing is said. */
  | { kind: 'silent' }
  | { kind: 'failed'; code: string };

export interface Place {
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
