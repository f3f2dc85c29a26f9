import { readFileSync } from 'node:fs';
import path from 'node:path';
import { refuse } from '../../platform/refusal/index.ts';
import type { PostAnswer, PostPool } from '../../platform/fetch/index.ts';
import type { World } from '../../platform/world/index.ts';
import { callerGone } from '../../resources/access/index.ts';
import type { AnswerForm } from './answers.ts';
import { chatCompletions } from './chat-completions.ts';
import { messagesApi } from './messages-api.ts';
import { promptOf, TRY_AGAIN, type Task } from './prompts.ts';
import { fieldOf, type ModelRequest, type Question, type Wire } from './wire.ts';

const WIRES: Readonly<Record<World['config']['ai']['kind'], Wire>> = {
  openai: chatCompletions,
  anthropic: messagesApi,
};

/** More than a draft of the longest kind has with all around it. */
const ANSWER_BYTES_MAX = 131_072;

/** What a server says that does not know what it was asked for. */
const UNKNOWN_TO_IT: readonly number[] = [400, 404, 415, 422, 501];

export const hasModel = ({ config }: World): boolean => config.ai.url !== '';

/** A model is asked once more when its answer does not fit; what fails then, or fails otherwise, is our failure. */
export async function askModel<Answer>(
  world: World,
  task: Task,
  form: AnswerForm<Answer>,
  whenGone: (() => AbortSignal) | undefined,
): Promise<Answer> {
  const { ai } = world.config;
  const gone = whenGone?.();
  const patience = AbortSignal.timeout(ai.timeout_seconds * 1000);
  const signal = gone ? AbortSignal.any([gone, patience]) : patience;
  const url = baseOf(ai.url);
  const pool = world.modelFetch.pool(url, { connectionsMax: 1, closeMs: 0 });
  try {
    const exchange = (request: ModelRequest) => post(world, pool, { request, base: url, signal });
    const result = await askTwice(world, task, form, exchange);
    if (gone?.aborted) throw callerGone();
    if ('answer' in result) return result.answer;
    world.log.warn({ model: ai.model, host: url.host, ...result.fault }, 'the model did not answer as it should');
    throw refuse('service_unavailable', {
      say: `The model gave no answer that can be used (${result.say}); it costs no credit. Try again later.`,
    });
  } finally {
    await pool.cut();
  }
}

type Asked<Answer> = { answer: Answer } | { say: string; fault: object };

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
  for (let tries = 0; tries < 2; tries++) {
    const question = questionOf(world, task, form, wrong);
    const answer = await exchange(wire.request(question, { model: ai.model, key, withSchema }));
    if (answer.kind === 'failed')
      return { say: FAULTS[answer.fault.kind], fault: { err: answer.because, ...answer.fault } };
    const { status, body } = answer;
    if (answer.isCut) wrong = `it was longer than ${ANSWER_BYTES_MAX} bytes`;
    else if (status !== 200) {
      const mayBeUnknown = withSchema && wire.isSchemaOptional && UNKNOWN_TO_IT.includes(status);
      if (!mayBeUnknown || tries > 0)
        return { say: `its server answered ${status}`, fault: { status, ...errorIn(body) } };
      withSchema = false;
    } else {
      const read = form.read(wire.read(parse(body)));
      if ('answer' in read) return read;
      wrong = read.wrong;
    }
  }
  return { say: 'it answered something else than it was asked for, twice', fault: { wrong } };
}

const FAULTS = {
  blocked: 'its server has no address that may be reached',
  unreachable: 'its server cannot be reached',
  tls: 'its server has no certificate that can be trusted',
  interrupted: 'its server broke off the connection',
  timeout: 'it took too long',
  unreadable: 'its server answered no HTTP',
} as const;

function questionOf<Answer>(world: World, task: Task, form: AnswerForm<Answer>, wrong: string): Question {
  const { system, user } = promptOf(task, form.schema, world.ids.hex(12));
  return {
    name: form.name,
    system: wrong === '' ? system : system + TRY_AGAIN(wrong),
    ...{ user, schema: form.schema },
  };
}

/** Ends with the patience for the whole, or when nobody waits for it any more. */
async function post(
  world: World,
  pool: PostPool,
  { request, base, signal }: { request: ModelRequest; base: URL; signal: AbortSignal },
): Promise<PostAnswer> {
  if (signal.aborted) return { kind: 'failed', fault: { kind: 'timeout' } };
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
  }
}

/** No name server is asked for this machine. */
function baseOf(url: string): URL {
  const base = new URL(url);
  if (base.protocol === 'http:' && base.hostname === 'localhost') base.hostname = '127.0.0.1';
  return base;
}

/** Undefined where there should be one and is none that a header can hold. */
function readKey({ config: { ai }, dataDir }: World): string | undefined {
  if (ai.key_file === '') return '';
  try {
    const key = readFileSync(path.resolve(dataDir, ai.key_file), 'utf8').trim();
    return /^[\x21-\x7e]{1,1000}$/.test(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

/** Its words may repeat what it was asked, so that only its codes go to the log. */
function errorIn(body: string): object {
  const error = fieldOf(parse(body), 'error');
  const codes = ['type', 'code'].map((name) => [name, fieldOf(error, name)] as const);
  return Object.fromEntries(codes.filter(([, code]) => typeof code === 'string' && /^[\w.-]{1,80}$/.test(code)));
}
