import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OperationValidators, Validators } from '../../../contract/index.ts';
import { refuse, type Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { ACCESS_PREFIX, createGrantAuthentication } from '../../../features/identity/index.ts';
import { rateLimited, refusalFor, setRateHeaders } from '../answers.ts';
import { readBearer } from '../authenticators.ts';
import { parseBody } from '../check-request.ts';
import { beginAnswer, type UploadBudget } from '../costly-work.ts';
import { challengeForScopes } from '../oauth/index.ts';
import type { HttpServices } from '../page.ts';
import { addressBucket, type RateLimit } from '../rate-limit.ts';
import type { createAnswerNote } from '../request-log.ts';
import { createCallOperation, type Assistant } from './operation-tool.ts';
import { createProtocol } from './protocol.ts';
import { createTools, isObject, type ToolCall } from './tools.ts';

/** Names and addresses that no name server can redirect. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses requests by a name that is not ours, which a page of others may have pointed at this machine (DNS rebinding), and
 * requests from pages of others. Programs send no Origin.
 */
function mustBeForUs({ host, headers: { origin } }: FastifyRequest, own: string): void {
  const { hostname, origin: ownOrigin } = new URL(own);
  const asked = parseHostname(host);
  if (asked === undefined || (asked !== hostname && !LOOPBACK.has(asked))) {
    throw refuse('invalid_permission', {
      say: `The header Host must be ${hostname}, the public address of this service (http.public_url); got ${JSON.stringify(host.slice(0, 200))}.`,
    });
  }
  if (origin === undefined || origin === ownOrigin) return;
  throw refuse('invalid_permission', {
    say: `The header Origin must be absent or ${ownOrigin}, the address of this service; got ${JSON.stringify(origin.slice(0, 200))}.`,
  });
}

/** Returns the host without its port, which a proxy may change. */
function parseHostname(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;
}

export interface McpParts {
  services: HttpServices;
  validators: Validators;
  rateLimit: RateLimit;
  noteAnswer: ReturnType<typeof createAnswerNote>;
  countUpload: UploadBudget['count'];
}

/**
 * The route of the Model Context Protocol. Origin, credential and limits are checked here, before the protocol's
 * library sees a message; the library keeps no state between messages.
 */
export function serveMcp(server: FastifyInstance, operation: OperationValidators, parts: McpParts): void {
  const { services, validators, rateLimit, noteAnswer, countUpload } = parts;
  const { world, document } = services;
  const letIn = createAdmit(world);
  const assistants = new WeakMap<FastifyRequest, Assistant>();
  const tools = createTools({
    document,
    validators,
    callOperation: createCallOperation(validators, services),
    newMark: () => world.ids.hex(8),
    toRefusal: (error, { request }) => refusalFor(error, request, world.log),
  });

  const url = () => `${world.origin()}${operation.path}`;
  const answer = createProtocol({ tools, version: services.version, url });

  server.route({
    method: 'POST',
    url: operation.path,
    bodyLimit: world.config.http.body_limit_bytes,
    config: { resourcePath: '/mcp' },
    onRequest: async (request, reply) => {
      const assistant = await letIn(request, reply).catch(async (error: unknown) => {
        await rateLimit.take(addressBucket(request));
        throw error;
      });
      assistants.set(request, assistant);
      const state = await rateLimit.take(`team:${assistant.caller.teamId}`);
      setRateHeaders(reply, state);
      // Clients take 429 for a broken connection, so the message itself is answered.
      if (!state.allowed) assistant.limited = rateLimited(state);
    },
    preParsing: (request, reply, payload, done) => {
      countUpload(request, reply, assistants.get(request)?.caller.teamId ?? request.ip);
      done(null, payload);
    },
    onSend: (request, reply, payload, done) => {
      const caller = assistants.get(request)?.caller;
      if (caller && world.config.logs.enabled) noteAnswer(operation, { request, reply, caller, payload });
      done();
    },
    handler: async (request, reply) => {
      const assistant = assistants.get(request);
      if (!assistant) throw new Error('an unauthenticated request reached /mcp');
      const { teamId } = assistant.caller;
      return beginAnswer(services.executor, { request, teamId }, () => {
        const message = readMessage(request);
        assistant.caller.body = message;
        const call = toolCallIn(message);
        if (assistant.limited && !call) return sendLimited(reply, message, assistant.limited);
        mustHaveScopes(
          assistant,
          call && !assistant.limited ? tools.lackingScopes(assistant, call) : [],
          world.origin(),
        );
        return answer(assistant, message);
      });
    },
  });
}

/** An error of the protocol that a server may define (JSON-RPC 2.0 §5.1). */
const RATE_LIMITED = -32_029;

/** Responds to a message that is no tool call with an error of the protocol, and to a notification with nothing. */
function sendLimited(reply: FastifyReply, message: { id?: unknown }, { message: say }: Refusal): FastifyReply {
  if (message.id === undefined) return reply.code(202).send();
  return reply
    .code(200)
    .header('cache-control', 'no-store')
    .send({ jsonrpc: '2.0', id: message.id, error: { code: RATE_LIMITED, message: say } });
}

type Admit = (request: FastifyRequest, reply: FastifyReply) => Promise<Assistant>;

/** Admits requests to our address that come from no other site's page, with an access token for it. */
function createAdmit(world: World): Admit {
  const identify = createGrantAuthentication(world, 'mcp');
  return async (request, reply) => {
    mustBeForUs(request, world.origin());
    const token = readBearer(request);
    if (token?.startsWith(ACCESS_PREFIX)) {
      const caller = await identify(token);
      return { request, reply, caller, actor: caller.actor };
    }
    const say = `${world.origin()}/mcp requires an OAuth access token that a person has authorized.`;
    throw refuse(token === undefined ? 'missing_api_key' : 'invalid_api_key', { say });
  };
}

/**
 * Names the scopes that the grant has and those that it lacks: older clients ask the person for exactly the named ones.
 */
function mustHaveScopes(assistant: Assistant, lacking: readonly string[], origin: string): void {
  if (lacking.length === 0) return;
  challengeForScopes(assistant.reply, [...assistant.actor.scopes, ...lacking], origin, '/mcp');
  throw refuse('invalid_permission', { say: `This access token lacks the scope ${lacking.join(' and ')}.` });
}

function readMessage(request: FastifyRequest): { id?: unknown; method?: unknown } {
  const { value } = parseBody(request.body as Buffer | undefined, request.headers['content-type']);
  if (Array.isArray(value)) throw bad('JSON-RPC batches are not supported; send one message per request.');
  if (typeof value !== 'object' || value === null) throw bad('The body must be a JSON-RPC message, a JSON object.');
  return value;
}

/** Returns the tool call in a message, if it is one; the protocol's library responds to malformed calls. */
function toolCallIn(message: { method?: unknown; params?: unknown }): ToolCall | undefined {
  if (message.method !== 'tools/call' || !isObject(message.params)) return undefined;
  const { name, arguments: given = {} } = message.params;
  return typeof name === 'string' && isObject(given) ? { name, arguments: given } : undefined;
}

const bad = (say: string) => refuse('validation_error', { status: 400, say });
