import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import {
  readErrorCode,
  Faulted,
  guardedConnector,
  type ConnectorOptions,
  type PostAnswer,
  type Posted,
  type PostFault,
  type PostPool,
} from './guarded-connector.ts';
import { undici } from './undici.ts';

export interface PoolWishes {
  connectionsMax: number;
  /** Time for requests to end after the pool is closed. */
  closeMs: number;
}

/** Node's servers close after five seconds, and a request sent while they close is lost. */
const IDLE_MS = 4000;
/** Reading a response slightly longer than what is kept costs less than a new connection. */
const SWALLOWED_BYTES_MAX = 65_536;
/** The remainder must arrive quickly: a server that sends it very slowly would block the connection forever. */
const SWALLOWED_MS_MAX = 250;
const CHARACTER_BYTES_MAX = 4;
const NOTHING = Buffer.alloc(0);
/** Maximum size of all headers of one response. */
const HEADER_BYTES_MAX = 16_384;

/** Creates pools of connections, each to an address that has passed the guard and is checked again once connected. */
export function createPostPools(options: ConnectorOptions): (url: URL, wishes: PoolWishes) => PostPool {
  const connect = guardedConnector(options);
  return (url, { connectionsMax, closeMs }) => {
    const pool = new (undici().Pool)(url.origin, {
      connect,
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // The caller alone limits the time of a response.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return {
      post({ path, headers, body }, answerBytesMax) {
        const exchange = new Exchange(answerBytesMax);
        pool.dispatch({ path, method: 'POST', headers, body }, exchange);
        return exchange;
      },
      close: () => closeWithin(pool, closeMs),
      cut: () => pool.destroy(),
    };
  };
}

async function closeWithin(pool: Pool, ms: number): Promise<void> {
  const { promise: isCut, resolve } = Promise.withResolvers<void>();
  const patience = setTimeout(() => void pool.destroy().then(resolve), ms).unref();
  // Do not wait for the pool to close once it was cut.
  await Promise.race([pool.close(), isCut]);
  clearTimeout(patience);
}

/** A request and its response. */
class Exchange implements Dispatcher.DispatchHandler, Posted {
  readonly answer: Promise<PostAnswer>;
  readonly #bytesMax: number;
  readonly #kept: Buffer[] = [];
  readonly #resolve: (answer: PostAnswer) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  #seenBytes = 0;
  #isOver = false;
  #stopSwallowing: NodeJS.Timeout | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    const { promise, resolve } = Promise.withResolvers<PostAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
  }

  giveUp(): void {
    if (this.#isOver) return;
    this.#finish(this.#isLong ? this.#answeredAndCut() : { kind: 'failed', fault: { kind: 'timeout' } });
    this.#controller?.abort(new Error('the time for this request is over'));
  }

  onRequestStart(started: Dispatcher.DispatchController): void {
    this.#controller = started;
    // It waited for a connection longer than it may take, so nothing of it is sent any more.
    if (this.#isOver) started.abort(new Error('the time for this request is over'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#retryAfter = [headers['retry-after']].flat()[0];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#seenBytes <= this.#bytesMax) this.#kept.push(chunk);
    this.#seenBytes += chunk.length;
    if (!this.#isLong) return;
    const stop = (): void => {
      if (!this.#isOver) this.#finish(this.#answeredAndCut());
      controller.abort(new Error('the answer is too long'));
    };
    if (this.#seenBytes > SWALLOWED_BYTES_MAX) stop();
    else this.#stopSwallowing ??= setTimeout(stop, SWALLOWED_MS_MAX).unref();
  }

  onResponseEnd(): void {
    clearTimeout(this.#stopSwallowing);
    if (this.#isOver) return;
    this.#isOver = true;
    // The connection is only free after one more turn; a post before that would open another one.
    queueMicrotask(() => setImmediate(() => this.#resolve(this.#answered())));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#stopSwallowing);
    if (this.#isOver) return;
    this.#finish(this.#isLong ? this.#answeredAndCut() : { kind: 'failed', fault: toFault(error), because: error });
  }

  /** More than the kept part of the body was received. */
  get #isLong(): boolean {
    return this.#seenBytes > this.#bytesMax;
  }

  #answered() {
    return {
      kind: 'answered' as const,
      status: this.#status,
      body: decodeText(this.#kept, this.#bytesMax),
      ...(this.#retryAfter === undefined ? {} : { retryAfter: this.#retryAfter }),
    };
  }

  #answeredAndCut(): PostAnswer {
    return { ...this.#answered(), isCut: true };
  }

  #finish(answer: PostAnswer): void {
    this.#isOver = true;
    this.#resolve(answer);
  }
}

function toFault(error: unknown): PostFault {
  if (error instanceof Faulted) return error.fault;
  const code = readErrorCode(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'unreadable', wrong: 'headers' };
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return { kind: 'unreadable', wrong: 'length' };
  if (!(error instanceof undici().errors.HTTPParserError)) return { kind: 'interrupted' };
  const reason = /\(([\w ,./'`-]{1,80})\)$/.exec(error.message)?.[1] ?? 'it could not be read';
  // The parser's code for a response that ends in the middle.
  return reason === 'Invalid EOF state' ? { kind: 'interrupted' } : { kind: 'unreadable', wrong: 'syntax', reason };
}

/**
 * Returns at most that many bytes of UTF-8, cut between characters. Invalid bytes become U+FFFD, and so does NUL, which
 * PostgreSQL cannot store.
 */
function decodeText(parts: readonly Buffer[], bytesMax: number): string {
  const [bytes = NOTHING] = parts.length > 1 ? [Buffer.concat(parts)] : parts;
  // A character cut by this limit lies beyond the part that is kept.
  const text = bytes.toString('utf8', 0, bytesMax + CHARACTER_BYTES_MAX).replaceAll('\0', '\ufffd');
  if (text.length <= bytesMax / CHARACTER_BYTES_MAX) return text;
  const written = Buffer.from(text);
  let end = Math.min(written.length, bytesMax);
  // RFC 3629 §3: bytes 10xxxxxx continue a character.
  while (((written[end] ?? 0) & 0xc0) === 0x80) end--;
  return written.toString('utf8', 0, end);
}
