import { randomUUID } from 'node:crypto';
import type { AddressInfo, Socket } from 'node:net';
import {
  SMTPServer,
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log/index.ts';
import { clientKey, type OwnConnections } from '../../platform/network/index.ts';
import type { TlsKeys } from '../../platform/server-tls.ts';
import { SmtpConnection, type ListenerRules, type CommandWaitOptions } from './connection.ts';
import { createHandshakes, type ConnectionLimits, type Slot, type Handshakes } from './connection-limits.ts';
import { SmtpReply, temporaryTrouble, type SmtpHandler, type SmtpHandlers, type Session } from './handler.ts';
import { readProxyHeader } from '../../protocol/proxy-header.ts';

export interface ListenerOptions {
  name: string;
  isImplicit: boolean;
  doors: SmtpHandlers;
  keys: TlsKeys;
  limits: ConnectionLimits;
  rules: ListenerRules;
  connectionsMax: number;
  perAddressMax: number;
  idleMs: number;
  /** Measures how long clients take, in real time even where a test sets the date. */
  waitClock: Clock;
  isTrustedProxy: (address: string) => boolean;
  ownConnections: OwnConnections;
  log: Log;
}

/** A TLS client speaks at once; a silent one holds a place that others wait for. */
const HANDSHAKE_MS = 30_000;

/**
 * One port. Left to smtp-server 3.21: only CRLF "." CRLF ends content, clear text sent before a TLS handshake is thrown
 * away, clients that talk before the greeting are refused, and nothing is read while replies are not taken. Our own:
 * the handling of sessions, PROXY headers of both versions from trusted networks, and what `SmtpConnection` overrides.
 * The library passes a bare CR or LF in content on unchanged, so each `SmtpHandler` has to refuse it.
 */
export class SmtpListener extends SMTPServer {
  readonly rules: ListenerRules;
  readonly waits: Pick<CommandWaitOptions, 'clock' | 'commandMs' | 'isShort'>;
  readonly #counts: ConnectionCounts;
  /** Connections until their sockets are gone; the library forgets those that it has ended. */
  readonly #open = new Set<SmtpConnection>();
  readonly #isTrustedProxy: (address: string) => boolean;
  /** Neither our counts nor our deadlines know these connections yet. */
  readonly #handshakes: Handshakes;
  #isClosing = false;

  constructor(options: ListenerOptions) {
    const counts = countConnections(options);
    super(libraryOptions(options, counts));
    this.rules = options.rules;
    this.waits = { clock: options.waitClock, commandMs: options.idleMs, isShort: counts.isShort };
    this.#counts = counts;
    this.#isTrustedProxy = options.isTrustedProxy;
    this.#handshakes = createHandshakes({ total: options.connectionsMax, perAddress: options.perAddressMax });
    const { log } = options;
    this.on('error', (error: Error) => log.debug({ err: error }, 'smtp connection'));
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Resolves with the address that it listens on. */
  open(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      const done = (): void => {
        this.server.off('error', reject);
        resolve(this.server.address() as AddressInfo);
      };
      if (host === '') this.listen(port, done);
      else this.listen(port, host, done);
    });
  }

  /** Takes no new connections, ends idle ones, and gives the others `graceMs` to finish. */
  async end(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((done) => this.close(() => done()));
    for (const connection of [...this.#open]) connection.endIfIdle();
    const cut = setTimeout(() => {
      for (const connection of [...this.#open]) connection.cut();
    }, graceMs).unref();
    await closed;
    clearTimeout(cut);
  }

  /** Notes that the connection was asked to end, so that no other has to. */
  sendsOff(session: SMTPServerSession): void {
    this.#counts.isGoing(session);
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new SmtpConnection(this, socket, options);
    this.#counts.opens(connection);
    this.connections.add(connection);
    this.#open.add(connection);
    connection.on('error', (error) => this._onError(error));
    connection.on('gone', () => this.#open.delete(connection));
    connection.init();
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const address = socket.remoteAddress ?? '';
    if (!handshake || this.#isTrustedProxy(address)) return super._acceptSocket(socket, handshake);
    const client = clientKey(address);
    const release = this.#handshakes.admits(client) && super._acceptSocket(socket, handshake);
    if (!release) {
      socket.destroy();
      return false;
    }
    // During a handshake, destroys the TLS socket: to destroy the one below it brings Node.js down.
    const cut = (): void => void (this._pendingSockets.get(socket) ?? socket).destroy();
    const cancel = this.rules.clock.timer(HANDSHAKE_MS, cut);
    const over = this.#handshakes.begin(client, () => {
      cut();
      end();
    });
    const end = (): void => {
      cancel();
      over();
      release();
    };
    socket.once('close', end);
    return end;
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.#isTrustedProxy(socket.remoteAddress ?? '');
  }

  override _handleProxy(
    socket: Socket,
    callback: (error: Error | null, options?: SMTPConnectionOptions & { id: string }) => void,
  ): void {
    const id = randomUUID();
    if (!this._expectsProxyHeader(socket)) {
      setImmediate(() => callback(null, { id }));
      return;
    }
    takeProxyHeader(socket).then(
      (source) => callback(null, { id, ...(source && { remoteAddress: source.address, remotePort: source.port }) }),
      (error: Error) => callback(error),
    );
  }
}

const asOurs = (session: SMTPServerSession): Session => session as Session;

type Done = (error?: Error | null) => void;

function libraryOptions(options: ListenerOptions, connections: ConnectionCounts): SMTPServerOptions {
  const { doors, rules, keys, log } = options;
  const step = (work: Promise<unknown>, done: Done): void =>
    void work.then(
      () => done(),
      (error) => done(toReply(error, log)),
    );
  const findHandler = (session: SMTPServerSession): SmtpHandler => {
    const found = asOurs(session).user ? doors.submission : doors.receiving;
    if (!found) throw new SmtpReply(530, '5.7.0', 'Log in first');
    return found;
  };
  return {
    ...keys,
    minVersion: 'TLSv1.2',
    name: options.name,
    secure: options.isImplicit,
    size: rules.messageBytesMax,
    socketTimeout: options.idleMs,
    maxClients: options.connectionsMax,
    maxCommandLength: 12_288,
    closeTimeout: 2 ** 30,
    logger: false,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    // Lets the library check the DSN parameters; `SmtpConnection` says where DSN is offered.
    hideDSN: false,
    authMethods: ['PLAIN', 'LOGIN'],
    authOptional: doors.receiving !== undefined,
    allowInsecureAuth: rules.mayLogInPlain,
    maxAllowedUnauthenticatedCommands: 20,
    disabledCommands: ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', ...(doors.submission ? [] : ['AUTH'])],
    onConnect(session, done) {
      try {
        connections.enter(session);
        done();
      } catch (error) {
        done(toReply(error, log));
      }
    },
    onAuth: (auth, session, done) => logIn(doors, { auth, session: asOurs(session), log }, done),
    onMailFrom: (from, session, done) =>
      step(
        Promise.resolve().then(() => findHandler(session).mail(asOurs(session), from)),
        done,
      ),
    onRcptTo: (to, session, done) =>
      step(
        Promise.resolve().then(() => findHandler(session).rcpt(asOurs(session), to)),
        done,
      ),
    onData(content, session, done) {
      Promise.resolve()
        .then(() => findHandler(session).data(asOurs(session), content))
        .then(
          (text) => done(null, text),
          (error: unknown) => done(toReply(error, log)),
        );
    },
    onClose(session) {
      connections.leave(session);
      doors.submission?.closed(asOurs(session));
      doors.receiving?.closed(asOurs(session));
    },
  };
}

interface ConnectionCounts {
  opens(connection: SmtpConnection): void;
  enter(session: SMTPServerSession): void;
  leave(session: SMTPServerSession): void;
  isGoing(session: SMTPServerSession): void;
  isShort(): boolean;
}

/** Counts connections; a refused one is counted neither when it begins nor when it ends. */
function countConnections({ doors, limits, ownConnections }: ListenerOptions): ConnectionCounts {
  const kind = doors.receiving ? 'world' : 'submission';
  const connections = new Map<string, SmtpConnection>();
  const slots = new Map<string, Slot>();
  return {
    isShort: () => limits.isShort(kind),
    isGoing: ({ id }) => slots.get(id)?.isGoing(),
    opens: (connection) => void connections.set(connection.id, connection),
    enter(session): void {
      const { id, remoteAddress } = session;
      const connection = connections.get(id);
      if (!connection) throw new Error('a session began on a connection that was not opened');
      const address = ownConnections.has(session) ? undefined : remoteAddress;
      slots.set(id, limits.enter(connection, { address, kind }));
    },
    leave({ id }): void {
      connections.delete(id);
      slots.get(id)?.leave();
      slots.delete(id);
    },
  };
}

type LoginDone = (error: Error | null | undefined, response?: SMTPServerAuthenticationResponse) => void;

interface LoginTry {
  auth: SMTPServerAuthentication;
  session: Session;
  log: Log;
}

function logIn({ submission }: SmtpHandlers, { auth, session, log }: LoginTry, done: LoginDone): void {
  if (!submission) return done(new SmtpReply(502, '5.5.1', 'This port does not accept logins'));
  const { username = '', password, authzid = '' } = auth;
  submission.login(session, { username, password: password ?? '', actsFor: authzid }).then(
    (user) => done(null, { user }),
    (error: unknown) => done(toReply(error, log)),
  );
}

function toReply(error: unknown, log: Log): SmtpReply {
  if (error instanceof SmtpReply) return error;
  log.error({ err: error }, 'an SMTP step failed');
  return temporaryTrouble(error);
}

/** Takes the PROXY header off a connection and returns the client that it names; destroys a connection without one. */
function takeProxyHeader(socket: Socket): Promise<{ address: string; port: number } | undefined> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const settle = (error?: Error, source?: { address: string; port: number }): void => {
      socket.off('readable', read).off('error', settle).off('close', gone).off('end', gone);
      if (!error) return resolve(source);
      socket.on('error', () => undefined);
      socket.destroy();
      reject(error);
    };
    const gone = (): void => settle(new Error('the connection ended before its PROXY header'));
    const read = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        held = Buffer.concat([held, chunk]);
        const header = readProxyHeader(held);
        if (header.kind === 'bad') return settle(new Error(`no PROXY header: ${header.fault}`));
        if (header.kind === 'more') continue;
        if (header.length < held.length) socket.unshift(held.subarray(header.length));
        return settle(undefined, header.source);
      }
    };
    socket.on('readable', read).on('error', settle).on('close', gone).on('end', gone);
  });
}
