import type { ErrorBody } from '../../src/contract/index.ts';
import { ApiFault, NAME_IT, noAnswer, NoAnswer, CredentialsFault } from './faults.ts';
import { findRoute, type AnswerOf, type CallOf, type ContractId, type DownloadId, type OperationId } from './routes.ts';

/** One frame of a stream of server-sent events. */
export interface StreamFrame {
  /** The name of the event; `message` if the frame has none. */
  event: string;
  data: string;
  /** The value of Last-Event-ID for continuing after this frame: the latest id received, as the standard requires. */
  lastId: string;
}

/** More than any frame of this API has; a server without line breaks must not fill our memory. */
const FRAME_CHARS_MAX = 32 * 1024 * 1024;

/**
 * Reads frames as the HTML standard (§9.2.6) defines them. It reads no bytes before somebody waits for them, and calls
 * `onBytes` for those that are no frame too, as signs of life.
 */
export async function* readFrames(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<StreamFrame, void> {
  const decoder = new TextDecoder();
  let frame = { event: '', data: [] as string[] };
  let lastId = '';
  let rest = '';
  for await (const chunk of bytes) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > FRAME_CHARS_MAX)
      throw new Error(`a line of the stream is longer than ${FRAME_CHARS_MAX} characters`);
    // A CR at the end may be half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        const [name = '', value = ''] = parseField(line);
        if (name === 'event') frame.event = value;
        if (name === 'data') frame.data.push(value);
        if (name === 'id' && !value.includes('\0')) lastId = value;
        continue;
      }
      if (frame.data.length > 0) yield { event: frame.event || 'message', data: frame.data.join('\n'), lastId };
      frame = { event: '', data: [] };
    }
  }
}

function parseField(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}

interface Asking {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** Called with the cookies that a response sets. */
  onCookies?: ((lines: readonly string[]) => void) | undefined;
}

/** The properties of a `Response` that are read here. */
interface Answer {
  status: number;
  ok: boolean;
  headers: { get(name: string): string | null };
}

/** A name may have addresses that lead nowhere. */
const CONNECT_MS = 10_000;

/**
 * Sends one request and reads the whole response, redirects included. Uses neither `fetch` nor an import of
 * `node:http`: both load all of undici, which costs more than everything else that a command does.
 */
export function exchange(asking: Asking, signal: AbortSignal): Promise<{ response: Answer; text: string }> {
  const { url, method, headers, body } = asking;
  const isSecure = url.startsWith('https:');
  const { request } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal });
    const late = setTimeout(() => sent.destroy(noConnection()), CONNECT_MS);
    const fail = (error: Error): void => {
      clearTimeout(late);
      reject((signal.aborted ? signal.reason : error) as Error);
    };
    sent.on('socket', (socket) => {
      if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(late));
      else clearTimeout(late);
    });
    // The last event, and the only one if the response is 101.
    sent.on('close', () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    sent.on('error', fail).on('response', (heard) => {
      const chunks: Buffer[] = [];
      heard.on('error', fail).on('data', (chunk: Buffer) => chunks.push(chunk));
      heard.on('end', () => {
        const status = heard.statusCode ?? 0;
        const get = (name: string): string | null => heard.headers[name]?.toString() ?? null;
        asking.onCookies?.(heard.headers['set-cookie'] ?? []);
        const response = { status, ok: status >= 200 && status < 300, headers: { get } };
        resolve({ response, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.end(body);
  });
}

const noConnection = (): Error => Object.assign(new Error('no connection'), { code: 'ETIMEDOUT', syscall: 'connect' });

interface WithPath {
  path?: Record<string, string>;
}

/** Moves the session to another team, which its path names. */
const MOVES: OperationId = 'switchTeam';

/**
 * Fills in the session's team in a path that needs it: a session reaches no other one, so that nobody types it. It is
 * requested each time, because the session may have been switched from elsewhere.
 */
function createTeamFill(
  askSession: (signal?: AbortSignal) => Promise<AnswerOf<'getSession'>>,
): <Call extends WithPath>(operation: OperationId, call: Call, signal?: AbortSignal) => Promise<Call> {
  return async (operation, call, signal) => {
    if (operation === MOVES || call.path?.['team_id'] !== undefined) return call;
    if (!findRoute(operation)[1].includes('{team_id}')) return call;
    const { current_team: team } = await askSession(signal);
    if (team) return { ...call, path: { ...call.path, team_id: team.id } };
    throw new CredentialsFault('This session has no team.', {
      advice: { words: 'Create one, or switch to one of yours, with', command: ['switchTeam', 'TEAM'] },
    });
  };
}

export interface ClientOptions {
  url: string;
  apiKey?: string | undefined;
  /** Credential for operator commands, if it differs from `apiKey`; a function makes a new one for each call. */
  operatorToken?: string | (() => string) | undefined;
  version: string;
  /** For a person who is signed in by cookies, in place of a key. */
  browser?: Browser;
  timeoutMs?: number;
  /** Called once, before the first request that may change something. */
  onWrite?: () => void;
  /**
   * Called before each request; throws when the server is known to be gone, even if another program responds at its
   * address.
   */
  mustBeThere?: (() => void) | undefined;
  /** Replaces waiting, so that a test need not wait. */
  wait?: (ms: number) => Promise<void>;
}

export interface Client {
  readonly url: string;
  /**
   * Returns the response that the contract describes; throws an ApiFault for a refusal, NoAnswer if there was no
   * response, and the reason of `signal` once that has fired.
   */
  call<Id extends OperationId>(operation: Id, call: CallOf<Id>, signal?: AbortSignal): Promise<AnswerOf<Id>>;
  /**
   * Downloads the file of a link that this server returned for `file`. The request goes to the address in use and
   * without the key, wherever the link points to.
   */
  download(file: LinkedFile, link: string): Promise<AsyncIterable<Uint8Array>>;
  /** Sends a form with a file, or a plain file; returns the response of the API. */
  upload(
    operation: 'createContactImport' | 'createImage',
    body: FormData | Blob,
    query?: Record<string, string>,
  ): Promise<unknown>;
  /** A file that the API makes for this caller. */
  fetchFile(
    operation: 'exportContacts' | 'exportPerson' | 'getContactImportFailedRows' | 'getInvoiceCsv' | 'getInvoicePage',
    query: Record<string, string | undefined>,
    path?: Readonly<Record<string, string>>,
    body?: object,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** The frames of a stream of server-sent events, as they come; it ends when the server ends it or `signal` fires. */
  stream(operation: 'listenWebhooks', call: StreamCall): Promise<AsyncIterable<StreamFrame>>;
}

/** The operation that a link leads to, and what the path of that link names. */
export interface LinkedFile {
  operation: DownloadId;
  path: Readonly<Record<string, string>>;
}

export interface StreamCall {
  query: Record<string, string | undefined>;
  /** The position at which an earlier stream broke off. */
  lastId?: string | undefined;
  signal: AbortSignal;
  /** Ends a stream that sends nothing at all for so long. */
  silenceMs: number;
}

const TIMEOUT_MS = 120_000;
/** A file may be large and the line slow. */
const FILE_MS = 1_800_000;
/** A rate limit clears within seconds; a longer wait is reported at once instead. */
const RETRY_AFTER_SECONDS_MAX = 30;

interface LooseCall {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  header?: Record<string, string | undefined>;
  body?: unknown;
}

/** Calls back at the first request that may change something. */
function createWriteNote(onWrite: ClientOptions['onWrite']): (method: string) => void {
  let hasWritten = false;
  return (method) => {
    if (hasWritten || method === 'GET') return;
    hasWritten = true;
    onWrite?.();
  };
}

export function createClient(options: ClientOptions): Client {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const wait = options.wait ?? ((ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)));
  const noteWrite = createWriteNote(options.onWrite);
  async function attempt(called: Called, asking: Asking, stop?: AbortSignal): Promise<unknown> {
    options.mustBeThere?.();
    const limit = AbortSignal.timeout(timeoutMs);
    const heard = exchange(asking, stop ? AbortSignal.any([stop, limit]) : limit);
    const { response, text } = await heard.catch((error: unknown) => {
      stop?.throwIfAborted();
      // A request that cannot be built was never sent.
      if (error instanceof TypeError) throw error;
      throw noAnswer({ url: options.url, method: asking.method, timeoutMs }, error);
    });
    return readAnswer(called, options.url, response, text);
  }

  const client: Client = {
    url: options.url,
    async call<Id extends OperationId>(operation: Id, call: CallOf<Id>, signal?: AbortSignal): Promise<AnswerOf<Id>> {
      const request = buildRequest(operation, await fillTeam(operation, call as LooseCall, signal), options);
      const called: Called = { operation, ...(call as LooseCall) };
      noteWrite(request.method);
      try {
        return (await attempt(called, request, signal)) as AnswerOf<Id>;
      } catch (error) {
        // A refusal of the rate limit was counted and nothing else, so that asking again is safe for every operation.
        if (!(error instanceof ApiFault) || error.status !== 429) throw error;
        const seconds = error.retryAfterSeconds;
        if (seconds === undefined || seconds > RETRY_AFTER_SECONDS_MAX) throw error;
        await wait(seconds * 1000);
        signal?.throwIfAborted();
        return (await attempt(called, request, signal)) as AnswerOf<Id>;
      }
    },
    async download(file, link) {
      const { pathname, search } = new URL(link);
      const lost = lostIn(options.url, FILE_MS);
      const response = await send({ ...options, apiKey: undefined }, `${pathname}${search}`, { method: 'GET' });
      if (response.status !== 200 || !response.body) {
        const text = await response.text();
        readAnswer(file, options.url, response, response.ok ? '' : text);
        throw lost(new Error(`the response had the status ${response.status}`));
      }
      return orLost(response.body, lost);
    },
    stream: (operation, call) => openStream(options, operation, call),
    async upload(operation, body, query = {}) {
      const [method, path] = findRoute(operation);
      noteWrite(method);
      const asked = new URLSearchParams(query);
      const response = await send(options, asked.size > 0 ? `${path}?${asked}` : path, { method, body });
      return readAnswer({ operation }, options.url, response, await response.text());
    },
    async fetchFile(operation, query, named = {}, body = undefined) {
      const [method, template] = findRoute(operation);
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(named[name] ?? ''));
      const asked = new URLSearchParams(Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]));
      const sent = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      const response = await send(options, asked.size > 0 ? `${path}?${asked}` : path, { method, ...sent });
      const lost = lostIn(options.url, FILE_MS);
      if (response.status !== 200 || !response.body) {
        const text = await response.text();
        readAnswer({ operation, path: named }, options.url, response, response.ok ? '' : text);
        throw lost(new Error(`the response had the status ${response.status}`));
      }
      return orLost(response.body, lost);
    },
  };
  const fillTeam = createTeamFill((signal) => client.call('getSession', {}, signal));
  return client;
}

/** Turns an error while reading into a fault that says the connection was lost. */
const lostIn =
  (url: string, timeoutMs: number) =>
  (error: unknown): NoAnswer =>
    noAnswer({ url, method: 'GET', timeoutMs }, error);

/** A request that takes as long as its file does. */
async function send(
  { url, apiKey, version, mustBeThere }: ClientOptions,
  path: string,
  init: RequestInit,
): Promise<Response> {
  mustBeThere?.();
  const headers = {
    ...init.headers,
    'user-agent': `rasket-cli/${version}`,
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const signal = AbortSignal.timeout(FILE_MS);
  return fetch(`${url}${path}`, { ...init, headers, signal, redirect: 'manual' }).catch((error: unknown) =>
    Promise.reject(noAnswer({ url, method: init.method ?? 'GET', timeoutMs: FILE_MS }, error)),
  );
}

async function openStream(
  options: ClientOptions,
  operation: 'listenWebhooks',
  call: StreamCall,
): Promise<AsyncIterable<StreamFrame>> {
  options.mustBeThere?.();
  const silence = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const isHeard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), call.silenceMs);
    timer.unref();
  };
  const lost = lostIn(options.url, call.silenceMs);
  const query = new URLSearchParams(Object.entries(call.query).filter((pair): pair is [string, string] => !!pair[1]));
  const headers: Record<string, string> = {
    'user-agent': `rasket-cli/${options.version}`,
    accept: 'text/event-stream',
    ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    ...(call.lastId === undefined ? {} : { 'last-event-id': call.lastId }),
  };
  isHeard();
  const signal = AbortSignal.any([call.signal, silence.signal]);
  const url = `${options.url}${findRoute(operation)[1]}${query.size > 0 ? `?${query}` : ''}`;
  const response = await fetch(url, { headers, signal, redirect: 'manual' }).catch((error: unknown) =>
    Promise.reject(lost(error)),
  );
  if (response.status !== 200 || !response.body) {
    const text = await response.text();
    readAnswer({ operation }, options.url, response, response.ok ? '' : text);
    throw lost(new Error(`the response had the status ${response.status}`));
  }
  return orLost(readFrames(response.body, isHeard), lost);
}

async function* orLost<T>(body: AsyncIterable<T>, lost: (error: unknown) => NoAnswer): AsyncIterable<T> {
  try {
    yield* body;
  } catch (error) {
    throw lost(error);
  }
}

function buildRequest(operation: OperationId, call: LooseCall, options: ClientOptions): Asking {
  const { url, version } = options;
  const [method, template] = findRoute(operation);
  const ofOperators = typeof options.operatorToken === 'function' ? options.operatorToken() : options.operatorToken;
  const apiKey = (template.startsWith('/operator/') ? ofOperators : undefined) ?? options.apiKey;
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.path?.[name];
    if (value === undefined) throw new Error(`${operation} was called without ${name}, which its path needs`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const headers: Record<string, string> = { 'user-agent': `rasket-cli/${version}`, accept: 'application/json' };
  if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;
  if (options.browser) Object.assign(headers, ofBrowser(options.browser));
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  for (const [name, value] of Object.entries(call.header ?? {})) {
    if (value !== undefined) headers[name] = value;
  }
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const { browser } = options;
  const onCookies = browser && ((lines: readonly string[]) => keepCookies(browser, lines));
  return { url: `${url}${path}${query.size > 0 ? `?${query}` : ''}`, method, headers, body, onCookies };
}

/** An operation and the objects that the call names. */
interface Called {
  operation: ContractId;
  path?: Readonly<Record<string, string>> | undefined;
  query?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
}

function readAnswer(
  { operation, path, query, body: sent }: Called,
  url: string,
  response: Answer,
  text: string,
): unknown {
  const body = parseJson(text);
  if (response.ok && response.headers.get('content-type')?.startsWith('text/plain')) return text;
  if (response.ok && body !== undefined) return body;
  if (isErrorBody(body)) {
    const retryAfter = response.headers.get('retry-after');
    throw new ApiFault({
      operation,
      path: path ?? {},
      query: query ?? {},
      sent: typeof sent === 'object' && sent !== null ? { ...sent } : {},
      status: response.status,
      body,
      requestId: response.headers.get('x-request-id') ?? '',
      retryAfterSeconds: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
    });
  }
  const location = response.headers.get('location');
  throw new NoAnswer({
    url,
    cause:
      location === null
        ? `${url} returned ${response.status}, but not in the format of this API; is it the right address?`
        : `${url} redirects to ${location}; use that address itself.`,
    advice: location === null ? NAME_IT : { ...NAME_IT, command: ['login', '--url', location] },
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isErrorBody(body: unknown): body is ErrorBody {
  const { name, message } = (body ?? {}) as { name?: unknown; message?: unknown };
  return typeof name === 'string' && typeof message === 'string';
}

/** The part of a browser that signing in with a password needs: the site of its page, and the cookies of that site. */
export interface Browser {
  origin: string;
  cookies: Map<string, string>;
}

/** Returns the headers that a browser adds to a call. */
function ofBrowser({ origin, cookies }: Browser): Record<string, string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return { origin, ...(cookie === '' ? {} : { cookie }) };
}

/** Stores the cookies that a response set, and removes those that it deleted. */
function keepCookies({ cookies }: Browser, lines: readonly string[]): void {
  for (const line of lines) {
    const [, name = '', value = '', attributes = ''] = /^([^=;]+)=([^;]*)(.*)$/.exec(line) ?? [];
    if (name === '') continue;
    if (/;\s*max-age=0\b/i.test(attributes)) cookies.delete(name);
    else cookies.set(name, value);
  }
}
