import { readFileSync } from 'node:fs';
import path from 'node:path';
import { refuse } from '../../../platform/refusal/index.ts';
import type { PostAnswer } from '../../../platform/fetch/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { callerGone } from '../../../tenancy/access/index.ts';
import type { AnswerForm } from './answers.ts';
import { chatCompletions } from './chat-completions.ts';
import { messagesApi } from './messages-api.ts';
import { faultOf, parseJson, type Failure } from './model-faults.ts';
import type { ModelHealth } from './model-health.ts';
import { promptOf, TRY_AGAIN, type Task } from './prompts.ts';
import { type ModelRequest, type Question, type Wire } from './wire.ts';

const WIRES: Readonly<Record<World['config']['ai']['kind'], Wire>> = {
  openai: chatCompletions,
  anthropic: messagesApi,
};

/** Far more than a draft has that anybody reads; `platform/fetch` reads little more than this off the wire. */
const ANSWER_BYTES_MAX = 120_000;

/** What a server says that does not know what it was asked for. */
const UNKNOWN_TO_IT: readonly number[] = [400, 404, 415, 422, 501];

export const hasModel = ({ config }: World): boolean => config.ai.url !== '';

/** Who asks, and what is to be known of how the model stands. */
export interface Asking {
  store: World;
  whenGone?: () => AbortSignal;
  services: { modelHealth: ModelHealth };
}

/** A model is asked once more when its answer does not fit; what fails then, or fails otherwise, is our failure. */
export async function askModel<Answer>(
  { store: world, whenGone, services: { modelHealth } }: Asking,
  task: Task,
  form: AnswerForm<Answer>,
): Promise<Answer> {
  const { ai } = world.config;
  const gone = whenGone?.();
  const patience = AbortSignal.timeout(ai.timeout_seconds * 1000);
  const signal = gone ? AbortSignal.any([gone, patience]) : patience;
  const url = baseOf(ai.url);
  const exchange = (request: ModelRequest) => post(world, { request, base: url, signal });
  const result = await askTwice(world, task, form, exchange);
  if ('answer' in result || result.isOfQuestion) modelHealth.noteAnswer();
  else if (!gone?.aborted) modelHealth.noteFailure(result.say);
  if (gone?.aborted) throw callerGone();
  if ('answer' in result) return result.answer;
  world.log.warn({ model: ai.model, host: url.host, ...result.fault }, 'the model did not answer as it should');
  throw refuse('service_unavailable', {
    say: `The model gave no answer that can be used (${result.say}); it costs no credit. Try again later.`,
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
    const question = questionOf(world, task, form, wrong);
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
  return { say: 'it answered something else than it was asked for, twice', fault: { wrong } };
}

const isRefusal = (answer: PostAnswer, statuses: readonly number[]): boolean =>
  answer.kind === 'answered' && statuses.includes(answer.status);

/** An answer, what is wrong with it, or why there is none. */
function hear<Answer>(answer: PostAnswer, wire: Wire, form: AnswerForm<Answer>): Asked<Answer> | { wrong: string } {
  if (isTooLong(answer)) return { wrong: `it was longer than ${ANSWER_BYTES_MAX} bytes` };
  if (answer.kind === 'failed' || answer.status !== 200) return faultOf(answer);
  const reply = wire.read(parseJson(answer.body));
  if (reply.kind === 'cut_off') return { wrong: 'it was cut off before its end; be shorter' };
  if (reply.kind === 'refused') return { say: 'the model refused to answer this', isOfQuestion: true, fault: {} };
  return form.read(reply.json);
}

const isTooLong = (answer: PostAnswer): boolean =>
  answer.kind === 'answered'
    ? answer.isCut === true
    : answer.fault.kind === 'unreadable' && answer.fault.wrong === 'endless';

function questionOf<Answer>(world: World, task: Task, form: AnswerForm<Answer>, wrong: string): Question {
  const { system, user } = promptOf(task, form.schema, world.ids.hex(12));
  return {
    name: form.name,
    system: wrong === '' ? system : system + TRY_AGAIN(wrong),
    ...{ user, schema: form.schema },
  };
}

/** Ends with the patience for the whole, or when its caller has gone. */
async function post(
  world: World,
  { request, base, signal }: { request: ModelRequest; base: URL; signal: AbortSignal },
): Promise<PostAnswer> {
  if (signal.aborted) return { kind: 'failed', fault: { kind: 'timeout' } };
  // A connection for each: what is left of an answer that was too long must not stand before the next one.
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
