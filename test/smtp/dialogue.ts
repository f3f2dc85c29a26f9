import net from 'node:net';
import tls from 'node:tls';
import type { Scene } from '../rig/scene.ts';

export type Way = 'plain' | 'starttls' | 'tls';

/** One connection of a client that says exactly what it is told to. */
export class Dialogue {
  /** Everything said so far, for reading a failure. */
  readonly transcript: string[] = [];
  #socket: net.Socket;
  #text = '';
  #waiting: (() => void) | undefined;
  #isOver = false;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    this.#listen();
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('utf8');
      this.#waiting?.();
    });
    const over = (): void => {
      this.#isOver = true;
      this.#waiting?.();
    };
    this.#socket.on('error', over).on('close', over).on('end', over);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(text: string | Buffer): void {
    const shown = text.toString('latin1');
    this.transcript.push(`C: ${JSON.stringify(shown.length > 300 ? `${shown.slice(0, 300)}…` : shown)}`);
    this.#socket.write(text);
  }

  /** The same for much content: resolves when the socket has taken it, and leaves it out of the transcript. */
  flow(content: Buffer): Promise<void> {
    return new Promise((taken, fail) => this.#socket.write(content, (error) => (error ? fail(error) : taken())));
  }

  /** The next line of the server; '' when it has hung up. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#text.indexOf('\r\n');
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        this.transcript.push(`S: ${line}`);
        return line;
      }
      if (this.#isOver) return '';
      await new Promise<void>((heard) => (this.#waiting = heard));
    }
  }

  /** All lines of the next reply. */
  async reply(): Promise<string[]> {
    const lines: string[] = [];
    for (let line = await this.line(); line !== ''; line = await this.line()) {
      lines.push(line);
      if (line[3] !== '-') break;
    }
    return lines;
  }

  async say(line: string): Promise<string> {
    this.send(`${line}\r\n`);
    return (await this.reply()).join('\n');
  }

  /** Encrypts what follows. */
  async upgrade(): Promise<void> {
    this.#socket.removeAllListeners();
    const socket = tls.connect({ socket: this.#socket, rejectUnauthorized: false });
    await new Promise<void>((done, fail) => socket.once('secureConnect', done).once('error', fail));
    this.#socket = socket;
    this.#listen();
  }

  /** Resolves when the other side has hung up. */
  async over(): Promise<void> {
    while (!this.#isOver) await new Promise<void>((heard) => (this.#waiting = heard));
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** Connects to any port of this machine, with TLS from the first byte; returns undefined where nobody is there. */
export function connectTo(port: number): Promise<Dialogue | undefined> {
  return new Promise((done) => {
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    const dialogue = new Dialogue(socket);
    socket
      .once('secureConnect', () => done(dialogue))
      .once('error', () => done(undefined))
      .once('close', () => done(undefined));
  });
}

export function findPort(scene: Scene, way: Way): number {
  const wanted = way === 'tls' ? 'implicit' : 'starttls';
  const found = scene.app.smtp?.listening.find(
    ({ tls: kind, doors }) => kind === wanted && doors.includes('submission'),
  );
  if (!found) throw new Error(`no port for ${way} is open`);
  return found.port;
}

/** Connected, greeted, and encrypted where the way is. */
export async function connect(scene: Scene, way: Way, before = ''): Promise<Dialogue> {
  const port = findPort(scene, way);
  const socket =
    way === 'tls'
      ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : net.connect({ port, host: '127.0.0.1' });
  const dialogue = new Dialogue(socket);
  if (before !== '') dialogue.send(before);
  await dialogue.line();
  if (way !== 'starttls') return dialogue;
  await dialogue.say('EHLO client.example');
  await dialogue.say('STARTTLS');
  await dialogue.upgrade();
  return dialogue;
}

export const plainToken = (key: string, user = 'rasket', actsFor = ''): string =>
  Buffer.from(`${actsFor}\0${user}\0${key}`).toString('base64');

export async function logIn(dialogue: Dialogue, key: string, user = 'rasket'): Promise<string> {
  await dialogue.say('EHLO client.example');
  return dialogue.say(`AUTH PLAIN ${plainToken(key, user)}`);
}

/** A whole transaction; answers the reply to its end. */
export async function submit(
  dialogue: Dialogue,
  { from, to, content }: { from: string; to: string[]; content: string | Buffer },
): Promise<string> {
  await dialogue.say(`MAIL FROM:<${from}>`);
  for (const address of to) await dialogue.say(`RCPT TO:<${address}>`);
  const go = await dialogue.say('DATA');
  if (!go.startsWith('354')) return go;
  dialogue.send(content);
  dialogue.send('.\r\n');
  return (await dialogue.reply()).join('\n');
}

/** Replays lines that begin with `C: ` and `S: `; `…` in what the server says stands for anything. */
export async function replay(dialogue: Dialogue, script: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const line of script.split('\n')) {
    const text = line.trimStart();
    if (text.startsWith('C: ')) dialogue.send(`${text.slice(3)}\r\n`);
    else if (text === 'C:') dialogue.send('\r\n');
    else if (text === 'S: (hangs up)') await dialogue.over();
    else if (text.startsWith('S: ')) {
      const said = await dialogue.line();
      if (!pattern(text.slice(3)).test(said)) wrong.push(`expected ${text}`);
    } else if (text !== '') throw new Error(`neither side says this: ${text}`);
  }
  return wrong.length === 0 ? [] : [...wrong, ...dialogue.transcript];
}

const pattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'u',
  );
