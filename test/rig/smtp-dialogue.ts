import net from 'node:net';
import tls from 'node:tls';

/** A client that sends exactly what it is told to, byte for byte, and reads whole replies. */
export interface Dialogue {
  /** Sends a line, or bytes as they are, and returns the reply. */
  say(line: string | Buffer): Promise<string>;
  /** Sends without waiting. */
  send(bytes: string | Buffer): void;
  /** Sends much content; resolves when the socket has taken it. */
  flow(bytes: Buffer): Promise<void>;
  /** Returns the next reply, its lines joined by line breaks; `closed` once the connection has ended. */
  hear(): Promise<string>;
  startTls(): Promise<void>;
  end(): void;
  isOpen(): boolean;
}

export async function openDialogue(port: number, host = '127.0.0.1', from?: string): Promise<Dialogue> {
  let socket: net.Socket = net.connect({ port, host, ...(from && { localAddress: from }) });
  let held = '';
  let isClosed = false;
  const replies: string[] = [];
  const waiting: ((reply: string) => void)[] = [];
  const tell = (reply: string): void => {
    const next = waiting.shift();
    if (next) next(reply);
    else replies.push(reply);
  };
  const listen = (to: net.Socket): void => {
    to.setNoDelay(true);
    to.on('data', (bytes: Buffer) => {
      held += bytes.toString('utf8');
      for (let found = REPLY.exec(held); found; found = REPLY.exec(held)) {
        held = held.slice(found[0].length);
        tell(found[0].trimEnd().replaceAll('\r\n', '\n'));
      }
    });
    to.on('error', () => undefined);
    to.on('close', () => {
      if (isClosed || to !== socket) return;
      isClosed = true;
      for (const one of waiting.splice(0)) one('closed');
    });
  };
  listen(socket);
  const dialogue: Dialogue = {
    send: (bytes) => void socket.write(bytes),
    flow: (bytes) => new Promise((taken, fail) => socket.write(bytes, (error) => (error ? fail(error) : taken()))),
    hear: () =>
      new Promise((resolve) => {
        const reply = replies.shift();
        if (reply !== undefined) resolve(reply);
        else if (isClosed) resolve('closed');
        else waiting.push(resolve);
      }),
    say(line) {
      socket.write(typeof line === 'string' ? `${line}\r\n` : line);
      return dialogue.hear();
    },
    async startTls() {
      const plain = socket;
      plain.removeAllListeners('data').removeAllListeners('close');
      const secure = tls.connect({ socket: plain, rejectUnauthorized: false });
      socket = secure;
      await new Promise<void>((resolve, reject) => secure.once('secureConnect', resolve).once('error', reject));
      listen(secure);
    },
    end: () => void socket.destroy(),
    isOpen: () => !isClosed,
  };
  return dialogue;
}

const REPLY = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\r?\n/;
