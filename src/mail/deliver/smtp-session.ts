import type { Clock } from '../../platform/clock.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { verifyDane } from '../../protocol/dane.ts';
import { classifyReply } from '../../platform/reply-rules/index.ts';
import { replyText } from '../../protocol/smtp-reply/index.ts';
import { onAbort } from './abort-watch.ts';
import type { Target } from './mx-route.ts';
import type { DeferReason, Login, TlsInfo } from './delivery-job.ts';
import { RelayFault, type Relay } from './relay.ts';
import { failureText, SmtpConnection, type Failure, type Origin, type TlsWishes } from './smtp-connection.ts';
import { logIn } from './smtp-login.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import type { HostDemand, TlsFault } from './tls-policy.ts';

export interface SessionOptions extends Origin {
  clock: Clock;
  heloName: string;
  timeouts: SmtpTimeouts;
  /** Limit for all steps together. */
  openMs: number;
  /** Aborts the opening; an open session is not affected. */
  signal: AbortSignal;
  tls: TlsWishes & {
    policy: 'opportunistic' | 'enforced';
    /** Jobs with "enforced" also require a certificate that is valid for the host. */
    verifyEnforced: boolean;
    /** The demands of the policies of the recipient's domain. */
    demand?: HostDemand | undefined;
    /** A TLS handshake with this host failed a moment ago: do not try one again. */
    skip: boolean;
  };
  /** The relay that the server is; it alone decides about TLS, and may ask for a login. */
  relay?: Relay | undefined;
}

export interface Capabilities {
  pipelining: boolean;
  eightBitMime: boolean;
  smtpUtf8: boolean;
  startTls: boolean;
  /** The mechanisms of AUTH, in upper case (RFC 4954). */
  logins: readonly string[];
  /** Delivery status notifications (RFC 3461). */
  dsn: boolean;
  /** REQUIRETLS (RFC 8689). */
  requireTls: boolean;
  /** 0 if no limit is known. */
  sizeMax: number;
}

/** A connection after its greetings, ready for mail. */
export interface SmtpSession {
  readonly connection: SmtpConnection;
  readonly mx: string;
  /** The name of the relay that the server is. */
  readonly relay?: string | undefined;
  /** The server is the smarthost of a region: a relay without a login. */
  readonly isSmarthost?: boolean;
  /** The relay offers a login, and the settings have none for it. */
  readonly isAnonymous?: boolean;
  readonly tls: TlsInfo;
  readonly can: Capabilities;
  readonly timeouts: SmtpTimeouts;
  /** Transactions begun so far; a message that we refuse ourselves begins none. */
  used: number;
  /** The last transaction was left open: the next one begins with RSET. */
  needsReset: boolean;
}

export type Opened =
  | { kind: 'open'; session: SmtpSession; handshakeFailed: boolean; tlsFault?: TlsFault | undefined }
  | {
      kind: 'failed';
      tlsFault?: TlsFault | undefined;
      reason: DeferReason;
      detail: string;
      takesNoMail: boolean;
      reply?: Reply;
      cause?: ReplyCause;
      /** The dialogue until then; undefined if no connection was attempted. */
      transcript?: string[];
      /** Our address on the connection, if it was established. */
      localAddress?: string | undefined;
    };

/** Connects, greets, and protects the channel as far as policy and peer allow. */
export async function openSession(target: Target, options: SessionOptions): Promise<Opened> {
  if (options.relay && options.relay.tls !== 'as asked') return openRelay(target, options, options.relay);
  const from = options.clock.now();
  const attempt = await openOnce(target, options);
  if (attempt.kind === 'open' || !attempt.handshakeFailed) return attempt;
  const openMs = options.openMs - (options.clock.now() - from);
  if (options.tls.policy === 'enforced' || openMs <= 0) return attempt;
  // RFC 7435: a failure of opportunistic encryption must not cost the mail. The broken channel is replaced with a plain
  // one.
  const plain = await openOnce(target, { ...options, openMs, tls: { ...options.tls, skip: true } });
  return plain.kind === 'open' ? { ...plain, handshakeFailed: true, tlsFault: attempt.tlsFault } : plain;
}

/** Connects to a relay over TLS with a valid certificate and, if it has credentials, logs in; fails otherwise. */
async function openRelay(target: Target, options: SessionOptions, relay: Relay): Promise<Opened> {
  try {
    // The login is read for each connection, so that changes by the operator apply without a restart.
    const login = relay.readLogin?.();
    const ca = relay.readCa?.() ?? options.tls.ca;
    const tls = { ...options.tls, ca, policy: 'enforced' as const, verifyEnforced: true, skip: false };
    const attempt = await openOnce(target, { ...options, tls, login });
    if (attempt.kind === 'open') {
      const isAnonymous = login === undefined && attempt.session.can.logins.length > 0;
      return { ...attempt, session: { ...attempt.session, relay: relay.name, isAnonymous } };
    }
    // A relay that answers 521 or 556 is the wrong server, which says nothing about a recipient.
    const isMisconfigured =
      attempt.reason === 'tls_unavailable' || (attempt.reply !== undefined && meansNoMail(attempt.reply));
    if (!isMisconfigured) return attempt;
    return { ...misconfigured(attempt.detail, attempt.reply), transcript: attempt.transcript };
  } catch (error) {
    if (error instanceof RelayFault) return misconfigured(error.message);
    throw error;
  }
}

const misconfigured = (detail: string, reply?: Reply): Extract<Attempt, { kind: 'failed' }> => ({
  kind: 'failed',
  reason: 'relay_misconfigured',
  detail,
  ...(reply ? { reply, cause: 'relay_misconfigured' as const } : {}),
  takesNoMail: false,
  handshakeFailed: false,
});

interface OpeningOptions extends SessionOptions {
  /** Sent once the certificate of the server has been verified. */
  login?: Login | undefined;
}

type FailedAttempt = Extract<Opened, { kind: 'failed' }> & { handshakeFailed: boolean };
type Attempt = Extract<Opened, { kind: 'open' }> | FailedAttempt;

async function openOnce(target: Target, options: OpeningOptions): Promise<Attempt> {
  const connection = new SmtpConnection(options.clock, target, options);
  const unwatch = onAbort(options.signal, () => connection.fail({ kind: 'aborted', detail: 'the server is stopping' }));
  const detail = `not ready for mail within the ${options.openMs} ms that opening a connection may take`;
  const cancel = options.clock.timer(options.openMs, () => connection.fail({ kind: 'timeout', detail }));
  try {
    await connection.connected(options.timeouts.connectMs);
    const attempt = await greet(connection, target, options);
    if (attempt.kind === 'open') return attempt;
    await connection.untilClosed();
    const { localAddress } = connection;
    return { ...classifyRefusal(attempt, target), transcript: connection.transcript.lines(), localAddress };
  } finally {
    cancel();
    unwatch();
  }
}

/** Finds out why a server refused to start. This is never about a recipient, because none has been named yet. */
function classifyRefusal(attempt: FailedAttempt, target: Target): FailedAttempt {
  const { reply } = attempt;
  if (reply === undefined || attempt.cause !== undefined) return attempt;
  const { cause, found } = classifyReply({ reply, stage: 'the greeting', mx: target.host });
  if (cause === undefined) return attempt;
  // RFC 7504: 521 and 556 say that no mail is taken at all, unless the words are about us.
  return { ...attempt, cause, takesNoMail: meansNoMail(reply) && found === 'takes_no_mail' };
}

const meansNoMail = ({ code }: Reply): boolean => code === 521 || code === 556;

async function greet(connection: SmtpConnection, target: Target, options: OpeningOptions): Promise<Attempt> {
  const { timeouts } = options;
  const mx = `${target.host} [${target.address}]`;
  if (options.relay?.tls === 'implicit') return greetOverTls(connection, target, options, mx);
  const greeting = await step(connection, undefined, timeouts.greetingMs);
  if ('kind' in greeting) return failed(connection, mx, 'connecting', hintAtImplicitTls(greeting, options));
  if (greeting.code !== 220) return refused(connection, mx, 'the greeting', greeting, timeouts.quitMs);
  const hello = await sendHello(connection, options);
  if ('kind' in hello) return failed(connection, mx, 'EHLO', hello);
  if ('reply' in hello) return refused(connection, mx, 'EHLO', hello.reply, timeouts.quitMs);

  const session = newSession(connection, target, options, hello);
  const wantsTls = options.tls.policy === 'enforced' || !options.tls.skip;
  if (hello.startTls && wantsTls) return protect(session, mx, options);
  const tlsFault: TlsFault | undefined = hello.startTls ? undefined : { kind: 'starttls-not-supported' };
  if (options.tls.policy === 'enforced') return noTls(connection, mx, 'offers no STARTTLS', { ...options, tlsFault });
  return { kind: 'open', session, handshakeFailed: false, tlsFault };
}

const newSession = (
  connection: SmtpConnection,
  target: Target,
  { timeouts, relay }: SessionOptions,
  can: Capabilities,
): SmtpSession => ({
  connection,
  mx: target.host,
  isSmarthost: relay?.tls === 'as asked',
  tls: null,
  can,
  timeouts,
  used: 0,
  needsReset: false,
});

/** Begins with the handshake (RFC 8314), and greets after it. */
async function greetOverTls(
  connection: SmtpConnection,
  target: Target,
  options: OpeningOptions,
  mx: string,
): Promise<Attempt> {
  const { timeouts } = options;
  if (connection.failure) return failed(connection, mx, 'connecting', connection.failure);
  const tls = await connection.startTls(target.host, timeouts.startTlsMs, options.tls);
  if (!tls) {
    const why = hintAtStartTls(connection.failure, options);
    return { ...failed(connection, mx, 'the TLS handshake', why), reason: 'tls_unavailable' as const };
  }
  if (!tls.authorized) return noTls(connection, mx, invalidCertificate(connection, options), options);
  const greeting = await step(connection, undefined, timeouts.greetingMs);
  if ('kind' in greeting) return failed(connection, mx, 'the greeting', greeting);
  if (greeting.code !== 220) return refused(connection, mx, 'the greeting', greeting, timeouts.quitMs);
  const hello = await sendHello(connection, options);
  if ('kind' in hello) return failed(connection, mx, 'EHLO', hello);
  if ('reply' in hello) return refused(connection, mx, 'EHLO', hello.reply, timeouts.quitMs);
  return loggedIn({ ...newSession(connection, target, options, hello), tls }, mx, options);
}

/** Adds which setting to change if a relay stays silent because it waits for TLS. */
function hintAtImplicitTls(failure: Failure, { relay }: Pick<SessionOptions, 'relay'>): Failure {
  const isSilent = failure.kind === 'timeout' || failure.kind === 'lost';
  if (relay?.tls !== 'starttls' || !isSilent) return failure;
  const hint = `no greeting came; if the server speaks TLS from the first byte, as at port 465, set relays.${relay.name}.tls = "implicit"`;
  return { ...failure, detail: `${failure.detail}; ${hint}` };
}

/** Adds which setting to change if a relay may have greeted without TLS. */
function hintAtStartTls(failure: Failure | undefined, { relay }: Pick<SessionOptions, 'relay'>): Failure | undefined {
  if (failure === undefined || failure.kind === 'aborted' || relay?.tls !== 'implicit') return failure;
  const hint = `if the server begins TLS by STARTTLS, as at ports 587 and 25, set relays.${relay.name}.tls = "starttls"`;
  return { ...failure, detail: `${failure.detail}; ${hint}` };
}

/** Logs in if there are credentials; the caller has verified the certificate of their relay. */
async function loggedIn(session: SmtpSession, mx: string, { login, timeouts }: OpeningOptions): Promise<Attempt> {
  const { connection } = session;
  if (login === undefined) return { kind: 'open', session, handshakeFailed: false };
  if (session.tls?.authorized !== true) throw new Error('login without a verified certificate');
  const end = await logIn(connection, session.can.logins, login, timeouts.loginMs);
  if (end.kind === 'in') return { kind: 'open', session, handshakeFailed: false };
  if (end.kind === 'failed') return failed(connection, mx, 'the login', end.failure);
  connection.quit(timeouts.quitMs);
  if (end.kind === 'refused') return misconfigured(`${mx}: ${end.detail}`, end.reply);
  return {
    kind: 'failed',
    reason: 'refused_for_now',
    detail: `${mx}: ${end.detail}`,
    reply: end.reply,
    cause: 'receiver_trouble',
    takesNoMail: false,
    handshakeFailed: false,
  };
}

function invalidCertificate(
  { certificateFault: fault }: SmtpConnection,
  { relay }: Pick<SessionOptions, 'relay'>,
): string {
  const isPrivate = relay !== undefined && fault?.kind === 'certificate-not-trusted';
  const advice = isPrivate ? '; for a private relay, its ca_file names the certificate of its authority' : '';
  return `has a certificate that is not valid for it${fault === undefined ? '' : ` (${fault.words})`}${advice}`;
}

/** Returns what is wrong with the certificate of the peer for this mail; undefined if nothing is. */
function findCertificateFault(
  connection: SmtpConnection,
  { tls: { demand, policy, verifyEnforced }, clock }: SessionOptions,
): TlsFault | undefined {
  if (demand !== undefined && typeof demand.verify === 'object') {
    const result = verifyDane({ ...demand.verify, chain: connection.readCertificates(), now: clock.now() });
    return result.kind === 'match' ? undefined : { kind: 'tlsa-invalid', words: result.detail };
  }
  const isRequired = demand?.verify === 'name' || (policy === 'enforced' && verifyEnforced);
  return isRequired ? connection.certificateFault : undefined;
}

async function protect(session: SmtpSession, mx: string, options: OpeningOptions): Promise<Attempt> {
  const { connection, timeouts } = session;
  connection.expectNothingAfter();
  const answer = await step(connection, 'STARTTLS\r\n', timeouts.startTlsMs);
  if ('kind' in answer) return { ...failed(connection, mx, 'STARTTLS', answer), handshakeFailed: true };
  if (answer.code !== 220) {
    if (answer.code === 421) return refused(connection, mx, 'STARTTLS', answer, timeouts.quitMs);
    const tlsFault: TlsFault = { kind: 'starttls-not-supported', words: replyText(answer) };
    if (options.tls.policy === 'opportunistic') return { kind: 'open', session, handshakeFailed: false, tlsFault };
    return noTls(connection, mx, `replied to STARTTLS with ${replyText(answer)}`, { ...options, tlsFault });
  }
  if (connection.hasTrailingBytes(answer)) {
    connection.fail({ kind: 'malformed', detail: 'bytes were injected after the reply to STARTTLS' });
    return { ...failed(connection, mx, 'STARTTLS', undefined), reason: reasonFor(options), handshakeFailed: true };
  }
  const { demand } = options.tls;
  const tls = await connection.startTls(session.mx, timeouts.startTlsMs, {
    ...options.tls,
    serverName: demand?.serverName,
  });
  if (!tls) {
    const broken = failed(connection, mx, 'the TLS handshake', undefined);
    return {
      ...broken,
      reason: reasonFor(options),
      handshakeFailed: true,
      tlsFault: { kind: 'validation-failure', words: broken.detail },
    };
  }
  const fault = findCertificateFault(connection, options);
  if (fault) {
    const why =
      fault.kind === 'tlsa-invalid' ? `failed the check: ${fault.words}` : invalidCertificate(connection, options);
    return noTls(connection, mx, why, { ...options, tlsFault: fault });
  }
  // DANE proves the name without an authority.
  const isByDane = typeof demand?.verify === 'object';
  // RFC 3207 §4.2: what was learned before the handshake is forgotten.
  const hello = await sendHello(connection, options);
  if ('kind' in hello) return { ...failed(connection, mx, 'EHLO after STARTTLS', hello), handshakeFailed: true };
  if ('reply' in hello) return refused(connection, mx, 'EHLO after STARTTLS', hello.reply, timeouts.quitMs);
  const secured = { ...session, tls: isByDane ? { ...tls, authorized: true } : tls, can: hello };
  return loggedIn(secured, mx, options);
}

async function sendHello(
  connection: SmtpConnection,
  options: SessionOptions,
): Promise<Capabilities | Failure | { reply: Reply }> {
  const ehlo = await step(connection, `EHLO ${options.heloName}\r\n`, options.timeouts.ehloMs);
  if ('kind' in ehlo) return ehlo;
  if (ehlo.code === 250) return parseCapabilities(ehlo);
  if (ehlo.code < 500) return { reply: ehlo };
  // RFC 5321 §3.2: an old server that does not know EHLO still takes HELO.
  const helo = await step(connection, `HELO ${options.heloName}\r\n`, options.timeouts.ehloMs);
  if ('kind' in helo) return helo;
  return helo.code === 250 ? NO_EXTENSIONS : { reply: helo };
}

const NO_EXTENSIONS: Capabilities = {
  pipelining: false,
  eightBitMime: false,
  smtpUtf8: false,
  startTls: false,
  logins: [],
  dsn: false,
  requireTls: false,
  sizeMax: 0,
};

function parseCapabilities(ehlo: Reply): Capabilities {
  const words = ehlo.lines.slice(1).map((line) => line.trim().toUpperCase().split(/\s+/));
  const has = (keyword: string): boolean => words.some(([first]) => first === keyword);
  const sizeMax = Number(words.find(([first]) => first === 'SIZE')?.[1] ?? 0);
  return {
    pipelining: has('PIPELINING'),
    eightBitMime: has('8BITMIME'),
    smtpUtf8: has('SMTPUTF8'),
    startTls: has('STARTTLS'),
    // Old servers also write AUTH=LOGIN.
    logins: words
      .flatMap(([first = '', ...more]) => (/^AUTH(=|$)/.test(first) ? [first.slice(5), ...more] : []))
      .filter((one) => one !== ''),
    dsn: has('DSN'),
    requireTls: has('REQUIRETLS'),
    sizeMax: Number.isSafeInteger(sizeMax) && sizeMax > 0 ? sizeMax : 0,
  };
}

async function step(
  connection: SmtpConnection,
  command: string | undefined,
  silenceMs: number,
): Promise<Reply | Failure> {
  if (command) connection.send(command);
  const { replies, failure } = await connection.read(1, silenceMs);
  return replies[0] ?? failure ?? { kind: 'lost', detail: 'no reply' };
}

function failed(
  connection: SmtpConnection,
  mx: string,
  during: string,
  failure: Failure | undefined,
): Extract<Attempt, { kind: 'failed' }> {
  const why: Failure = failure ?? connection.failure ?? { kind: 'lost', detail: 'unknown' };
  connection.fail({ kind: 'lost', detail: why.detail });
  return {
    kind: 'failed',
    reason: why.isOfSource === true ? 'source_unavailable' : REASONS[why.kind],
    detail: `${mx}: ${during}: ${failureText(why)}`,
    takesNoMail: false,
    handshakeFailed: false,
  };
}

export const REASONS: Record<Failure['kind'], DeferReason> = {
  unreachable: 'unreachable',
  lost: 'connection_lost',
  timeout: 'timeout',
  malformed: 'protocol_error',
  aborted: 'stopping',
};

function refused(connection: SmtpConnection, mx: string, what: string, reply: Reply, quitMs: number): Attempt {
  connection.quit(quitMs);
  return {
    kind: 'failed',
    reason: 'refused_for_now',
    detail: `${mx}: ${what}: ${replyText(reply)}`,
    reply,
    takesNoMail: false,
    handshakeFailed: false,
  };
}

const reasonFor = ({ tls: { demand } }: Pick<SessionOptions, 'tls'>): DeferReason =>
  demand ? 'tls_policy_unmet' : 'tls_unavailable';

function noTls(
  connection: SmtpConnection,
  mx: string,
  why: string,
  { relay, timeouts, tls, tlsFault }: SessionOptions & { tlsFault?: TlsFault | undefined },
): Attempt {
  connection.quit(timeouts.quitMs);
  const isRelay = relay !== undefined && relay.tls !== 'as asked';
  const who = isRelay
    ? `The relay ${relay.name} is used over TLS only`
    : tls.demand
      ? `TLS is required by ${tls.demand.because}`
      : 'TLS is enforced for this sender';
  return {
    kind: 'failed',
    reason: reasonFor({ tls }),
    detail: `${who}, but ${mx} ${why}`,
    takesNoMail: false,
    handshakeFailed: false,
    tlsFault,
  };
}
