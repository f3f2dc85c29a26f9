import { readFileSync } from 'node:fs';
import path from 'node:path';
import { refuse } from '../../platform/refusal.ts';
import type { PostAnswer } from '../../platform/fetch/index.ts';
import type { World } from '../../platform/world.ts';
import { callerGone } from '../../tenancy/access/index.ts';
import { buildPrompt, TRY_AGAIN, type AnswerForm, type Task } from './model-tasks.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';

/**
 * Chat completions API of OpenAI, which many other servers implement. Sends no token limit and no temperature: servers
 * differ in the name of the one, and some models refuse the other.
 */
const chatCompletions: Wire = {
  request: ({ name, system, user, schema }, { model, key, withSchema }) => ({
    path: '/chat/completions',
    headers: { ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
    body: {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      stream: false,
      ...(withSchema ? { response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } } } : {}),
    },
  }),
  read(body) {
    const choices = readField(body, 'choices');
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const message = readField(first, 'message');
    const content = readField(message, 'content');
    const reason = readField(first, 'finish_reason');
    if (reason === 'length') return { kind: 'cut_off' };
    // A refusal replaces the content; a filter omits parts of it.
    if (reason === 'content_filter' || isText(readField(message, 'refusal')) || hasRefusal(content)) {
      return { kind: 'refused' };
    }
    return { kind: 'said', json: jsonIn(typeof content === 'string' ? content : textOfParts(content)) };
  },
  isSchemaOptional: true,
};

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

const hasRefusal = (content: unknown): boolean =>
  Array.isArray(content) && content.some((part) => readField(part, 'type') === 'refusal');

function textOfParts(content: unknown): string {
  if (!Array.isArray(content)) return '';
  const texts = content.filter((part) => readField(part, 'type') === 'text').map((part) => readField(part, 'text'));
  return texts.filter((text) => typeof text === 'string').join('');
}

/** Largest output that all of its models support; a draft of a hundred thousand characters is shorter. */
const TOKENS_MAX = 8192;

/** Messages API of Anthropic. The result is the input of a tool that the model has to call. */
const messagesApi: Wire = {
  request: ({ name, system, user, schema }, { model, key }) => ({
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01', ...(key === '' ? {} : { 'x-api-key': key }) },
    body: {
      model,
      max_tokens: TOKENS_MAX,
      system,
      messages: [{ role: 'user', content: user }],
      tools: [{ name, description: 'Takes the answer.', input_schema: schema }],
      tool_choice: { type: 'tool', name, disable_parallel_tool_use: true },
    },
  }),
  read(body) {
    const reason = readField(body, 'stop_reason');
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return { kind: 'cut_off' };
    if (reason === 'refusal') return { kind: 'refused' };
    const content = readField(body, 'content');
    const parts: unknown[] = Array.isArray(content) ? content : [];
    const use = parts.find((part) => readField(part, 'type') === 'tool_use');
    return { kind: 'said', json: readField(use, 'input') };
  },
  isSchemaOptional: false,
};

/** Reason that there is no result. Callers and operators see `say`; only the log gets `fault`. */
interface Failure {
  say: string;
  fault: object;
  /** Concerns only this question, not the health of the model. */
  isOfQuestion?: true;
}

const WAIT_SECONDS_MAX = 86_400;

/**
 * Describes a failed response. Its own words may repeat the key and the question, so none of its text is repeated, only
 * its status, the codes of its error and the seconds of Retry-After.
 */
function toFailure(answer: PostAnswer): Failure {
  if (answer.kind === 'failed')
    return { say: FAULTS[answer.fault.kind], fault: { err: answer.because, ...answer.fault } };
  const { status, body, retryAfter } = answer;
  const codes = codesIn(body);
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter), WAIT_SECONDS_MAX) : undefined;
  const wait = seconds === undefined ? '' : `, for ${seconds} seconds by its own word`;
  return {
    say: `its server ${describeStatus(status, Object.values(codes))} (${status})${wait}`,
    fault: { status, ...codes },
  };
}

function describeStatus(status: number, codes: readonly string[]): string {
  if (status === 402 || codes.some((code) => OUT_OF_MONEY.includes(code))) return 'has no credit left for this account';
  if (status === 401 || status === 403) return 'does not accept the key';
  if (status === 404) return 'does not know the model, or the address is wrong';
  if (status === 429) return 'accepts no more requests at present';
  if (status === 529 || codes.includes('overloaded_error')) return 'is overloaded';
  return status >= 500 ? 'has an error' : 'returned an unexpected response';
}

/** OpenAI sends the first one with status 429, although waiting does not help. */
const OUT_OF_MONEY = ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached'];

const FAULTS = {
  blocked: 'its server has no address that may be connected to',
  unreachable: 'its server cannot be reached',
  tls: 'its server has no certificate that can be trusted',
  interrupted: 'its server closed the connection',
  timeout: 'it took too long',
  unreadable: 'its server did not return an HTTP response',
} as const;

function codesIn(body: string): Record<string, string> {
  const error = readField(parseJson(body), 'error');
  const codes = ['type', 'code'].map((name) => [name, readField(error, name)] as const);
  const isCode = (code: unknown): code is string => typeof code === 'string' && /^[a-z][a-z_.]{0,79}$/.test(code);
  return Object.fromEntries(codes.filter((entry): entry is readonly [string, string] => isCode(entry[1])));
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

const WIRES: Readonly<Record<World['config']['ai']['kind'], Wire>> = {
  openai: chatCompletions,
  anthropic: messagesApi,
};

/** Far larger than a useful draft; `platform/fetch` reads little more than this off the wire. */
const ANSWER_BYTES_MAX = 120_000;

/** Statuses of a server that does not support the request. */
const UNKNOWN_TO_IT: readonly number[] = [400, 404, 415, 422, 501];

export const hasModel = ({ config }: World): boolean => config.ai.url !== '';

/** Caller of a model, and the record of the model's health. */
export interface Asking {
  store: World;
  whenGone?: () => AbortSignal;
  services: { modelHealth: ModelHealth };
}

/** Asks a model, once more if the reply does not fit the form; throws if that fails too, or for any other failure. */
export async function askModel<Answer>(
  { store: world, whenGone, services: { modelHealth } }: Asking,
  task: Task,
  form: AnswerForm<Answer>,
): Promise<Answer> {
  const { ai } = world.config;
  const gone = whenGone?.();
  const patience = AbortSignal.timeout(ai.timeout_seconds * 1000);
  const signal = gone ? AbortSignal.any([gone, patience]) : patience;
  const url = toBaseUrl(ai.url);
  const exchange = (request: ModelRequest) => post(world, { request, base: url, signal });
  const result = await askTwice(world, task, form, exchange);
  if ('answer' in result || result.isOfQuestion) modelHealth.noteAnswer();
  else if (!gone?.aborted) modelHealth.noteFailure(result.say);
  if (gone?.aborted) throw callerGone();
  if ('answer' in result) return result.answer;
  world.log.warn({ model: ai.model, host: url.host, ...result.fault }, 'the model did not return a valid response');
  throw refuse('service_unavailable', {
    say: `The model returned no usable answer (${result.say}); no credit was charged. Try again later.`,
  });
}

type Asked<Answer> = { answer: Answer } | Failure;

async function askTwice<Answer>(
  world: World,
  task: Task,
  form: AnswerForm<Answer>,
  exchange: (request: ModelRequest) => Promise<PostAnswer>,
): Promise<Asked<Answer>> {
  const { ai } = world.config;
  const wire = WIRES[ai.kind];
  const key = readKey(world);
  if (key === undefined) return { say: 'its key cannot be read', fault: { key_file: ai.key_file } };
  let withSchema = true;
  let wrong = '';
  for (let misfits = 0; misfits < 2;) {
    const question = buildQuestion(world, task, form, wrong);
    const answer = await exchange(wire.request(question, { model: ai.model, key, withSchema }));
    if (isRefusal(answer, UNKNOWN_TO_IT) && withSchema && wire.isSchemaOptional) {
      withSchema = false;
      continue;
    }
    const heard = hear(answer, wire, form);
    if (!('wrong' in heard)) return heard;
    wrong = heard.wrong;
    misfits++;
  }
  return { say: 'it twice returned something other than what was requested', fault: { wrong } };
}

const isRefusal = (answer: PostAnswer, statuses: readonly number[]): boolean =>
  answer.kind === 'answered' && statuses.includes(answer.status);

/** Reads a response: returns the result, what is wrong with it, or the reason that there is none. */
function hear<Answer>(answer: PostAnswer, wire: Wire, form: AnswerForm<Answer>): Asked<Answer> | { wrong: string } {
  if (isTooLong(answer)) return { wrong: `it was longer than ${ANSWER_BYTES_MAX} bytes` };
  if (answer.kind === 'failed' || answer.status !== 200) return toFailure(answer);
  const reply = wire.read(parseJson(answer.body));
  if (reply.kind === 'cut_off') return { wrong: 'it was cut off before its end; be shorter' };
  if (reply.kind === 'refused') return { say: 'the model refused to answer this', isOfQuestion: true, fault: {} };
  return form.read(reply.json);
}

const isTooLong = (answer: PostAnswer): boolean =>
  answer.kind === 'answered'
    ? answer.isCut === true
    : answer.fault.kind === 'unreadable' && answer.fault.wrong === 'endless';

function buildQuestion<Answer>(world: World, task: Task, form: AnswerForm<Answer>, wrong: string): Question {
  const { system, user } = buildPrompt(task, form.schema, world.ids.hex(12));
  return {
    name: form.name,
    system: wrong === '' ? system : system + TRY_AGAIN(wrong),
    user,
    schema: form.schema,
  };
}

/** Posts a request; ends with the time limit for all tries, or when the caller has gone. */
async function post(
  world: World,
  { request, base, signal }: { request: ModelRequest; base: URL; signal: AbortSignal },
): Promise<PostAnswer> {
  if (signal.aborted) return { kind: 'failed', fault: { kind: 'timeout' } };
  // Uses a new connection for each request, so that the remains of an oversized response cannot precede the next one.
  const pool = world.modelFetch.pool(base, { connectionsMax: 1, closeMs: 0 });
  const posted = pool.post(
    {
      path: base.pathname.replace(/\/$/, '') + request.path,
      headers: {
        ...request.headers,
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': `rasket (+https://${world.config.instance.host}/)`,
      },
      body: JSON.stringify(request.body),
    },
    ANSWER_BYTES_MAX,
  );
  const end = (): void => posted.giveUp();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await posted.answer;
  } finally {
    signal.removeEventListener('abort', end);
    await pool.cut();
  }
}

/** Returns the URL of the server; this machine is addressed without DNS. */
function toBaseUrl(url: string): URL {
  const base = new URL(url);
  if (base.protocol === 'http:' && base.hostname === 'localhost') base.hostname = '127.0.0.1';
  return base;
}

/** Reads the key: empty if none is configured, undefined if the file has none that fits in a header. */
function readKey({ config: { ai }, dataDir }: World): string | undefined {
  if (ai.key_file === '') return '';
  try {
    const key = readFileSync(path.resolve(dataDir, ai.key_file), 'utf8').trim();
    return /^[\x21-\x7e]{1,1000}$/.test(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

const DAY_MS = 86_400_000;

/** Health of the model, as far as this process has asked it. */
export interface ModelHealth {
  noteAnswer(): void;
  /** `say` contains no secret: see `toFailure`. */
  noteFailure(say: string): void;
  /**
   * Reports that the model fails, since when and with which error, until it responds again or has not been asked for a
   * day.
   */
  findings(): Finding[];
}

export function createModelHealth({ clock, config: { ai } }: Pick<World, 'clock' | 'config'>): ModelHealth {
  let failing: { since: number; at: number; say: string } | undefined;
  return {
    noteAnswer: () => void (failing = undefined),
    noteFailure(say) {
      const at = clock.now();
      failing = { since: failing?.since ?? at, at, say };
    },
    findings() {
      if (failing && clock.now() - failing.at >= DAY_MS) failing = undefined;
      if (!failing) return [];
      const summary = `The model ${ai.model} at ${URL.parse(ai.url)?.host} returns no usable answers: ${failing.say}.`;
      return [buildFinding('model_failing', { summary, subjects: [ai.model], since: failing.since })];
    },
  };
}

/** Question to a model, for any kind of server. */
interface Question {
  /** Name of the expected result, for servers that want one. */
  name: string;
  system: string;
  user: string;
  /** Schema of the result, without limits, which not every server supports. */
  schema: object;
}

interface ModelRequest {
  path: string;
  headers: Record<string, string>;
  body: object;
}

/** Reply to a question: JSON, not checked yet, or the reason that there is none. */
type Reply = { kind: 'said'; json: unknown } | { kind: 'cut_off' } | { kind: 'refused' };

/** Protocol of a model's server. */
interface Wire {
  request(question: Question, options: { model: string; key: string; withSchema: boolean }): ModelRequest;
  /** Reads the reply; its JSON is undefined if the reply contains none. */
  read(body: unknown): Reply;
  /** The server can be asked without a schema, which some servers do not support. */
  isSchemaOptional: boolean;
}

/** Parses JSON that a model put between fences, or after thinking aloud. */
function jsonIn(text: string): unknown {
  const said = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '').trim();
  const bare = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/i.exec(said)?.[1] ?? said;
  try {
    return JSON.parse(bare) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns a field of untrusted data, or undefined. */
const readField = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
