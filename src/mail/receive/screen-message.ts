import { systemClock, type Clock } from '../../platform/clock.ts';
import type { World } from '../../platform/world.ts';
import type { Authentication } from '../received-emails/index.ts';
import { answerQuestion, type Checks, type CheckOrder, type DnsQuestion } from './authenticate.ts';
import type { Arrival, Deferral, LoadedArrival } from './inbound-message.ts';
import type { MessageContent, ContentSource } from './message-content.ts';
import { clientKey } from '../../platform/network/index.ts';
import { createMessageThread } from './message-worker.ts';
import net from 'node:net';
import http from 'node:http';

interface ClamdOptions {
  host: string;
  port: number;
  clock: Clock;
  timeoutMs: number;
}

const CHUNK_BYTES = 256 * 1024;
const CLAMD_ANSWER_BYTES_MAX = 4096;

/**
 * Scans a message with clamd (INSTREAM); returns the name of the virus, or undefined if it finds none. Rejects if clamd
 * gives no result.
 */
function scan(raw: Buffer, { host, port, clock, timeoutMs }: ClamdOptions): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, host);
    let said = '';
    const end = (error: Error | undefined, virus?: string): void => {
      stop();
      socket.destroy();
      if (error) reject(error);
      else resolve(virus);
    };
    const stop = clock.timer(timeoutMs, () => end(new Error(`clamd gave no answer in ${timeoutMs / 1000} s`)));
    socket.on('error', (error) => end(error));
    socket.on('close', () => end(new Error(`clamd ended the connection: ${said.slice(0, 200)}`)));
    socket.on('data', (piece: Buffer) => {
      said += piece.toString('latin1');
      if (said.length > CLAMD_ANSWER_BYTES_MAX) return end(new Error('the answer of clamd is too long'));
      const [answer, ...rest] = said.split('\0');
      if (rest.length === 0) return undefined;
      const virus = /^stream: (.+) FOUND$/.exec(answer ?? '')?.[1];
      const isClean = answer === 'stream: OK';
      return end(isClean || virus !== undefined ? undefined : new Error(`clamd says: ${answer ?? ''}`), virus);
    });
    // clamd may respond and close before it has read everything.
    socket.write('zINSTREAM\0');
    for (let at = 0; at < raw.length; at += CHUNK_BYTES) {
      const chunk = raw.subarray(at, at + CHUNK_BYTES);
      socket.write(encodeLength(chunk.length));
      socket.write(chunk);
    }
    socket.write(encodeLength(0));
  });
}

function encodeLength(bytes: number): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes);
  return length;
}

type Spam = NonNullable<Authentication['spam']>;

interface RspamdOptions {
  host: string;
  port: number;
  clock: Clock;
  timeoutMs: number;
}

const RSPAMD_ANSWER_BYTES_MAX = 1024 * 1024;

/** Returns the score of a message; rejects if rspamd gives none. */
function requestScore(arrival: LoadedArrival, recipients: readonly string[], options: RspamdOptions): Promise<Spam> {
  const { host, port, clock, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    const request = http.request({
      host,
      port,
      method: 'POST',
      path: '/checkv2',
      headers: headersFor(arrival, recipients),
    });
    const stop = clock.timer(timeoutMs, () =>
      request.destroy(new Error(`rspamd gave no answer in ${timeoutMs / 1000} s`)),
    );
    const fail = (error: Error): void => {
      stop();
      reject(error);
    };
    request.on('error', fail);
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      let size = 0;
      response.on('error', fail);
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size > RSPAMD_ANSWER_BYTES_MAX) request.destroy(new Error('the answer of rspamd is too long'));
        else pieces.push(piece);
      });
      response.on('end', () => {
        stop();
        try {
          resolve(readScore(response.statusCode ?? 0, Buffer.concat(pieces).toString('utf8')));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    request.end(arrival.raw);
  });
}

function readScore(status: number, text: string): Spam {
  if (status !== 200) throw new Error(`rspamd answered ${status}: ${text.slice(0, 200)}`);
  const { score, required_score: required } = JSON.parse(text) as { score?: unknown; required_score?: unknown };
  if (typeof score !== 'number' || typeof required !== 'number') throw new Error('rspamd answered without a score');
  return { score, required_score: required, is_spam: score >= required };
}

/** Builds HTTP headers, which can contain printable ASCII only; rspamd reads everything else in the message. */
function headersFor(
  { client, mailFrom, raw }: LoadedArrival,
  recipients: readonly string[],
): Record<string, string | string[]> {
  const plain = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, '');
  return {
    'content-length': String(raw.length),
    ip: plain(client.address),
    helo: plain(client.name),
    from: plain(mailFrom),
    rcpt: recipients.map(plain),
  };
}

/** The decision of screening about a message before it is stored. */
type ScreenResult =
  | { kind: 'keep'; authentication: Authentication; virus: string | undefined }
  /** The DMARC policy of its domain requests its refusal; undefined: its From names no single domain. */
  | { kind: 'refuse'; domain: string | undefined }
  /** A check that decides gave no result in time. */
  | { kind: 'defer'; deferral: Deferral };

/** Runs all checks at the same time. Only viruses and DMARC decide; the other results are stored for readers of the message. */
export async function screenMessage(
  world: World,
  { authenticate }: Authenticator,
  arrival: Arrival,
  recipients: readonly string[],
): Promise<ScreenResult> {
  const { receiving } = world.config;
  const waitMs = receiving.judge_seconds * 1000;
  if (arrival.isOwnNotice === true) {
    const authentication = { ...(await authenticate(arrival)), verdict: 'pass' as const, spam: null };
    return { kind: 'keep', authentication, virus: undefined };
  }
  const [checks, virus, spam] = await Promise.all([
    authenticate(arrival),
    virusIn(world, arrival.content, waitMs),
    spamScore(world, arrival, recipients, waitMs),
  ]);
  if (virus === NO_ANSWER) return { kind: 'defer', deferral: { why: 'no_scanner' } };
  const { result, policy, domain } = checks.dmarc;
  // Otherwise a message could get past DMARC by being too costly to check.
  if (result === 'temperror' && receiving.dmarc === 'refuse') {
    return { kind: 'defer', deferral: { why: 'unchecked' } };
  }
  const isUnaskable = result === 'permerror' && domain === null;
  if (isUnaskable && receiving.dmarc === 'refuse') return { kind: 'refuse', domain: undefined };
  const isDisowned = result === 'fail' && (policy === 'reject' || policy === 'quarantine');
  if (isDisowned && policy === 'reject' && receiving.dmarc === 'refuse') {
    return { kind: 'refuse', domain: domain ?? '' };
  }
  const isSuspicious = ((isDisowned || isUnaskable) && receiving.dmarc !== 'keep') || spam?.is_spam === true;
  const verdict = isSuspicious ? 'suspicious' : isAuthenticated(checks) ? 'pass' : 'unauthenticated';
  return { kind: 'keep', authentication: { ...checks, verdict, spam }, virus };
}

const isAuthenticated = ({ spf, dkim, dmarc }: Checks): boolean =>
  [spf, dmarc, ...dkim].some(({ result }) => result === 'pass');

const NO_ANSWER = Symbol('no answer');

async function virusIn(
  world: World,
  content: MessageContent,
  timeoutMs: number,
): Promise<string | typeof NO_ANSWER | undefined> {
  const { clamd, clamd_down: whenDown } = world.config.receiving;
  if (clamd === '') return undefined;
  try {
    return await scan(await content.whole(), { ...hostAndPort(clamd), clock: systemClock, timeoutMs });
  } catch (error) {
    world.log.error({ err: error, whenDown }, 'clamd does not answer');
    return whenDown === 'defer' ? NO_ANSWER : undefined;
  }
}

async function spamScore(
  world: World,
  arrival: Arrival,
  recipients: readonly string[],
  timeoutMs: number,
): Promise<Spam | null> {
  const { rspamd } = world.config.receiving;
  if (rspamd === '') return null;
  const raw = await arrival.content.whole();
  return requestScore({ ...arrival, raw }, recipients, { ...hostAndPort(rspamd), clock: systemClock, timeoutMs }).catch(
    (error: unknown) => {
      world.log.error({ err: error }, 'rspamd does not answer');
      return null;
    },
  );
}

function hostAndPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}

interface Authenticator {
  /**
   * Checks SPF, DKIM, DMARC and ARC of a message. Beyond the limits of time and size the results are `temperror`; never
   * rejects.
   */
  authenticate(arrival: Arrival): Promise<Checks>;
  close(): Promise<void>;
}

type Answer = { checks: Checks } | { failed: string };

/** Maximum number of signatures. Each costs a hash of the message; honest messages have fewer. */
const SIGNATURES_MAX = 20;
/** The cost of folds in one field is quadratic: fifty thousand of them, 200 KB, take 15 seconds. */
const FOLDS_MAX = 10_000;
/** The parser's limit of headers (`parse-message.ts`). */
const HEAD_BYTES_MAX = 512 * 1024;
/** Up to these limits a check takes tens of milliseconds at most; a hostile message beyond them can take minutes. */
const ORDINARY_HEAD_BYTES = 32 * 1024;
const ORDINARY_HASHED_BYTES = 512 * 1024;
/** Checks wait for DNS most of the time. */
const ORDINARY_AT_ONCE = 200;
const COSTLY_THREADS = 2;

const NOTHING_KNOWN: Checks = {
  spf: { result: 'temperror', domain: null },
  dkim: [],
  dmarc: { result: 'temperror', domain: null, policy: null },
  arc: { result: 'none' },
};

/**
 * Creates the threads that run the checks, because a hostile message of a few megabytes can keep them busy for minutes.
 * Ordinary messages share a thread; costly ones are checked one at a time, within a limit of time.
 */
export function createAuthenticator(world: World): Authenticator {
  const { config, log, resolver } = world;
  const threadFor = (atOnce: number) =>
    createMessageThread<CheckOrder & { source: ContentSource }, Answer>({
      module: 'src/mail/receive/authentication-thread.ts',
      clock: systemClock,
      limitMs: config.receiving.judge_seconds * 1000,
      atOnce,
      late: (because) => ({ failed: because }),
      answerQuestion: (question) => answerQuestion(resolver, question as DnsQuestion),
    });
  const ordinary = threadFor(ORDINARY_AT_ONCE);
  const costly = Array.from({ length: COSTLY_THREADS }, () => threadFor(1));

  function chooseThread({ content }: Arrival, { headBytes, signatures }: Head) {
    const hashedBytes = content.bytes * Math.max(1, signatures);
    if (headBytes <= ORDINARY_HEAD_BYTES && hashedBytes <= ORDINARY_HASHED_BYTES) return ordinary;
    return costly.reduce((least, one) => (one.waiting() < least.waiting() ? one : least));
  }

  return {
    async authenticate(arrival) {
      const { content, mailFrom, client } = arrival;
      const head = headIn(await content.head(HEAD_BYTES_MAX), content.bytes);
      if (!head || head.signatures > SIGNATURES_MAX || head.folds > FOLDS_MAX) return NOTHING_KNOWN;
      const order = { source: content.source, mailFrom, client, host: config.instance.host };
      const answer = await chooseThread(arrival, head)
        .ask(clientKey(client.address), order)
        .catch((error: Error) => ({ failed: error.message }));
      if ('checks' in answer) return answer.checks;
      log.warn({ because: answer.failed }, 'SPF, DKIM and DMARC of a message could not be checked');
      return NOTHING_KNOWN;
    },
    close: async () => void (await Promise.all([ordinary, ...costly].map((thread) => thread.close()))),
  };
}

interface Head {
  headBytes: number;
  signatures: number;
  /** The folds of the field with the most. */
  folds: number;
}

/** Lines that do not match continue the field above them. */
const FIELD_BEGINS = /^[!-9;-~]+[ \t]*:/;

/** Returns undefined if the head is larger than the limit. */
function headIn(top: Buffer, bytes: number): Head | undefined {
  const end = top.indexOf('\r\n\r\n');
  if (end < 0 && bytes > HEAD_BYTES_MAX) return undefined;
  const head = top.toString('latin1', 0, end < 0 ? top.length : end);
  const signatures = head.match(/^(?:dkim-signature|arc-message-signature)[ \t]*:/gim)?.length ?? 0;
  let folds = 0;
  let most = 0;
  for (const line of head.split('\n')) {
    folds = FIELD_BEGINS.test(line) ? 0 : folds + 1;
    most = Math.max(most, folds);
  }
  return { headBytes: head.length, signatures, folds: most };
}
