/**
 * A model server on 127.0.0.1 without TLS, which the settings may name. It checks every request against the documentation of its
 * provider and answers what the test says. `violations` must stay empty.
 *
 *   await using model = await startModelServer('openai');
 *   await using scene = await startScene({ config: { ai: model.settings() } });
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { openaiRequest, anthropicRequest } from './model-requests.ts';

export type ModelKind = 'openai' | 'anthropic';

export interface ModelCall {
  path: string;
  headers: IncomingMessage['headers'];
  /** The whole text of the request, as it was sent. */
  text: string;
  system: string;
  user: string;
  withSchema: boolean;
}

/** The model's text as JSON; or a function that answers by itself, or never. */
export type Says = unknown;
export type Answering = (response: ServerResponse, call: ModelCall) => void;

export interface ModelServer extends AsyncDisposable {
  kind: ModelKind;
  calls: ModelCall[];
  violations: string[];
  settings(): { kind: ModelKind; url: string; model: string };
  /** Sets the answers from now on, in this order; the last one is repeated. */
  says(...answers: Says[]): void;
  answers(...answers: Answering[]): void;
  /** Resolves when that many calls have arrived. */
  until(count: number): Promise<void>;
}

const MODEL = 'model-1';
const ajv = new Ajv2020({ allErrors: true, strict: false });
const checks = { openai: ajv.compile(openaiRequest), anthropic: ajv.compile(anthropicRequest) };
const PATHS = { openai: '/v1/chat/completions', anthropic: '/v1/messages' };

/** Starts the server; if a key is given, it is required. */
export async function startModelServer(kind: ModelKind, { key = '' } = {}): Promise<ModelServer> {
  const sockets = new Set<Socket>();
  let answers: Answering[] = [];
  let waiters: (() => void)[] = [];
  const model: ModelServer = {
    kind,
    calls: [],
    violations: [],
    settings() {
      const { port } = server.address() as AddressInfo;
      return { kind, model: MODEL, url: `http://127.0.0.1:${port}${kind === 'openai' ? '/v1' : ''}` };
    },
    says: (...said) =>
      void (answers = said.map((one) => (response) => answerJson(response, 200, inEnvelope(kind, one)))),
    answers: (...given) => void (answers = given),
    async until(count) {
      while (model.calls.length < count) await new Promise<void>((resolve) => waiters.push(resolve));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = http.createServer((request, response) => {
    void readText(request).then((text) => {
      const call = readCall(kind, request, text);
      model.violations.push(...findViolations(kind, { request, text, key }));
      model.calls.push(call);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      answer?.(response, call);
      const waiting = waiters;
      waiters = [];
      for (const look of waiting) look();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return model;
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with a text instead of JSON. */
export const saysText =
  (text: string): Answering =>
  (response) =>
    answerJson(response, 200, completion(text));

function inEnvelope(kind: ModelKind, said: Says): object {
  if (kind === 'openai') return completion(typeof said === 'string' ? said : JSON.stringify(said));
  const content =
    typeof said === 'string'
      ? { type: 'text', text: said, citations: null }
      : { type: 'tool_use', id: 'toolu_1', caller: { type: 'direct' }, name: 'answer', input: said };
  return message(typeof said === 'string' ? 'end_turn' : 'tool_use', [content]);
}

const message = (stopReason: string, content: readonly object[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content,
  container: null,
  stop_reason: stopReason,
  stop_sequence: null,
  stop_details: null,
  usage: { input_tokens: 9, output_tokens: 9 },
});

/** Answers with a refusal, or an answer cut off at a limit, as each provider documents it. */
export const refuses =
  (kind: ModelKind): Answering =>
  (response) =>
    answerJson(
      response,
      200,
      kind === 'openai'
        ? {
            ...completion(null),
            choices: [buildChoice('stop', { content: null, refusal: 'I cannot help with PLANTED.' })],
          }
        : message('refusal', []),
    );

export const isCutOff =
  (kind: ModelKind, said: object): Answering =>
  (response) =>
    answerJson(
      response,
      200,
      kind === 'openai'
        ? { ...completion(null), choices: [buildChoice('length', { content: JSON.stringify(said), refusal: null })] }
        : message('max_tokens', [{ type: 'tool_use', id: 'toolu_1', name: 'answer', input: said }]),
    );

/** Answers with an error, with the body of the provider. */
export const fails =
  (kind: ModelKind, status: number, type: string, headers: Record<string, string> = {}): Answering =>
  (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const words = 'PLANTED: what was asked, and the key';
    answerJson(
      response,
      status,
      kind === 'openai'
        ? { error: { message: words, type, param: null, code: type } }
        : { type: 'error', error: { type, message: words }, request_id: 'req_1' },
    );
  };

const completion = (content: string | null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: MODEL,
  service_tier: 'default',
  choices: [buildChoice('stop', { content, refusal: null })],
  usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
});

const buildChoice = (reason: string, said: { content: string | null; refusal: string | null }) => ({
  index: 0,
  logprobs: null,
  finish_reason: reason,
  message: { role: 'assistant', ...said, annotations: [] },
});

function readCall(kind: ModelKind, { url = '', headers }: IncomingMessage, text: string): ModelCall {
  const body = JSON.parse(text) as Record<string, unknown>;
  const messages = body['messages'] as { role: string; content: string }[];
  const said = (role: string): string => messages.find((one) => one.role === role)?.content ?? '';
  const system = kind === 'openai' ? said('system') : String(body['system']);
  return {
    path: url,
    headers,
    text,
    system,
    user: said('user'),
    withSchema: 'response_format' in body || 'tools' in body,
  };
}

function findViolations(
  kind: ModelKind,
  { request, text, key }: { request: IncomingMessage; text: string; key: string },
): string[] {
  const { method, url, headers } = request;
  const check = checks[kind];
  const body = JSON.parse(text) as { tools?: { name: string }[]; tool_choice?: { name: string } };
  const isFit = check(body);
  const [tool] = body.tools ?? [];
  const wanted =
    kind === 'openai'
      ? { authorization: key === '' ? undefined : `Bearer ${key}` }
      : { 'x-api-key': key === '' ? undefined : key, 'anthropic-version': '2023-06-01' };
  const wrong = Object.entries({ ...wanted, 'content-type': 'application/json' })
    .filter(([name, value]) => headers[name] !== value)
    .map(([name, value]) => `${name} is ${String(headers[name])} and not ${String(value)}`);
  return [
    ...(method === 'POST' && url === PATHS[kind] ? [] : [`${method} ${url}`]),
    ...(isFit ? [] : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)),
    ...wrong,
    ...(body.tool_choice?.name === tool?.name ? [] : ['tool_choice names a tool that is not there']),
  ];
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
