import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import { pause, type Clock } from '../../platform/clock.ts';
import type { Delays, Stage } from './behaviour.ts';
import type { ReceiverState, Refusal } from './receiver-state.ts';
import type { Host } from './receivers.ts';
import type { Seen, SeenConnection, SeenMessage } from './seen.ts';

export interface Keys {
  key: string;
  cert: string;
}

export interface SessionParts {
  socket: Socket;
  host: Host;
  state: ReceiverState;
  seen: Seen;
  clock: Clock;
  number: number;
  keepContent: boolean;
  certificate(): Keys;
  /** Takes over an accepted message, with the client that delivered it. */
  onAccepted(message: SeenMessage, from: string, head: string): void;
}

const LINE_BYTES_MAX = 4096;
const CONTENT_BYTES_MAX = 100_000_000;
const HEAD_BYTES_MAX = 65_536;
const END = Buffer.from('\r\n.\r\n');
const EXTENSIONS = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'];
const SIZE_BYTES = 36_700_160;

/** Holds an SMTP dialogue with one client, as the host of a receiver would. Ends when the client does. */
export async function holdSession(parts: SessionParts): Promise<void> {
  const session = new MxSession(parts);
  try {
    await session.run();
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    session.end();
  }
}

/** The connection is over. */
class Ended extends Error {}

class MxSession {
  readonly #parts: SessionParts;
  readonly #connection: SeenConnection;
  readonly #from: string;
  readonly #over = new AbortController();
  #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #isEnded = false;
  #isReleased = false;
  #mailFrom: string | undefined;
  #recipients: string[] = [];

  constructor(parts: SessionParts) {
    const { socket, host, state, clock, number } = parts;
    this.#parts = parts;
    this.#socket = socket;
    this.#from = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    this.#connection = {
      number,
      provider: state.receiver.name,
      family: state.receiver.provider,
      host: host.name,
      from: this.#from,
      openedAt: clock.now(),
      isSecure: false,
      attempts: 0,
      messages: 0,
    };
    this.#listen(socket);
  }

  async run(): Promise<void> {
    const { seen, state } = this.#parts;
    seen.opened(this.#connection);
    const { fault, refusal } = state.opened(this.#from);
    if (fault === 'drop-at-greeting') return void this.#drop('greeting');
    if (fault === 'silence') return this.#untilEnd();
    await this.#delay('greeting_ms');
    if (refusal) {
      this.#refuse('greeting', refusal);
      return;
    }
    this.#say(`220 ${this.#parts.host.name} ${state.receiver.behaviour.greeting ?? 'ESMTP'}`);
    for (;;) {
      const line = await this.#readLine();
      if (!(await this.#obey(line))) return;
    }
  }

  /** Closes the connection and releases its place. */
  end(): void {
    this.#release();
    this.#over.abort();
    this.#socket.end();
    this.#socket.destroySoon();
  }

  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.state.closed(this.#from);
    this.#parts.seen.closed(this.#connection, this.#parts.clock.now());
  }

  /** Returns false if the dialogue is over. */
  async #obey(line: string): Promise<boolean> {
    const [verb = ''] = line.split(' ', 1);
    switch (verb.toUpperCase()) {
      case 'EHLO':
      case 'HELO':
        await this.#delay('ehlo_ms');
        this.#connection.helo = line.slice(5).trim();
        this.#reset();
        this.#say(verb.toUpperCase() === 'HELO' ? `250 ${this.#parts.host.name}` : this.#greetingLines());
        return true;
      case 'STARTTLS':
        return this.#startTls();
      case 'MAIL':
        await this.#delay('mail_ms');
        return this.#mail(line);
      case 'RCPT':
        await this.#delay('rcpt_ms');
        return this.#rcpt(line);
      case 'DATA':
        await this.#delay('data_ms');
        return this.#data();
      case 'RSET':
        this.#reset();
        this.#say('250 2.0.0 OK');
        return true;
      case 'NOOP':
        this.#say('250 2.0.0 OK');
        return true;
      case 'QUIT':
        this.#release();
        this.#say('221 2.0.0 Bye');
        return false;
      default:
        this.#say('502 5.5.1 Unrecognized command');
        return true;
    }
  }

  #greetingLines(): string {
    const { behaviour } = this.#parts.state.receiver;
    const isOffered = behaviour.tls !== 'none' && !this.#connection.isSecure;
    const lines = [
      `${this.#parts.host.name} at your service`,
      `SIZE ${behaviour.size_bytes ?? SIZE_BYTES}`,
      ...(isOffered ? ['STARTTLS'] : []),
      ...(behaviour.extensions ?? EXTENSIONS),
    ];
    return lines.map((line, at) => `250${at === lines.length - 1 ? ' ' : '-'}${line}`).join('\n');
  }

  async #startTls(): Promise<boolean> {
    const { tls } = this.#parts.state.receiver.behaviour;
    if (tls === 'none' || this.#connection.isSecure) {
      this.#say('502 5.5.1 STARTTLS is not available');
      return true;
    }
    const plain = this.#socket;
    // RFC 3207 §4.2: what came before the handshake is forgotten.
    this.#pending = Buffer.alloc(0);
    plain.removeAllListeners('data');
    this.#say('220 2.0.0 Ready to start TLS');
    if (tls === 'broken') {
      await new Promise<void>((done) => plain.once('data', () => done()).once('close', () => done()));
      this.#socket.write('this is not TLS\r\n');
      return false;
    }
    const secureContext: SecureContext = createSecureContext(this.#parts.certificate());
    const secure = new TLSSocket(plain, { isServer: true, secureContext });
    this.#socket = secure;
    const isSecured = new Promise<boolean>((done) => {
      secure.once('secure', () => done(true));
      secure.once('close', () => done(false));
    });
    this.#listen(secure);
    if (!(await isSecured)) return false;
    this.#connection.isSecure = true;
    this.#reset();
    return true;
  }

  #mail(line: string): boolean {
    const { state, seen, clock } = this.#parts;
    seen.attempted(this.#connection, clock.now());
    if (this.#mailFrom !== undefined) return this.#refuse('mail', bad('503 5.5.1 A sender was already given'));
    if (state.receiver.behaviour.tls === 'required' && !this.#connection.isSecure)
      return this.#refuse('mail', { cause: 'tls', reply: '530 5.7.0 Must issue a STARTTLS command first' });
    const address = readPath(line);
    if (address === undefined) return this.#refuse('mail', bad('501 5.5.4 Syntax error in MAIL'));
    const size = Number(/ SIZE=(\d+)/i.exec(line)?.[1] ?? 0);
    if (size > (state.receiver.behaviour.size_bytes ?? SIZE_BYTES))
      return this.#refuse('mail', bad('552 5.3.4 Message size exceeds fixed limit'));
    const refusal = state.mail(this.#from, this.#connection.messages);
    if (refusal) return this.#refuse('mail', refusal);
    this.#mailFrom = address;
    this.#say('250 2.1.0 OK');
    return true;
  }

  #rcpt(line: string): boolean {
    // Neither this nor the same at DATA is recorded: a client that pipelines cannot know that MAIL or RCPT was refused.
    if (this.#mailFrom === undefined) return this.#say('503 5.5.1 MAIL first');
    const recipient = readPath(line);
    if (!recipient?.includes('@')) return this.#refuse('rcpt', bad('501 5.1.3 Bad recipient address syntax'));
    const refusal = this.#parts.state.recipient(this.#from, this.#mailFrom, recipient);
    if (refusal) return this.#refuse('rcpt', refusal, recipient);
    this.#recipients.push(recipient);
    this.#say('250 2.1.5 OK');
    return true;
  }

  async #data(): Promise<boolean> {
    const { state, clock } = this.#parts;
    if (this.#recipients.length === 0) return this.#say('554 5.5.1 No valid recipients');
    const refusal = state.data();
    if (refusal) return this.#refuse('data', refusal);
    this.#say('354 Go ahead');
    const content = await this.#readContent(state.fault('drop-in-data') !== undefined);
    if (!content) return this.#drop('data');
    const late = state.content(this.#from);
    await this.#delay('dot_ms');
    if (late) {
      this.#reset();
      return this.#refuse('dot', late);
    }
    const isAcknowledged = state.fault('drop-after-dot') === undefined;
    const head = readHead(content);
    const message: SeenMessage = {
      at: clock.now(),
      provider: this.#connection.provider,
      host: this.#connection.host,
      connection: this.#connection.number,
      mailFrom: this.#mailFrom ?? '',
      recipients: this.#recipients,
      messageId: /^message-id:\s*(<[^>]*>)/im.exec(head)?.[1] ?? '',
      bytes: content.length,
      isSecure: this.#connection.isSecure,
      isAcknowledged,
      ...(this.#parts.keepContent ? { content: unstuff(content) } : {}),
    };
    this.#parts.seen.accepted(message, this.#connection);
    this.#parts.onAccepted(message, this.#from, head);
    this.#reset();
    if (!isAcknowledged) return this.#drop('dot');
    this.#say(`250 2.0.0 OK ${this.#connection.number}-${this.#connection.messages}`);
    return true;
  }

  #reset(): void {
    this.#mailFrom = undefined;
    this.#recipients = [];
  }

  /** Returns false if the connection ends with this reply: always at the greeting, and later with 421. */
  #refuse(stage: Stage, { cause, reply }: Refusal, recipient?: string): boolean {
    const { host } = this.#parts;
    const domain = recipient?.slice(recipient.lastIndexOf('@') + 1) ?? '';
    const text = reply
      .trimEnd()
      .replaceAll('{ip}', this.#from)
      .replaceAll('{host}', host.name)
      .replaceAll('{recipient}', recipient ?? '')
      .replaceAll('{domain}', domain);
    const isOver = stage === 'greeting' || text.startsWith('421');
    // Before the reply: the client may open another connection as soon as it has read it.
    if (isOver) this.#release();
    this.#note(stage, cause, text, recipient);
    this.#say(text);
    return !isOver;
  }

  #note(stage: Stage, cause: Refusal['cause'], reply: string, recipient?: string): void {
    this.#parts.seen.refused({
      at: this.#parts.clock.now(),
      provider: this.#connection.provider,
      host: this.#connection.host,
      connection: this.#connection.number,
      stage,
      cause,
      reply,
      ...(recipient === undefined ? {} : { recipient }),
    });
  }

  /** Cuts the connection without a reply. */
  #drop(stage: Stage): false {
    this.#note(stage, 'dropped', '');
    this.#release();
    this.#socket.destroy();
    return false;
  }

  #delay(what: keyof Delays): Promise<void> {
    const ms = this.#parts.state.receiver.behaviour.delays?.[what] ?? 0;
    return ms === 0 ? Promise.resolve() : pause(this.#parts.clock, ms, this.#over.signal);
  }

  /** Returns true: the dialogue goes on. */
  #say(text: string): true {
    if (!this.#socket.destroyed) this.#socket.write(`${text.replaceAll('\n', '\r\n')}\r\n`);
    return true;
  }

  #listen(socket: Socket): void {
    const finish = (): void => {
      if (socket !== this.#socket) return;
      this.#isEnded = true;
      this.#release();
      this.#over.abort();
      this.#wake?.();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
      this.#wake?.();
    });
    socket.on('error', () => socket.destroy());
    socket.on('end', finish);
    socket.on('close', finish);
  }

  async #more(): Promise<void> {
    if (this.#isEnded) throw new Ended();
    await new Promise<void>((done) => (this.#wake = done));
    this.#wake = undefined;
  }

  async #untilEnd(): Promise<void> {
    for (;;) await this.#more();
  }

  async #readLine(): Promise<string> {
    for (;;) {
      const end = this.#pending.indexOf('\n');
      if (end >= 0) {
        const line = this.#pending.toString('utf8', 0, end).replace(/\r$/, '');
        this.#pending = this.#pending.subarray(end + 1);
        return line;
      }
      if (this.#pending.length > LINE_BYTES_MAX) throw new Ended();
      await this.#more();
    }
  }

  /** Reads up to the final dot, still with dot-stuffing; undefined if the connection is to be cut on the way. */
  async #readContent(isCut: boolean): Promise<Buffer | undefined> {
    if (isCut) {
      if (this.#pending.length === 0) await this.#more();
      return undefined;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    // The line end of DATA itself is the first half of the end of an empty message.
    let tail: Buffer = Buffer.from('\r\n');
    for (;;) {
      const chunk = this.#pending;
      this.#pending = Buffer.alloc(0);
      const searched = Buffer.concat([tail, chunk]);
      const end = searched.indexOf(END);
      if (end >= 0) {
        const taken = end + END.length - tail.length;
        this.#pending = chunk.subarray(taken);
        const all = Buffer.concat([...chunks, chunk.subarray(0, taken)]);
        return all.subarray(0, -3);
      }
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > CONTENT_BYTES_MAX) throw new Ended();
      tail = searched.subarray(-4);
      await this.#more();
    }
  }
}

const bad = (reply: string): Refusal => ({ cause: 'protocol', reply });

/** Returns undefined if there are no angle brackets. */
const readPath = (line: string): string | undefined => /<([^<>]*)>/.exec(line)?.[1];

function readHead(content: Buffer): string {
  const end = content.indexOf('\r\n\r\n');
  return content.toString('latin1', 0, Math.min(end < 0 ? content.length : end + 2, HEAD_BYTES_MAX));
}

const unstuff = (content: Buffer): Buffer =>
  Buffer.from(content.toString('latin1').replace(/(^|\r\n)\./g, '$1'), 'latin1');
