import type { Socket } from 'node:net';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPServer, SMTPServerSession } from 'smtp-server';
import type { Clock } from '../../platform/clock.ts';
import { parameterFault, withoutQuotes, SmtpParser } from './smtp-parser.ts';
import type { Occupant, ConnectionPhase } from './connection-limits.ts';
import { SmtpReply } from './handler.ts';

export interface CommandWaitOptions {
  clock: Clock;
  /** The time for a whole command to arrive, even if bytes of it keep arriving. */
  commandMs: number;
  /** Reports whether connections are running short for others. */
  isShort(): boolean;
  /** Called once, with the reply to end the connection with. */
  tooLong(reply: SmtpReply): void;
}

interface CommandWait {
  /** The client is to speak from now on. */
  begins(): void;
  /** Call when a command has arrived; the time to execute it is not limited here. */
  came(): void;
  /** A message was accepted. */
  brought(): void;
  stop(): void;
}

/** Time for a command when connections are short; Postfix allows ten seconds then, which a far and busy server may miss. */
const SHORT_COMMAND_MS = 20_000;
/** Time for a message when connections are short: a connection without one, whatever its commands, keeps others out. */
const SHORT_MESSAGE_MS = 120_000;

/**
 * Limits how long a connection may keep us waiting: counted from our last reply, so that a byte now and then does not
 * extend it, and shorter while connections are short, so that one always comes free.
 */
function createCommandWait({ clock, commandMs, isShort, tooLong }: CommandWaitOptions): CommandWait {
  const shortMs = Math.min(commandMs, SHORT_COMMAND_MS);
  let since: number | undefined = clock.now();
  let broughtAt = since;
  let cancel = (): void => undefined;

  function faultAt(now: number, waited: number): SmtpReply | undefined {
    const again = 'connect again when there is mail';
    if (waited >= commandMs)
      return new SmtpReply(421, '4.4.2', `No command was received for ${commandMs / 1000} s; ${again}`);
    if (!isShort()) return undefined;
    if (waited >= shortMs)
      return new SmtpReply(421, '4.3.2', `Many clients are waiting for a connection, and this one was idle; ${again}`);
    if (now - broughtAt < SHORT_MESSAGE_MS) return undefined;
    return new SmtpReply(
      421,
      '4.3.2',
      `Many clients are waiting for a connection, and this one has sent no message; ${again}`,
    );
  }

  const look = (): void => {
    const now = clock.now();
    const waited = since === undefined ? 0 : now - since;
    const fault = since === undefined ? undefined : faultAt(now, waited);
    if (fault) return tooLong(fault);
    // Checks again when the result of `isShort` matters next.
    const next = waited < shortMs ? shortMs - waited : Math.min(shortMs, commandMs - waited);
    cancel = clock.timer(next, look);
  };
  look();
  return {
    begins: () => void (since = clock.now()),
    came: () => void (since = undefined),
    brought: () => void (broughtAt = clock.now()),
    stop: () => cancel(),
  };
}

/** The settings on which replies depend. */
interface ReplyRules {
  mayLogInPlain: boolean;
  messageBytesMax: number;
}

type Words = string | ((rules: ReplyRules) => string);

const TOO_LARGE = ({ messageBytesMax }: Pick<ReplyRules, 'messageBytesMax'>): string =>
  `5.3.4 The message exceeds the limit of ${messageBytesMax} bytes; send a smaller message, or a link`;

/** The library's replies name the fault; ours say what to do about it. A key is the beginning of a library reply. */
const WORDS: readonly [says: string, ours: Words][] = [
  ['Error: send HELO/EHLO first', '5.5.1 Send EHLO first'],
  [
    'Error: authentication Required',
    ({ mayLogInPlain }) =>
      mayLogInPlain
        ? '5.7.0 Log in first: AUTH PLAIN or AUTH LOGIN, with an API key as the password'
        : '5.7.0 Log in first: STARTTLS, then AUTH PLAIN or AUTH LOGIN, with an API key as the password',
  ],
  ['Error: Must issue a STARTTLS command first', '5.7.11 Encryption required; send STARTTLS, then AUTH'],
  ['Error: No identity changes permitted', '5.5.1 Already logged in; connect again to log in with another API key'],
  ['Error: Unrecognized authentication type', '5.5.4 Unknown authentication mechanism; use AUTH PLAIN or AUTH LOGIN'],
  ['Error: invalid userdata', '5.5.2 Malformed credentials; send the user name and the password in base64'],
  ['Error: missing username', '5.5.2 The user name is missing; use "rasket"'],
  ['Authentication aborted', '5.7.0 The login was canceled'],
  ['Authentication successful', '2.7.0 Logged in'],
  ['Error: too many unauthenticated commands', '4.7.0 Too many commands without a login; connect again and log in'],
  ['Error: too many unrecognized commands', '4.7.0 Too many unknown commands; this is an SMTP port'],
  ['Error: command not recognized', '5.5.2 Unknown command; HELP lists the supported commands'],
  ['Error: Command line too long', '4.7.0 Command line too long; send DATA before the content of a message'],
  ['HTTP requests not allowed', '4.7.0 This is an SMTP port; it does not accept HTTP requests'],
  ['Timeout - closing connection', '4.4.2 The connection was idle for too long; connect again'],
  ['Server shutting down', '4.3.2 The server is shutting down; connect again in a minute'],
  ['Error: TLS already active', '5.5.1 The connection is already encrypted'],
  ['Error: syntax: STARTTLS', '5.5.4 STARTTLS takes no parameters'],
  ['Error: Bad sender address syntax', '5.1.7 Write MAIL FROM:<local@example.com>'],
  ['Error: Bad recipient address syntax', '5.1.3 Write RCPT TO:<local@example.com>'],
  ['Error: nested MAIL command', '5.5.1 A mail transaction is already open; finish it with DATA, or send RSET'],
  ['Error: need MAIL command', '5.5.1 Send MAIL first'],
  ['Error: need RCPT command', '5.5.1 No recipient was accepted; send RCPT first'],
  ['Error: message exceeds fixed maximum message size', TOO_LARGE],
  ['Error: Bad message size syntax', '5.5.4 SIZE takes a number of bytes'],
  ['Invalid BODY parameter value', '5.5.4 BODY must be 7BIT or 8BITMIME; BINARYMIME is not supported'],
  ['Invalid SMTPUTF8 parameter', '5.5.4 SMTPUTF8 takes no value'],
  ['Invalid RET parameter value', '5.5.4 RET must be FULL or HDRS'],
  [
    'Error: NOTIFY',
    '5.5.4 NOTIFY must be NEVER, or SUCCESS, FAILURE and DELAY in any combination, separated by commas',
  ],
  [
    'Error: Bad ORCPT parameter syntax',
    '5.5.4 ORCPT must be a type, a semicolon and an address, as in rfc822;someone@example.com',
  ],
  ['Invalid REQUIRETLS parameter', '5.5.4 REQUIRETLS takes no value'],
  ['REQUIRETLS not permitted on non-TLS', '5.7.11 REQUIRETLS requires TLS on this connection too; send STARTTLS first'],
  ['Error: internal server error', '4.3.0 Temporary local problem; try again later'],
  ['Error: Syntax: HELO hostname', '5.5.4 Send HELO with the name of your host'],
  ['Error: Bad hostname syntax', '5.5.4 Send HELO with the name of your host'],
  ['Error: Syntax: VRFY address', '5.5.4 Send VRFY with an address'],
  ['Try to send something', '2.0.0 Cannot verify addresses; send a message to find out'],
];

function inOurWords(said: string, rules: ReplyRules): string {
  if (said.endsWith('You talk too soon')) return '4.7.0 Wait for the greeting before you send commands';
  const found = WORDS.find(([start]) => said.startsWith(start))?.[1];
  if (found === undefined) return said.replace(/^Error: /, '');
  return typeof found === 'string' ? found : found(rules);
}

export const tooLarge = TOO_LARGE;

export interface ListenerRules extends ReplyRules {
  clock: Clock;
  maySubmit: boolean;
  /** Mail is accepted without a login too. */
  isForWorld: boolean;
  greetingDelayMs: number;
  /** The time for a connection to log in; undefined if it need not. */
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
    // Clear text after STARTTLS is thrown away, so it is no command.
    if (!this._upgrading) this.#wait.came();
    this.#verb = command.toString('latin1', 0, 4).toUpperCase();
    super._onCommand(command, callback);
  }

  /** Our own replies have an enhanced status code; those of the library are reworded. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    this.#count(code);
    if (this.#replies > REPLIES_MAX && code !== 421)
      return this.send(
        421,
        `4.7.0 No message was sent within ${REPLIES_MAX} commands; connect again when there is mail`,
      );
    if (Array.isArray(data) || data === undefined || data === null) super.send(code, data, context);
    else if (ENHANCED.test(data)) super.send(code, data, false);
    else {
      const said = inOurWords(data, this.#listener.rules);
      super.send(code, said, ENHANCED.test(said) ? false : context);
    }
    if (this.#listener.isClosing && code !== 354) setImmediate(() => this.endIfIdle());
  }

  /** Notes the client's progress, and when its turn to speak begins: content has limits of its own. */
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
      this.send(501, '5.5.4 Send EHLO with the name of your host');
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
    this.send(502, '5.5.1 EXPN is not supported; send to the address of the list');
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
    if (words.length > 0) this.send(501, `5.5.4 ${verb.toUpperCase()} takes no parameters`);
    return words.length === 0;
  }

  /** Ends the connection if nothing is under way: the client loses nothing but the connection. */
  endIfIdle(): void {
    if (this._closing || this._closed || this._dataStream || this._handlerPending) return;
    this.send(421, '4.3.2 The server is shutting down; connect again in a minute');
  }

  /** Ends the connection without a reply, whatever is under way. */
  cut(): void {
    // Destroying the socket under a TLS handshake crashes Node.js.
    ((this._upgrading && this.#secureSocket) || this._socket).destroy();
  }

  get standing(): ConnectionPhase {
    if (this._closing || this._closed) return 'over';
    if (this.session.user) return 'logged in';
    if (this._dataStream) return this._dataStream.writableEnded ? 'busy' : 'sending';
    return this.#hasBrought ? 'brought' : 'idle';
  }

  makeWay({ responseCode, message }: SmtpReply): void {
    if (this._upgrading) return this.cut();
    if (!this._closing) this.send(responseCode, message);
    // Does not wait for the client to hang up: while slots are short, sockets are not kept for it.
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

/** A kept connection sends NOOP or RSET now and then; replying to a flood of them would delay others. */
const REPLIES_MAX = 100;
const SPARE_RECIPIENTS_MAX = 10_000;
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /;
const CONTROL = /\p{Cc}/u;
