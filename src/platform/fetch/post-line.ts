import { errors, Pool, type Dispatcher } from 'undici';
import { codeOf, Faulted, guardedConnector, type ConnectorOptions } from './guarded-connector.ts';
import type { Post, PostAnswer, Posted, PostFault, PostLine } from './post-answer.ts';

export interface LinesOptions extends ConnectorOptions {
  userAgent: string;
}

export interface LineWishes {
  connectionsMax: number;
  /** What a closed line gives its requests to end. */
  closeMs: number;
}

/** Node's servers close after five seconds, and a request that crosses the close is lost. */
const IDLE_MS = 4000;
/** An answer that is a little longer than what is kept costs less to read than a new connection. */
const SWALLOWED_BYTES_MAX = 65_536;
/** The rest of it comes at once or not at all: whoever lets it drip would hold the connection for ever. */
const SWALLOWED_MS_MAX = 250;
const CHARACTER_BYTES_MAX = 4;
/** Headers of one answer, all together. */
const HEADER_BYTES_MAX = 16_384;

/** Lines to hosts, each connection to an address that has passed the guard, and checked again when it stands. */
export function createPostLines(options: LinesOptions): (url: URL, wishes: LineWishes) => PostLine {
  const connect = guardedConnector(options);
  return (url, { connectionsMax, closeMs }) => {
    const pool = new Pool(url.origin, {
      connect,
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // The caller's patience is the only limit of an answer.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return {
      post: (request, answerBytesMax) => postOn(pool, options.userAgent, request, answerBytesMax),
      close: () => closeWithin(pool, closeMs),
      cut: () => pool.destroy(),
    };
  };
}

async function closeWithin(pool: Pool, ms: number): Promise<void> {
  const cut = setTimeout(() => void pool.destroy(), ms).unref();
  await pool.close();
  clearTimeout(cut);
}

function postOn(pool: Dispatcher, userAgent: string, { path, headers, body }: Post, answerBytesMax: number): Posted {
  const { promise, resolve } = Promise.withResolvers<PostAnswer>();
  let controller: Dispatcher.DispatchController | undefined;
  let status = 0;
  let [isOver, hasEnded] = [false, false];
  const kept: Buffer[] = [];
  let seenBytes = 0;
  let letGo: NodeJS.Timeout | undefined;
  const conclude = (answer: PostAnswer): void => {
    isOver = true;
    resolve(answer);
  };
  const giveUp = (): void => {
    if (isOver || hasEnded) return;
    conclude({ kind: 'failed', fault: { kind: 'timeout' } });
    controller?.abort(new Error('the time for this request is over'));
  };
  const answered = (): void => {
    if (!isOver) conclude({ kind: 'answered', status, body: textOf(Buffer.concat(kept), answerBytesMax) });
  };
  pool.dispatch(
    { path, method: 'POST', headers: { 'user-agent': userAgent, ...headers }, body },
    {
      onRequestStart(started) {
        controller = started;
        // It waited for a connection longer than it may take: nothing of it is sent any more.
        if (isOver) started.abort(new Error('the time for this request is over'));
      },
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(reading, chunk) {
        if (seenBytes <= answerBytesMax) kept.push(chunk);
        seenBytes += chunk.length;
        if (seenBytes <= answerBytesMax) return;
        answered();
        const stop = (): void => reading.abort(new Error('the answer is longer than anybody reads'));
        if (seenBytes > SWALLOWED_BYTES_MAX) stop();
        else letGo ??= setTimeout(stop, SWALLOWED_MS_MAX).unref();
      },
      onResponseEnd() {
        clearTimeout(letGo);
        hasEnded = true;
        // The connection is free again after one more turn; who posts before that would open another one.
        queueMicrotask(() => setImmediate(answered));
      },
      onResponseError(_controller, error) {
        clearTimeout(letGo);
        if (isOver) return;
        conclude({ kind: 'failed', fault: faultOf(error), because: error });
      },
    },
  );
  return { answer: promise, giveUp };
}

function faultOf(error: unknown): PostFault {
  if (error instanceof Faulted) return error.fault;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'unreadable', wrong: 'headers' };
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return { kind: 'unreadable', wrong: 'length' };
  if (!(error instanceof errors.HTTPParserError)) return { kind: 'interrupted' };
  const reason = /\(([\w ,./'`-]{1,80})\)$/.exec(error.message)?.[1] ?? 'it could not be read';
  // The parser's word for an end in the middle.
  return reason === 'Invalid EOF state' ? { kind: 'interrupted' } : { kind: 'unreadable', wrong: 'syntax', reason };
}

/**
 * At most that many bytes of UTF-8, cut between characters. What is no text becomes the sign for unreadable, and so does
 * NUL, which PostgreSQL cannot store.
 */
function textOf(bytes: Buffer, bytesMax: number): string {
  // A character that is cut here stands behind what is kept.
  const text = bytes.toString('utf8', 0, bytesMax + CHARACTER_BYTES_MAX).replaceAll('\0', '\ufffd');
  if (text.length <= bytesMax / CHARACTER_BYTES_MAX) return text;
  const written = Buffer.from(text);
  let end = Math.min(written.length, bytesMax);
  // RFC 3629 §3: bytes 10xxxxxx continue a character.
  while (((written[end] ?? 0) & 0xc0) === 0x80) end--;
  return written.toString('utf8', 0, end);
}
