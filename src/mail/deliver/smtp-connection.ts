import type { X509Certificate } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureVersion, TLSSocket } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import type { OwnConnections } from '../../platform/network/index.ts';
import { MalformedReply, ReplyParser, type Reply } from '../../protocol/smtp-reply/index.ts';
import { SocksHandshake } from '../../protocol/socks5.ts';
import type { Target } from './mx-route.ts';
import type { TlsInfo } from './delivery-job.ts';
import type { Proxy } from './source.ts';
import type { CertificateFault } from './tls-policy.ts';

const ENTRIES_MAX = 40;
const LINES_MAX = 60;
const LINE_CHARS_MAX = 300;

/**
 * The dialogue of a session: its opening, and the last steps of the transaction under way. Steps of earlier messages
 * are dropped, since they may be another team's. Holds commands and replies, never message content, as text only on
 * demand.
 */
class Transcript {
  #opening: (string | Reply)[] = [];
  #entries: (string | Reply)[] = [];
  #next = 0;
  #isOpening = true;
  /** The opening as text, made once for all messages of the connection: it is most of the dialogue. */
  #openingLines: string[] | undefined;

  add(entry: string | Reply): void {
    if (this.#isOpening) {
      if (this.#opening.length < ENTRIES_MAX) this.#opening.push(entry);
      return;
    }
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % ENTRIES_MAX;
  }

  /** Begins a transaction and forgets the steps of the one before it. */
  begin(): void {
    this.#isOpening = false;
    this.#entries.length = 0;
    this.#next = 0;
  }

  lines(): string[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    const lines = [...this.#beginning(), ...inOrder.flatMap(inWords)];
    return lines.length > LINES_MAX ? lines.slice(-LINES_MAX) : lines;
  }

  #beginning(): string[] {
    if (this.#isOpening) return this.#opening.flatMap(inWords);
    return (this.#openingLines ??= this.#opening.flatMap(inWords));
  }
}

function inWords(entry: string | Reply): string[] {
  if (typeof entry === 'string') return shortened(entry.trimEnd().split('\r\n'), 'C:');
  const { code, enhanced, lines } = entry;
  const last = lines.length - 1;
  const status = enhanced === undefined ? '' : `${enhanced} `;
  return shortened(
    lines.map((line, index) => `${code}${index === last ? ' ' : '-'}${status}${line}`),
    'S:',
  );
}

function shortened(lines: string[], side: 'C:' | 'S:'): string[] {
  return lines.map((line) => `${side} ${line}`.slice(0, LINE_CHARS_MAX));
}

export interface Failure {
  kind: 'unreachable' | 'lost' | 'timeout' | 'malformed' | 'aborted';
  /** Safe for every team: it quotes nothing that the peer said. */
  detail: string;
  /** Text that the peer sent instead of a reply; it may name a recipient of the current message. */
  quote?: string | undefined;
  /** The address that mail leaves from, or its proxy, is to blame, and not the peer. */
  isOfSource?: boolean;
}

/** Returns the failure in words for the team whose message was being sent. */
export function failureText({ detail, quote }: Failure): string {
  return quote === undefined ? detail : `${detail}: ${quote}`;
}

/** The replies that arrived, and why there are fewer than expected. After a 421 the peer owes no more. */
interface Read {
  replies: Reply[];
  failure?: Failure;
}

export interface TlsWishes {
  /** The name in the handshake, if it is not that of the host. */
  serverName?: string | undefined;
  ca?: string | undefined;
  minVersion?: SecureVersion | undefined;
}

export interface Origin {
  localAddress?: string | undefined;
  proxy?: Proxy | undefined;
  ownConnections?: OwnConnections | undefined;
}

const LINE_FEED = 10;
/** Limit of unread replies: no dialogue of ours expects as many at once, and a peer could send them forever. */
const UNREAD_MAX = 128;

interface Waiter {
  count: number;
  resolve: (read: Read) => void;
  silenceMs: number;
  cancel: () => void;
}

/** One TCP connection that speaks SMTP. Network errors never throw: the first one becomes `failure`, and stays. */
export class SmtpConnection {
  readonly transcript = new Transcript();
  /** The peer's address. */
  readonly address: string;
  /** Our own address; undefined until the connection is established. */
  localAddress: string | undefined;
  failure: Failure | undefined;
  /** Why the certificate of the peer is not valid; undefined if it is valid, and without TLS. */
  certificateFault: CertificateFault | undefined;
  /** Called once, when the socket is gone. */
  onClosed: () => void = () => {};
  /** Called when the connection fails, or a reply comes that no `read` waits for. */
  onStir: () => void = () => {};
  #clock: Clock;
  #socket: Socket;
  #parser = new ReplyParser();
  #replies: Reply[] = [];
  #waiter: Waiter | undefined;
  /** Ends the wait of `#within`, when the connection fails. */
  #wake: (() => void) | undefined;
  /** Counts the bytes that the peer sent since `expectNothingAfter`; undefined before that. */
  #since: { newlines: number; lastByte: number } | undefined;
  #connected = false;
  #closed = false;
  /** Texts of the peer that are never shown. */
  #hidden: readonly string[] = [];
  /** Whether QUIT was sent. */
  isLeaving = false;
  /** The proxy, until it has connected us to the peer. */
  #proxy: { name: string; handshake: SocksHandshake } | undefined;
  #onThrough: () => void = () => {};

  constructor(clock: Clock, target: Target, { localAddress, ownConnections, proxy }: Origin = {}) {
    this.#clock = clock;
    this.address = target.address;
    const source = localAddress ? { localAddress } : {};
    const { host, port } = proxy ?? { host: target.address, port: target.port };
    this.#socket = connect({ host, port, noDelay: true, ...source });
    if (proxy) this.#askProxy(proxy, target);
    else ownConnections?.add(this.#socket, { isHome: target.isHome === true });
    this.#listen(this.#socket);
  }

  #askProxy(proxy: Proxy, target: Target): void {
    const name = `the proxy ${proxy.host}:${proxy.port}`;
    try {
      const handshake = new SocksHandshake(target, proxy.readLogin?.());
      this.#proxy = { name, handshake };
      this.#socket.once('connect', () => this.#socket.write(handshake.greet()));
    } catch (error) {
      this.fail({ kind: 'unreachable', detail: (error as Error).message, isOfSource: true });
    }
  }

  #readProxy({ name, handshake }: { name: string; handshake: SocksHandshake }, chunk: Buffer): void {
    const step = handshake.push(chunk);
    switch (step.kind) {
      case 'wait':
        return;
      case 'send':
        return void this.#socket.write(step.bytes);
      case 'failed':
        return this.fail({ kind: 'unreachable', detail: `${name}: ${step.detail}`, isOfSource: step.isOfProxy });
      case 'open':
        this.#proxy = undefined;
        this.localAddress = step.boundAddress;
        this.#onThrough();
        if (step.rest.length > 0) this.#receive(step.rest);
    }
  }

  /** Resolves when the connection is established or has failed. */
  async connected(connectMs: number): Promise<void> {
    const failure: Failure = { kind: 'unreachable', detail: `no connection after ${connectMs} ms` };
    await this.#within(connectMs, failure, (settled) => {
      if (this.#proxy) this.#onThrough = settled;
      else this.#socket.once('connect', settled);
    });
    this.#connected = this.failure === undefined;
    if (this.#connected) this.localAddress ??= this.#socket.localAddress;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Waits until the socket is gone: until then the peer counts the connection too. */
  async untilClosed(): Promise<void> {
    if (!this.#closed) await new Promise<void>((done) => (this.onClosed = done));
  }

  /** A reply that came before its command, for instance a 421 between two transactions. */
  get earlyReply(): Reply | undefined {
    return this.#replies[0];
  }

  /** Whether the peer sent, or began to send, something that answers no command: replies and commands would be out of step. */
  get isOutOfStep(): boolean {
    return this.#replies.length > 0 || this.#parser.isWithinReply;
  }

  /** Keeps these texts out of the transcript and out of replies; commands that have them are sent with `shownAs`. */
  hide(texts: readonly string[]): void {
    // Hiding a text of one or two characters would reveal more than showing it.
    this.#hidden = texts.filter((text) => text.length > 2);
  }

  /** Writes commands, and records them in the transcript: as `shownAs` if they contain a secret. */
  send(commands: string, shownAs = commands): void {
    this.transcript.add(shownAs);
    if (!this.failure) this.#socket.write(commands, 'utf8');
  }

  /** Writes message content; false when the socket asks to wait. */
  write(content: Buffer): boolean {
    return !this.failure && this.#socket.write(content);
  }

  /** Resolves when everything written has left for the kernel, when the connection fails, or when a reply comes. */
  async flushed(blockMs: number): Promise<void> {
    if (this.failure || this.earlyReply || this.#socket.writableLength === 0) return;
    const failure: Failure = { kind: 'timeout', detail: `the peer accepted no content for ${blockMs} ms` };
    // A write below the high-water mark never announces a drain; the callback of an empty one comes after all others.
    await this.#within(blockMs, failure, (settled) => this.#socket.write('', settled));
  }

  read(count: number, silenceMs: number): Promise<Read> {
    const waiting = this.#replies.length;
    if (this.failure || waiting >= count || this.#replies[waiting - 1]?.code === 421) {
      return Promise.resolve(this.#takeReplies(count));
    }
    return new Promise((resolve) => {
      this.#waiter = { count, resolve, silenceMs, cancel: this.#silence(silenceMs) };
    });
  }

  /** Ends the connection after the limit; the returned function cancels that. */
  failAfter(limitMs: number, failure: Failure): () => void {
    return this.#clock.timer(limitMs, () => this.fail(failure));
  }

  /** Ends the connection; a waiting `read`, and other waits, resolve with the failure. */
  fail(failure: Failure): void {
    if (!this.failure) this.failure = failure;
    this.#socket.destroy();
    this.#answer();
    this.#wake?.();
    this.onStir();
  }

  /** Starts to count what the peer sends, for `hasTrailingBytes`. */
  expectNothingAfter(): void {
    this.#since = { newlines: 0, lastByte: 0 };
  }

  /**
   * True when the peer sent more than this reply. Bytes after the reply to STARTTLS are injected by an attacker, to be
   * taken for a reply from inside the protected channel (CVE-2011-0411; RFC 3207 §5).
   */
  hasTrailingBytes(reply: Reply): boolean {
    const since = this.#since;
    return this.#replies.length > 0 || since?.lastByte !== LINE_FEED || since.newlines !== reply.lines.length;
  }

  /** Checks the certificate but does not demand it: encryption to an unknown peer is better than none (RFC 7435). */
  async startTls(host: string, timeoutMs: number, { ca, minVersion, serverName }: TlsWishes): Promise<TlsInfo> {
    const plain = this.#socket;
    // `error` and `close` stay: the socket may break before TLS stands, and an error without a listener ends the process.
    plain.removeAllListeners('data');
    plain.removeAllListeners('end');
    const secure = connectTls({
      socket: plain,
      rejectUnauthorized: false,
      // An IP address is not sent as the server name, but the certificate must be valid for it.
      ...(isIP(host) === 0 && !host.startsWith('[') ? { servername: serverName ?? host } : { host }),
      ...(ca ? { ca } : {}),
      ...(minVersion ? { minVersion } : {}),
    });
    this.#since = undefined;
    this.#socket = secure;
    this.#parser = new ReplyParser();
    this.#listen(secure);
    const failure: Failure = { kind: 'timeout', detail: `no TLS after ${timeoutMs} ms` };
    await this.#within(timeoutMs, failure, (settled) => secure.once('secureConnect', settled));
    if (this.failure) return null;
    this.certificateFault = secure.authorized ? undefined : describeFault(secure.authorizationError);
    return tlsInfo(secure);
  }

  /** Returns the certificates that the peer sent, its own first. */
  readCertificates(): X509Certificate[] {
    return this.#socket instanceof TLSSocket ? readPeerChain(this.#socket) : [];
  }

  /** Sends QUIT and ends the connection; destroys the socket when that takes longer than `quitMs`. */
  quit(quitMs: number): void {
    if (this.#closed) return;
    this.isLeaving = true;
    this.onStir = () => {};
    this.send('QUIT\r\n');
    this.#socket.end();
    const cancel = this.#clock.timer(quitMs, () => this.#socket.destroy());
    this.#socket.once('close', cancel);
  }

  #silence(silenceMs: number): () => void {
    const failure: Failure = { kind: 'timeout', detail: `no reply within ${silenceMs} ms` };
    return this.#clock.timer(silenceMs, () => this.fail(failure));
  }

  /** Waits until `start` calls back or the connection fails; exceeding the limit fails it too. */
  #within(limitMs: number, otherwise: Failure, start: (settled: () => void) => void): Promise<void> {
    if (this.failure) return Promise.resolve();
    return new Promise((done) => {
      const cancel = this.#clock.timer(limitMs, () => this.fail(otherwise));
      const settled = (): void => {
        cancel();
        this.#wake = undefined;
        done();
      };
      this.#wake = settled;
      start(settled);
    });
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => (this.#proxy ? this.#readProxy(this.#proxy, chunk) : this.#receive(chunk)));
    socket.on('end', () => this.#lose('the peer closed the connection'));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL') this.fail({ kind: 'unreachable', detail: error.message, isOfSource: true });
      else this.#lose(error.message);
    });
    socket.on('close', () => {
      this.#lose('the connection was closed');
      if (this.#closed) return;
      this.#closed = true;
      this.onClosed();
    });
  }

  #lose(detail: string): void {
    if (this.failure) return;
    if (this.#proxy) this.fail({ kind: 'unreachable', detail: `${this.#proxy.name}: ${detail}`, isOfSource: true });
    else if (!this.#connected) this.fail({ kind: 'unreachable', detail });
    else if (this.#parser.isWithinReply) this.fail({ kind: 'malformed', detail: `${detail} in the middle of a reply` });
    else this.fail({ kind: 'lost', detail });
  }

  #receive(chunk: Buffer): void {
    if (this.#since) countLines(this.#since, chunk);
    let replies: Reply[];
    try {
      replies = this.#parser.push(chunk);
    } catch (error) {
      this.#failMalformed(error as Error);
      return;
    }
    for (const said of replies) {
      const reply = this.#hidden.length === 0 ? said : { ...said, lines: said.lines.map((line) => this.#mask(line)) };
      this.transcript.add(reply);
      this.#replies.push(reply);
    }
    this.#notify(replies.length > 0);
    // The stream broke after complete replies: those still count, and nothing after them does.
    if (this.#parser.fault) this.#failMalformed(this.#parser.fault);
    else if (this.#replies.length > UNREAD_MAX) {
      this.fail({ kind: 'malformed', detail: `the peer sent more than ${UNREAD_MAX} replies without a command` });
    }
  }

  #failMalformed(error: Error): void {
    const quote = error instanceof MalformedReply ? error.quote : undefined;
    this.fail({ kind: 'malformed', detail: error.message, quote: quote === undefined ? undefined : this.#mask(quote) });
  }

  #mask(text: string): string {
    return this.#hidden.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
  }

  #notify(isReply: boolean): void {
    const waiter = this.#waiter;
    if (!waiter) {
      if (!isReply) return;
      this.#wake?.();
      return this.onStir();
    }
    if (!isReply) return;
    if (this.#replies.length >= waiter.count || this.#replies[this.#replies.length - 1]?.code === 421)
      return this.#answer();
    // Only whole replies count as progress: single bytes could keep us waiting for days.
    waiter.cancel();
    waiter.cancel = this.#silence(waiter.silenceMs);
  }

  #answer(): void {
    const waiter = this.#waiter;
    if (!waiter) return;
    this.#waiter = undefined;
    waiter.cancel();
    waiter.resolve(this.#takeReplies(waiter.count));
  }

  #takeReplies(count: number): Read {
    const replies = this.#replies.length <= count ? this.#replies : this.#replies.slice(0, count);
    this.#replies = this.#replies.length <= count ? [] : this.#replies.slice(count);
    return replies.length < count && this.failure ? { replies, failure: this.failure } : { replies };
  }
}

function countLines(since: { newlines: number; lastByte: number }, chunk: Buffer): void {
  since.lastByte = chunk[chunk.length - 1] ?? 0;
  for (const byte of chunk) if (byte === LINE_FEED) since.newlines += 1;
}

const FAULTS: Readonly<Record<string, CertificateFault>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: { kind: 'certificate-host-mismatch', words: 'it is for another name' },
  CERT_HAS_EXPIRED: { kind: 'certificate-expired', words: 'it has expired' },
  CERT_NOT_YET_VALID: { kind: 'certificate-expired', words: 'it is not valid yet' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { kind: 'certificate-not-trusted', words: 'it is self-signed' },
  SELF_SIGNED_CERT_IN_CHAIN: { kind: 'certificate-not-trusted', words: 'its authority is not trusted' },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { kind: 'certificate-not-trusted', words: 'its authority is not trusted' },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { kind: 'certificate-not-trusted', words: 'its authority is not trusted' },
};

/** Node gives an error code, or an error whose message explains it. */
function describeFault(error: unknown): CertificateFault {
  const code = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? '') : String(error);
  return FAULTS[code] ?? { kind: 'validation-failure', words: code };
}

function tlsInfo(socket: TLSSocket): TlsInfo {
  return {
    version: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().name,
    authorized: socket.authorized,
  };
}

/** More than any legitimate chain has. */
const CERTIFICATES_MAX = 10;

/**
 * Returns the certificates that the other side sent, in the order in which it sent them, its own first. A self-signed
 * one ends the list. It is empty if a TLS session was resumed.
 */
export function readPeerChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next && chain.length < CERTIFICATES_MAX) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}
