import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { serveLogin, SINK_MECHANISMS, type SinkLogin } from './sink-login.ts';
import { parseFault } from './sink-faults.ts';
import type { Fault, FaultPhase } from './sink-faults.ts';
import type { Sink, SinkMessage, SinkOptions } from './sink-options.ts';

/** The state that the sessions of one sink share. */
export interface Shared {
  options: SinkOptions;
  sink: Sink;
  contentAllowance: number;
  seenOnce: Set<string>;
  leave: (session: SinkSession) => void;
  gate: (go: () => void) => void;
  stir: () => void;
}

const END = Buffer.from('\r\n.\r\n');
const EMPTY: Buffer = Buffer.alloc(0);

/** One connection, handled by the sink's options and by the addresses it is given. */
export class SinkSession {
  #socket: Socket;
  #shared: Shared;
  readonly #peer: string;
  #number: number;
  #pending: Buffer = EMPTY;
  /** Content so far, while in DATA, and its last bytes. */
  #content: Buffer[] | undefined;
  #tail: Buffer = EMPTY;
  #isHeld = false;
  #isSecure = false;
  #login: SinkLogin | undefined;
  #isLoggedIn = false;
  #mailFrom: string | undefined;
  #rcptTo: string[] = [];
  #faults: Fault[] = [];
  #messages = 0;
  #output = '';
  #allowance: number;

  constructor(socket: Socket, shared: Shared, number: number) {
    this.#socket = socket;
    this.#shared = shared;
    this.#number = number;
    this.#peer = socket.remoteAddress ?? '';
    this.#allowance = shared.contentAllowance;
    if (shared.options.tls === 'implicit') this.#secure(socket);
    else this.#listen(socket);
    const { greeting } = shared.options;
    if (greeting === 'drop') this.#drop();
    else if (greeting !== 'silent') this.#say(greeting ?? '220 sink.test ESMTP');
    this.#flush();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  end(): void {
    this.#socket.end();
  }

  readOn(contentBytes: number): void {
    this.#allowance = contentBytes;
    this.#socket.resume();
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#shared.leave(this));
  }

  #receive(chunk: Buffer): void {
    if (this.#content) {
      this.#shared.sink.contentBytes += chunk.length;
      this.#allowance -= chunk.length;
      if (this.#allowance <= 0) this.#socket.pause();
    }
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#work();
  }

  #work(): void {
    while (!this.#isHeld && this.#pending.length > 0) {
      if (!(this.#content ? this.#takeContent() : this.#takeCommand())) break;
    }
    this.#flush();
    this.#shared.stir();
  }

  #takeCommand(): boolean {
    const end = this.#pending.indexOf(10);
    if (end === -1) return false;
    const line = this.#pending.toString('utf8', 0, end).trimEnd();
    this.#pending = this.#pending.subarray(end + 1);
    const isLast = this.#pending.length === 0;
    if (!isLast && this.#shared.options.pipelining === false) this.#shared.sink.counts.tooEarly += 1;
    if (this.#shared.options.keep !== false) this.#shared.sink.commands.push(line);
    if (this.#shared.options.stopReadingAt === line) this.#socket.pause();
    const scripted = this.#shared.options.script?.(line, {
      messages: this.#messages,
      number: this.#number,
      peer: this.#peer,
    });
    if (scripted === 'drop') this.#drop();
    else if (scripted === undefined && this.#login) this.#goOn(line);
    else if (scripted === 'hang') this.#isHeld = true;
    else if (scripted !== undefined) this.#say(scripted);
    else this.#obey(line);
    return true;
  }

  #obey(line: string): void {
    const { counts } = this.#shared.sink;
    switch (line.slice(0, 4).toUpperCase()) {
      case 'EHLO':
        counts.ehlo += 1;
        return this.#sayHello();
      case 'HELO':
        counts.helo += 1;
        return this.#say('250 sink.test');
      case 'STAR':
        counts.starttls += 1;
        return this.#startTls();
      case 'AUTH':
        counts.auth += 1;
        return this.#beginLogin(line);
      case 'MAIL':
        counts.mail += 1;
        if (this.#shared.options.auth && !this.#isLoggedIn) return this.#say('530 5.7.0 Authentication required');
        return this.#mail(line);
      case 'RCPT':
        counts.rcpt += 1;
        return this.#rcpt(line);
      case 'DATA':
        counts.data += 1;
        return this.#data();
      case 'RSET':
        counts.rset += 1;
        this.#reset();
        return this.#say('250 2.0.0 Reset');
      case 'QUIT':
        counts.quit += 1;
        this.#say('221 2.0.0 Bye');
        this.#flush();
        return void this.#socket.end();
      default:
        return this.#say('500 5.5.2 Unknown command');
    }
  }

  #sayHello(): void {
    const { options } = this.#shared;
    if (options.ehlo === false) return this.#say('502 5.5.1 Not implemented');
    const lines = ['sink.test'];
    if (options.pipelining !== false) lines.push('PIPELINING');
    const isTls = options.tls !== undefined && options.tls !== 'none' && options.tls !== 'implicit';
    if (options.auth && (this.#isSecure || options.tls === undefined))
      lines.push(`AUTH ${(options.auth.mechanisms ?? SINK_MECHANISMS).join(' ')}`);
    if (isTls && !this.#isSecure) lines.push('STARTTLS');
    if (options.size) lines.push(`SIZE ${options.size}`);
    if (options.smtpUtf8) lines.push('SMTPUTF8');
    lines.push(...(options.extensions ?? []));
    lines.push('8BITMIME', 'ENHANCEDSTATUSCODES');
    this.#say(lines.map((line, index) => `250${index === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n'));
  }

  #startTls(): void {
    const { options } = this.#shared;
    if (options.tls === 'refused') return this.#say('454 4.7.0 TLS not available');
    this.#say('220 2.0.0 Go ahead');
    if (options.tls === 'injected') this.#say('250 2.0.0 Injected');
    this.#flush();
    const plain = this.#socket;
    plain.removeAllListeners('data');
    if (options.tls === 'broken-handshake') {
      plain.once('data', () => plain.end('this is not TLS\r\n'));
      return;
    }
    this.#pending = EMPTY;
    this.#secure(plain);
  }

  #secure(plain: Socket): void {
    const { sink } = this.#shared;
    plain.on('error', () => plain.destroy());
    const secure = new TLSSocket(plain, { isServer: true, secureContext: createSecureContext(sink.certificate) });
    this.#socket = secure;
    this.#listen(secure);
    secure.once('secure', () => {
      this.#isSecure = true;
      sink.counts.secured += 1;
    });
  }

  #beginLogin(line: string): void {
    const { auth } = this.#shared.options;
    if (!auth) return this.#say('502 5.5.1 Not implemented');
    this.#login = serveLogin(line, auth);
    this.#goOn('');
  }

  /** Passes the client's line to the login, and sends its answer. */
  #goOn(said: string): void {
    const { sink, options } = this.#shared;
    const step = this.#login?.next(said);
    if (step === undefined) return;
    if (step.done !== true) return this.#say(`334 ${step.value}`);
    this.#login = undefined;
    const { mechanism, isRight } = step.value;
    const { auth } = options;
    const isAnswered = auth?.answer !== undefined && sink.counts.auth <= (auth.answers ?? Infinity);
    if (isAnswered) return this.#say(auth.answer ?? '');
    if (!isRight) return this.#say('535 5.7.8 Authentication failed');
    this.#isLoggedIn = true;
    sink.logins.push(mechanism);
    this.#say('235 2.7.0 Authentication successful');
  }

  #mail(line: string): void {
    const { options } = this.#shared;
    if (options.messagesPerConnection !== undefined && this.#messages >= options.messagesPerConnection) {
      this.#say('421 4.7.0 Enough messages on this connection');
      this.#flush();
      return void this.#socket.end();
    }
    if (this.#mailFrom !== undefined) return this.#say('503 5.5.1 A sender was already given');
    const address = extractPath(line);
    const declared = Number(/ SIZE=(\d+)/i.exec(line)?.[1] ?? 0);
    if (options.size && declared > options.size) return this.#refuse('552 5.3.4 Message too big');
    const fault = parseFault(address, 'mail');
    if (fault?.phase === 'mail') return this.#fail(fault, address);
    this.#mailFrom = address;
    if (fault) this.#faults.push(fault);
    this.#say('250 2.1.0 Ok');
  }

  #rcpt(line: string): void {
    if (this.#mailFrom === undefined) return this.#refuse('503 5.5.1 Give a sender first');
    const address = extractPath(line);
    const fault = parseFault(address, 'rcpt');
    if (fault?.phase === 'rcpt') return this.#fail(fault, address, () => this.#takeRecipient(address));
    if (fault) this.#faults.push(fault);
    this.#takeRecipient(address);
  }

  #takeRecipient(address: string): void {
    this.#rcptTo.push(address);
    this.#say('250 2.1.5 Ok');
  }

  #data(): void {
    if (this.#rcptTo.length === 0 && !this.#shared.options.lenientData) {
      return this.#refuse('554 5.5.1 No valid recipients');
    }
    const fault = this.#faultAt('data');
    if (fault) return this.#fail(fault, this.#rcptTo[0] ?? '');
    this.#content = [];
    this.#tail = Buffer.from('\r\n');
    this.#say('354 Go ahead');
  }

  #takeContent(): boolean {
    const chunk = this.#pending;
    this.#pending = EMPTY;
    if (this.#faultAt('in-data')) {
      this.#drop();
      return false;
    }
    // The end may straddle chunks, and the line end of DATA itself counts as the first half of an empty message's end.
    const searched = Buffer.concat([this.#tail, chunk]);
    const end = searched.indexOf(END);
    if (end === -1) {
      this.#content?.push(chunk);
      this.#tail = searched.subarray(-4);
      return true;
    }
    const taken = end + END.length - this.#tail.length;
    const content = [...(this.#content ?? []), chunk.subarray(0, taken)];
    this.#pending = chunk.subarray(taken);
    this.#content = undefined;
    this.#finish(content);
    return true;
  }

  #finish(content: Buffer[]): void {
    if (this.#rcptTo.length === 0) {
      this.#reset();
      return this.#refuse('554 5.5.1 No valid recipients');
    }
    if (this.#shared.options.refuseContent !== undefined) {
      this.#reset();
      return this.#refuse(this.#shared.options.refuseContent);
    }
    this.#shared.options.onContent?.(unstuffed(Buffer.concat(content).subarray(0, -3)));
    const fault = this.#faultAt('dot');
    if (!fault) return this.#accept(content);
    this.#fail(fault, this.#rcptTo[0] ?? '', () => this.#accept(content));
    if (fault.act !== 'gate') this.#reset();
  }

  #accept(content: Buffer[]): void {
    const { sink, options } = this.#shared;
    this.#messages += 1;
    sink.counts.accepted += 1;
    if (options.keep !== false || options.onMessage) {
      const message: SinkMessage = {
        mailFrom: this.#mailFrom ?? '',
        rcptTo: this.#rcptTo,
        data: unstuffed(Buffer.concat(content).subarray(0, -3)),
        tls: this.#isSecure,
        connection: this.#number,
        peer: this.#peer,
        at: Date.now(),
      };
      if (options.keep !== false) sink.messages.push(message);
      options.onMessage?.(message);
    }
    this.#reset();
    this.#say('250 2.0.0 Taken');
  }

  #reset(): void {
    this.#mailFrom = undefined;
    this.#rcptTo = [];
    if (this.#faults.length > 0) this.#faults = [];
  }

  #faultAt(phase: FaultPhase): Fault | undefined {
    return this.#faults.length === 0 ? undefined : this.#faults.find((fault) => fault.phase === phase);
  }

  #fail(fault: Fault, address: string, otherwise?: () => void): void {
    if (fault.act === 'drop') return this.#drop();
    if (fault.act === 'hang') {
      this.#isHeld = true;
      return;
    }
    if (fault.act === 'gate') return this.#hold(otherwise);
    if (fault.isOnce) {
      if (this.#shared.seenOnce.has(address)) return otherwise?.();
      this.#shared.seenOnce.add(address);
    }
    this.#refuse(fault.reply ?? '451 4.3.0 Try again later');
    if (fault.reply?.startsWith('421')) {
      this.#flush();
      this.#socket.end();
    }
  }

  #hold(then: (() => void) | undefined): void {
    this.#isHeld = true;
    this.#shared.gate(() => {
      this.#isHeld = false;
      then?.();
      this.#work();
    });
  }

  #refuse(reply: string): void {
    this.#shared.sink.counts.refused += 1;
    this.#say(reply);
  }

  #drop(): void {
    this.#shared.sink.counts.dropped += 1;
    this.#isHeld = true;
    this.#flush();
    this.#socket.end();
    this.#socket.destroySoon();
  }

  #say(reply: string): void {
    if (this.#shared.options.multiLine && !reply.includes('\r\n') && !reply.startsWith('354')) {
      this.#output += `${reply.slice(0, 3)}-${reply.slice(4)}\r\n${reply.slice(0, 3)} (end)\r\n`;
    } else this.#output += `${reply}\r\n`;
  }

  #flush(): void {
    if (this.#output === '' || this.#socket.destroyed) return;
    const output = this.#output;
    this.#output = '';
    if (!this.#shared.options.byteByByte) return void this.#socket.write(output);
    for (const byte of Buffer.from(output)) this.#socket.write(Buffer.from([byte]));
  }
}

function extractPath(line: string): string {
  return line.slice(line.indexOf('<') + 1, line.lastIndexOf('>'));
}

function unstuffed(content: Buffer): Buffer {
  if (!content.includes('\r\n.') && content[0] !== 46) return content;
  return Buffer.from(content.toString('latin1').replace(/(^|\r\n)\./g, '$1'), 'latin1');
}
