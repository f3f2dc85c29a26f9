import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type onSendHookHandler } from 'fastify';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { compileValidators, type OperationValidators } from '../contract/index.ts';
import { notFound, Refusal, refuse } from '../platform/refusal/index.ts';
import type { World } from '../platform/world/index.ts';
import { mustReach, type Actor, type Ctx } from '../resources/access/index.ts';
import { createAuthentication, createKeyUse } from '../resources/api-keys/index.ts';
import { createRequestLog } from '../resources/logs/index.ts';
import { errorBody, rateLimited, refusalFor, setRateHeaders } from './answers.ts';
import { createBodiesInHand } from './bodies-in-hand.ts';
import { createBrokenRequests } from './broken-requests.ts';
import { whenCallerGone } from './caller-gone.ts';
import { checkBody, checkIdempotencyKey, checkParameters, parseBody } from './check-request.ts';
import type { Call, Services } from './operation.ts';
import { checksItsOwnBody, holdsEmail, withKey, withoutKey } from './operations/index.ts';
import { createRateLimit, type RateState } from './rate-limit.ts';
import { createAnswerNote, type Caller } from './request-log.ts';
import { contractTarget, knownPathsOf, parseQuery } from './target.ts';
import { createTrackingRoutes } from './tracking.ts';
import { createUnreadAnswers } from './unread-answers.ts';

export interface HttpPort {
  host: string;
  port: number;
  url: string;
  /** Takes no new request and answers those under way, for `graceMs` at the most. */
  close(graceMs: number): Promise<void>;
}

/** More than Node takes for a request line: what is too long for an id is the contract's to say. */
const PATH_SEGMENT_CHARS_MAX = 64 * 1024;

export async function startHttp(given: Omit<Services, 'requestLog'>): Promise<HttpPort> {
  const { world } = given;
  const requestLog = createRequestLog(world);
  const services: Services = { ...given, requestLog };
  const noteAnswer = createAnswerNote(world, requestLog);
  const { config } = world;
  const validators = await compileValidators(services.document);
  validators.compileAll();
  const rateLimit = createRateLimit(world);
  const holdBody = createBodiesInHand(config.http.email_body_limit_bytes);
  const noteKeyUse = createKeyUse(world);
  const authenticateToken = createAuthentication(world);
  const knownPaths = knownPathsOf([...validators.operations.values()]);

  const answersTracking = createTrackingRoutes(world, given.tracking);

  const server: FastifyInstance = fastify({
    genReqId: () => world.ids.uuid(),
    bodyLimit: config.http.body_limit_bytes,
    trustProxy: config.http.trusted_proxies.length > 0 ? [...config.http.trusted_proxies] : false,
    routerOptions: { maxParamLength: PATH_SEGMENT_CHARS_MAX, querystringParser: parseQuery },
    rewriteUrl: (request) => contractTarget(request.url ?? '/'),
    frameworkErrors: (error, request, reply) => void answerRefusal(request, reply, error),
    clientErrorHandler: createBrokenRequests(world, (address) => rateLimit.look(`address:${address}`)),
    forceCloseConnections: 'idle',
    serverFactory(api) {
      // Node's own refusal carries none of our headers; the hook below says the same.
      const times = { requireHostHeader: false, requestTimeout: 120_000, keepAliveTimeout: 72_000 };
      const listener = createServer(times, (request, response) => {
        if (!listener.listening) response.shouldKeepAlive = false;
        if (!answersTracking(request, response)) api(request, response);
      });
      return listener;
    },
  });

  // The body is only collected here; it is read after everything that is named before it has been checked.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));

  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    const agent = request.headers['user-agent'];
    if (agent === undefined || agent.trim() === '') done(missingUserAgent());
    else done(hostFault(request, reply) ?? targetFault(request, reply));
  });
  const unread = createUnreadAnswers(world, server.server);
  server.addHook('onSend', (_request, reply, payload, done) => {
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
    if (isWhole) unread.admit(reply.raw, payload.length);
    done();
  });
  server.setErrorHandler((error, request, reply) => answerRefusal(request, reply, error));
  // An expectation may be ignored (RFC 9110 §10.1.1); Node would answer a bare 417.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  for (const operation of validators.operations.values()) addOperation(operation);
  mustHandleAll(validators.operations);

  await server.listen({ host: config.http.host, port: config.http.port });
  const { address, port } = server.server.address() as AddressInfo;
  const host = address.includes(':') ? `[${address}]` : address;
  return {
    host: address,
    port,
    url: config.http.public_url === '' ? `http://${host}:${port}` : config.http.public_url,
    async close(graceMs) {
      await closeServer(server, world, graceMs);
      unread.close();
      await requestLog.close();
    },
  };

  /** Named before the credential, and before any byte of a body is read. */
  function targetFault(request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
    const isEmptySegment = Object.values((request.params ?? {}) as Record<string, string>).includes('');
    const fixed = knownPaths.methodsOfFixed(request.url);
    const isKnown = !request.is404 && !isEmptySegment && (fixed === undefined || fixed.includes(request.method));
    if (isKnown) return undefined;
    const methods = fixed ?? knownPaths.methodsOf(request.url);
    if (methods.length === 0) return notFound('Route');
    reply.header('allow', methods.join(', '));
    return refuse('method_not_allowed', {
      say: `${request.method} is not allowed here; allowed: ${methods.join(', ')}.`,
    });
  }

  function answerRefusal(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    const refusal = refusalFor(error, request, world.log);
    if (!reply.hasHeader('ratelimit-limit')) setRateHeaders(reply, rateLimit.look(addressBucket(request)));
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
    // What is left of a body that was refused while it was read would be taken for the next request.
    if ([400, 503].includes(refusal.status) && !request.raw.complete) reply.header('connection', 'close');
    reply.code(refusal.status).type('application/json; charset=utf-8').send(errorBody(refusal));
  }

  function addOperation(operation: OperationValidators): void {
    const { operationId } = operation;
    const openHandler = withoutKey[operationId];
    const keyHandler = withKey[operationId];
    const needs = operation.operation['x-service-permission'];
    const takesKey = operation.parameters.some((parameter) => parameter.name === 'Idempotency-Key');
    const bodyLimit = holdsEmail.has(operationId) ? config.http.email_body_limit_bytes : config.http.body_limit_bytes;
    const actorOf = new WeakMap<FastifyRequest, Caller>();
    const onSend: onSendHookHandler = (request, reply, payload, done) => {
      const caller = actorOf.get(request);
      if (caller) noteAnswer(operation, { request, reply, caller, payload });
      done();
    };

    server.route({
      method: operation.method.toUpperCase(),
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      bodyLimit,
      // The order of these checks is the documented order of faults.
      onRequest: async (request, reply) => {
        const caller = needs === 'none' ? undefined : await authenticate(request);
        if (caller) actorOf.set(request, caller);
        const state = await rateLimit.take(caller ? `team:${caller.teamId}` : addressBucket(request));
        setRateHeaders(reply, state);
        mustBeAllowed(state);
        if (caller && needs !== 'none') mustReach(caller.actor, needs === 'sending_access' ? needs : 'full_access');
        if (takesKey) checkIdempotencyKey(request.headers['idempotency-key'] as string | undefined);
        checkParameters(operation, callParameters(request));
      },
      preParsing: (request, reply, payload, done) => {
        if (operation.method !== 'get') holdBody(request, reply, actorOf.get(request)?.teamId ?? request.ip);
        done(null, payload);
      },
      ...(needs === 'none' || !config.logs.enabled ? {} : { onSend }),
      handler: async (request, reply) => {
        const parsed = parseBody(request.body as Buffer | undefined, request.headers['content-type']);
        const caller = actorOf.get(request);
        if (caller) caller.body = parsed.value;
        const validate = (id: string, value: unknown): void => {
          const rules = validators.operations.get(id);
          if (rules) checkBody(rules, { ...parsed, value });
        };
        if (operation.method !== 'get' && !checksItsOwnBody.has(operationId)) validate(operationId, parsed.value);
        const { path, query, header } = callParameters(request);
        const call: Call = { services, path: path as Call['path'], query, header, body: parsed.value, validate, reply };
        if (!caller || !keyHandler) return openHandler?.(call);
        if (caller.actor.kind === 'api_key') noteKeyUse(caller.actor.keyId, request.id);
        const whenGone = (): AbortSignal => whenCallerGone(request, reply);
        const ctx: Ctx = { world, teamId: caller.teamId, actor: caller.actor, requestId: request.id, whenGone };
        return keyHandler(ctx, call);
      },
    });
  }

  /** Who has no usable credential is limited by address, and hears first what is wrong with the credential. */
  async function authenticate(request: FastifyRequest): Promise<{ teamId: string; actor: Actor }> {
    try {
      const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
      if (token === undefined) {
        throw refuse('missing_api_key', { say: 'Send the API key in the header: Authorization: Bearer rk_…' });
      }
      return await authenticateToken(token);
    } catch (error) {
      if (error instanceof Refusal) await rateLimit.take(addressBucket(request));
      throw error;
    }
  }
}

function mustBeAllowed(state: RateState): void {
  if (!state.allowed) throw rateLimited(state);
}

const addressBucket = (request: FastifyRequest): string => `address:${request.ip}`;

const callParameters = (
  request: FastifyRequest,
): { path: Record<string, unknown>; query: Record<string, unknown>; header: Record<string, unknown> } => ({
  path: request.params as Record<string, unknown>,
  query: request.query as Record<string, unknown>,
  header: request.headers,
});

/** RFC 9112 §3.2: an HTTP/1.1 request without Host is answered with 400. */
function hostFault(request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
  if (request.headers.host !== undefined || request.raw.httpVersion === '1.0') return undefined;
  reply.header('connection', 'close');
  return refuse('validation_error', { status: 400, say: 'Send a Host header; HTTP/1.1 requests need one.' });
}

function missingUserAgent(): Refusal {
  const refusal = refuse('validation_error', {
    status: 403,
    say: 'Send a User-Agent header; requests without one are refused.',
  });
  refusal.code = 1010;
  return refusal;
}

/** The contract and the handlers name the same operations, or the program does not start. */
function mustHandleAll(contract: ReadonlyMap<string, OperationValidators>): void {
  const handled = new Set([...Object.keys(withKey), ...Object.keys(withoutKey)]);
  const missing = [...contract.keys()].filter((id) => !handled.has(id));
  const extra = [...handled].filter((id) => !contract.has(id));
  if (missing.length + extra.length > 0) {
    throw new Error(
      `operations without a handler: ${missing.join(', ') || 'none'}; handlers without an operation: ${extra.join(', ') || 'none'}`,
    );
  }
}

async function closeServer(server: FastifyInstance, world: World, graceMs: number): Promise<void> {
  const cancel = world.clock.timer(graceMs, () => server.server.closeAllConnections());
  if (graceMs === 0) server.server.closeAllConnections();
  await server.close();
  cancel();
}
