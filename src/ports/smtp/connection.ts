import type { Socket } from 'node:net';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPServer, SMTPServerSession } from 'smtp-server';
import type { Clock } from '../../platform/clock/index.ts';
import { createCommandWait, type CommandWait, type CommandWaitOptions } from './command-wait.ts';
import { inOurWords, type ReplyRules } from './library-replies.ts';
import { parameterFault } from './path-parameters.ts';
import { withoutQuotes } from './quoted-path.ts';
import { SmtpParser } from './smtp-parser.ts';
import type { Occupant, Standing } from './connection-limits.ts';
import type { SmtpReply } from './smtp-reply.ts';

export interface ListenerRules extends ReplyRules {
  clock: Clock;
  maySubmit: boolean;
  /** Mail is accepted without a login too. */
  isForWorld: boolean;
  greetingDelayMs: number;
  /** Time for a connection to log in; undefined where it need not. */
  loginMs: number | undefined;
}

interface Listener extends SMTPServer {
  readonly rules: ListenerRules;
  readonly waits: Pick<CommandWaitOptions, 'clock' | 'commandMs' | 'isShort'>;
  readonly isClosing: boolean;
  sendsOff(session: SMTPServerSession): void;
}

/**
 * One connection. The library runs the dialogue; ours are the parser of content, the greeting without its fixed delay of
 * 100 ms, the list of extensions, the words of replies, and ending a connection when the port closes, the login is not made in time or a
 * command does not come.
 */
export class SmtpConnection extends SMTPConnection implements Occupant {
  readonly #listener: Listener;
  readonly #wait: CommandWait;
  #cancelDeadline: () => void = () => undefined;
  #verb = '';
  #isContent = false;
  #hasBrought = false;
  /** Replies since the last content, without those that added a recipient and the first `SPARE_RECIPIENTS_MAX` that did not. */
  #replies = 0;
  #recipients = 0;
  /** Recipients since the last content that were named again, or were one too many for the transaction. */
  #spareRecipients = 0;
  /** The TLS socket, during and after the handshake. */
  #secureSocket: Socket | undefined;

  constructor(listener: Listener, socket: Socket, options?: SMTPConnectionOptions | null) {
    super(listener, socket, options);
    this.#listener = listener;
    this.#wait = createCommandWait({ ...listener.waits, tooLong: (reply) => this.#endWaiting(reply) });
  }

  /** The constructor of the library calls this before the fields of this class exist. */
  override _createParser(): SmtpParser {
    const parser = new SmtpParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command, callback) => this._onCommand(command, callback);
    parser.on('error', ({ message }) => this.send(421, `Error: ${message}`));
    return parser;
  }

  override init(): void {
    const { clock, greetingDelayMs, loginMs } = this.#listener.rules;
    this._setListeners(() => {
      if (loginMs !== undefined) this.#cancelDeadline = clock.timer(loginMs, () => this.#endUnknown(loginMs));
      if (greetingDelayMs === 0) this.connectionReady();
      else clock.timer(greetingDelayMs, () => this.connectionReady());
    });
  }

  override _onClose(): void {
    this.#cancelDeadline();
    this.#wait.stop();
    super._onClose();
    this.emit('gone');
  }

  override _armTimeout(socket?: Socket): void {
    if (socket) this.#secureSocket = socket;
    super._armTimeout(socket);
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    // Clear text behind STARTTLS is thrown away, so it is no command.
    if (!this._upgrading) this.#wait.came();
    this.#verb = command.toString('latin1', 0, 4).toUpperCase();
    super._onCommand(command, callback);
  }

  /** Our own replies have their enhanced code; the library's are put into our words. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    this.#count(code);
    if (this.#replies > REPLIES_MAX && code !== 421)
      return this.send(421, `4.7.0 Nothing was brought in ${REPLIES_MAX} commands; connect again when there is mail`);
    if (Array.isArray(data) || data === undefined || data === null) super.send(code, data, context);
    else if (ENHANCED.test(data)) super.send(code, data, false);
    else {
      const said = inOurWords(data, this.#listener.rules);
      super.send(code, said, ENHANCED.test(said) ? false : context);
    }
    if (this.#listener.isClosing && code !== 354) setImmediate(() => this.endIfIdle());
  }

  /** Notes the client's progress, and from when on it is to speak: content has limits of its own. */
  #count(code: number): void {
    const recipients = this._ready ? this.session.envelope.rcptTo.length : 0;
    const isAdded = this.#verb === 'RCPT' && code === 250 && recipients > this.#recipients;
    this.#recipients = recipients;
    if (code === 354) this.#replies = this.#spareRecipients = 0;
    else if (!isAdded && !this.#isSpareRecipient(code)) this.#replies++;
    if (this.#isContent && code === 250) {
      this.#hasBrought = true;
      this.#wait.brought();
    }
    this.#isContent = code === 354;
    if (!this.#isContent) this.#wait.begins();
  }

  /** Reports whether a client still works on its transaction: it may name all recipients of a long list before it reads a reply. */
  #isSpareRecipient(code: number): boolean {
    return this.#verb === 'RCPT' && [250, 452].includes(code) && ++this.#spareRecipients <= SPARE_RECIPIENTS_MAX;
  }

  /**
   * Lists the extensions, without CHUNKING. DSN and REQUIRETLS are not offered to the world: on a port for both, they
   * are offered after the login.
   */
  override handler_EHLO(command: Buffer, callback: () => void): void {
    const words = command.toString().trim().split(/\s+/);
    const [, name = ''] = words;
    if (words.length !== 2 || name.length > 255 || CONTROL.test(name)) {
      this.send(501, '5.5.4 Say EHLO and the name of your host');
      return callback();
    }
    this.hostNameAppearsAs = name.toLowerCase();
    this._resetSession();
    const { maySubmit, isForWorld, mayLogInPlain, messageBytesMax } = this.#listener.rules;
    const features = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', `SIZE ${messageBytesMax}`];
    if (maySubmit && (this.secure || mayLogInPlain) && !this.session.user) features.push('AUTH PLAIN LOGIN');
    if (maySubmit && (this.secure || mayLogInPlain) && (!isForWorld || this.session.user)) {
      features.push('DSN');
      if (this.secure) features.push('REQUIRETLS');
    }
    if (!this.secure) features.push('STARTTLS');
    this.send(250, [this.name, ...features], false);
    callback();
  }

  /** The library ends an address at a space, even a quoted one. */
  override _parseAddressCommand(
    name: string,
    command: Buffer | string,
  ): ReturnType<SMTPConnection['_parseAddressCommand']> {
    const quoted = withoutQuotes(command.toString());
    if (!quoted) return super._parseAddressCommand(name, command);
    const parsed = super._parseAddressCommand(name, quoted.command);
    return parsed && { ...parsed, address: quoted.restore(parsed.address) };
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    if (this.#hasSoundParameters(command)) super.handler_MAIL(command, callback);
    else callback();
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    if (this.#hasSoundParameters(command)) super.handler_RCPT(command, callback);
    else callback();
  }

  #hasSoundParameters(command: Buffer): boolean {
    const fault = parameterFault(command.toString());
    if (fault !== undefined) this.send(501, `5.5.4 ${fault}`);
    return fault === undefined;
  }

  override handler_HELP(_command: Buffer, callback: () => void): void {
    const offered = [...(this.secure ? [] : ['STARTTLS, ']), ...(this.#listener.rules.maySubmit ? ['AUTH, '] : [])];
    this.send(214, `2.0.0 EHLO, ${offered.join('')}MAIL, RCPT, DATA, RSET, NOOP, VRFY, QUIT`);
    callback();
  }

  /** EXPN exists, but would disclose a list's members to any client (RFC 5321 §7.3). */
  handler_EXPN(_command: Buffer, callback: () => void): void {
    this.send(502, '5.5.1 Lists are not told here; send to their address');
    callback();
  }

  override handler_RSET(command: Buffer, callback: () => void): void {
    if (this.#stoodAlone(command)) super.handler_RSET(command, callback);
    else callback();
  }

  override handler_DATA(command: Buffer, callback: () => void): void {
    if (this.#stoodAlone(command)) super.handler_DATA(command, callback);
    else callback();
  }

  #stoodAlone(command: Buffer): boolean {
    const [verb = '', ...words] = command.toString().trim().split(/\s+/);
    if (words.length > 0) this.send(501, `5.5.4 Say ${verb.toUpperCase()} alone`);
    return words.length === 0;
  }

  /** Ends the connection if nothing is under way: the client loses nothing but the connection. */
  endIfIdle(): void {
    if (this._closing || this._closed || this._dataStream || this._handlerPending) return;
    this.send(421, '4.3.2 The server is shutting down; connect again in a minute');
  }

  /** Ends the connection without a reply, whatever is under way. */
  cut(): void {
    // To destroy the socket below a handshake brings Node.js down.
    ((this._upgrading && this.#secureSocket) || this._socket).destroy();
  }

  get standing(): Standing {
    if (this._closing || this._closed) return 'over';
    if (this.session.user) return 'logged in';
    if (this._dataStream) return this._dataStream.writableEnded ? 'busy' : 'sending';
    return this.#hasBrought ? 'brought' : 'idle';
  }

  makeWay({ responseCode, message }: SmtpReply): void {
    if (this._upgrading) return this.cut();
    if (!this._closing) this.send(responseCode, message);
    // Without the time that a client has to hang up: while slots are short, sockets are not kept for it.
    this._socket.destroySoon();
  }

  #endWaiting({ responseCode, message }: SmtpReply): void {
    if (this._closing || this._closed) return;
    this.#listener.sendsOff(this.session);
    if (this._upgrading) this.cut();
    else this.send(responseCode, message);
  }

  #endUnknown(loginMs: number): void {
    if (this.session.user || this._closing || this._closed) return;
    this.send(421, `4.4.2 Log in within ${loginMs / 1000} seconds of connecting`);
  }
}

/** A kept connection sends NOOP or RSET now and then; answering a flood of them would keep others waiting. */
const REPLIES_MAX = 100;
const SPARE_RECIPIENTS_MAX = 10_000;
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /;
const CONTROL = /\p{Cc}/u;
