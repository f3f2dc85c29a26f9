import fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onResponseHookHandler,
  type onSendHookHandler,
} from 'fastify';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { accessOf, compileValidators, type OperationValidators, type RequestParameters } from '../contract/index.ts';
import { notFound, Refusal, refuse } from '../platform/refusal/index.ts';
import type { World } from '../platform/world/index.ts';
import { checksItsOwnBody } from '../operations/index.ts';
import { mustReach } from '../resources/access/index.ts';
import { createKeyUse } from '../resources/api-keys/index.ts';
import { createRequestLog } from '../resources/logs/index.ts';
import { answerPreflight, createRefusalAnswer } from './answer-refusal.ts';
import { rateLimited, setRateHeaders } from './answers.ts';
import { beginAnswer, createCostlyExecutor } from './costly-work.ts';
import { createUploadBudget } from './upload-budget.ts';
import { createBrokenRequests } from './broken-requests.ts';
import { answererOf } from './answerer.ts';
import { createAuthenticators, createCallerCheck, type Authenticator } from './authenticators.ts';
import {
  checkBody,
  checkIdempotencyKey,
  checkParameters,
  parseBody,
  unwrapped,
  type ParsedBody,
} from './check-request.ts';
import { allowOtherOrigins, challengeForScope, readOauthFields } from './oauth/index.ts';
import { serveMcp } from './mcp/index.ts';
import type { HttpServices } from './page.ts';
import { readForms } from './import-upload.ts';
import { addressBucket, bucketOfAddress, createRateLimit, type RateState } from './rate-limit.ts';
import { createAnswerNote, type Caller } from './request-log.ts';
import { contractTarget, knownPathsOf, parseQuery } from './target.ts';
import { createPreferencePages } from './preference-pages/index.ts';
import { isPeoplePage, methodsOfPage, servePeoplePages } from './people-pages/index.ts';
import { createPlaygroundPages } from './playground-pages/index.ts';
import { createChallengeRoute } from './challenges.ts';
import { openPortsBeside, type SecureParts } from './ports-beside.ts';
import { createImageRoutes } from './images.ts';
import { createMetricsRoute } from './metrics.ts';
import { createTrackingRoutes } from './tracking.ts';
import { endSlowUploads } from './slow-uploads.ts';
import type { UnknownProxy } from './unknown-proxy.ts';
import { createUnreadAnswers } from './unread-answers.ts';

export interface HttpPort {
  host: string;
  port: number;
  securePorts: readonly number[];
  redirectPorts: readonly number[];
  url: string;
  /** Takes no new requests, and gives those under way `graceMs` to be answered. */
  close(graceMs: number): Promise<void>;
}

/** Operations whose bodies carry an email, and so may be as large as one. Forms are read as streams, without a `bodyLimit`. */
const holdsEmail: ReadonlySet<string> = new Set([
  ...['sendEmail', 'sendBatch', 'createTemplate', 'updateTemplate'],
  ...['replyToInboxEmail', 'forwardInboxEmail', 'createInboxDraft', 'updateInboxDraft'],
]);

/** Compiling the whole contract takes longer than everything else at start, and most programs use little of it. */
const COMPILED_AT_START = ['sendEmail', 'sendBatch'];

/** More than Node accepts as a request line, so that ids that are too long are refused by the contract's check. */
const PATH_SEGMENT_CHARS_MAX = 64 * 1024;

export interface HttpParts extends Omit<HttpServices, 'requestLog' | 'executor'> {
  authenticators?: readonly Authenticator[];
  /** Looks at every request. */
  unknownProxy?: UnknownProxy;
  /** What the ports of HTTPS show; without it there are none. */
  secure?: SecureParts | undefined;
}

export async function startHttp(parts: HttpParts): Promise<HttpPort> {
  const { world, authenticators = createAuthenticators(world) } = parts;
  const requestLog = createRequestLog(world);
  const services: HttpServices = { ...parts, requestLog, executor: createCostlyExecutor() };
  const noteAnswer = createAnswerNote(world, requestLog);
  const { config } = world;
  const validators = await compileValidators(services.document);
  validators.compile(COMPILED_AT_START);
  const rateLimit = createRateLimit(world);
  const countUpload = createUploadBudget(config.http.email_body_limit_bytes);
  const noteKeyUse = createKeyUse(world);
  const findCaller = createCallerCheck(authenticators, world.origin, (one) => rateLimit.take(addressBucket(one)));
  const answerRefusal = createRefusalAnswer(world, rateLimit);
  const knownPaths = knownPathsOf([...validators.operations.values()]);
  const answersPublic = publicRoutesOf(world, parts);
  const server: FastifyInstance = fastify({
    genReqId: () => world.ids.uuid(),
    bodyLimit: config.http.body_limit_bytes,
    trustProxy: config.http.trusted_proxies.length > 0 ? [...config.http.trusted_proxies] : false,
    routerOptions: { maxParamLength: PATH_SEGMENT_CHARS_MAX, querystringParser: parseQuery },
    rewriteUrl: (request) => contractTarget(request.url ?? '/', isPeoplePage),
    frameworkErrors: (error, request, reply) => void answerRefusal(request, reply, error),
    clientErrorHandler: createBrokenRequests(world, (address) => rateLimit.peek(bucketOfAddress(address))),
    forceCloseConnections: 'idle',
    serverFactory(api) {
      // Node's own refusal of a missing Host has none of our headers; the hook below refuses it instead.
      const listener = createServer({ requireHostHeader: false, keepAliveTimeout: 72_000 }, (request, response) => {
        if (!listener.listening) response.shouldKeepAlive = false;
        if (!answersPublic(request, response)) api(request, response);
      });
      return listener;
    },
  });
  // The body is only collected here; it is parsed after all checks that come before it in the documented order.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));

  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (allowOtherOrigins(request, reply)) return answerPreflight(rateLimit, request, reply);
    done(agentFault(request) ?? hostFault(request, reply) ?? targetFault(request, reply));
  });
  const unread = createUnreadAnswers(world, server.server);
  endSlowUploads(world, server.server);
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) unread.admit(reply.raw, payload.length);
    done();
  });
  server.addHook('onResponse', measureAnswer(world));
  server.setErrorHandler((error, request, reply) => answerRefusal(request, reply, error));
  // RFC 9110 §10.1.1: an expectation may be ignored; Node would answer a bare 417.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  await servePeoplePages(server, { services, validators, authenticators, rateLimit });
  await addAll(server, [...validators.operations.values()], addOperation);

  const { address, port, host, beside } = await listen(server, world, parts.secure);
  return {
    host: address,
    port,
    ...beside.bound,
    url: config.http.public_url === '' ? `http://${host}:${port}` : config.http.public_url,
    async close(graceMs) {
      await Promise.all([beside.close(graceMs), closeServer(server, world, graceMs)]);
      unread.close();
      await requestLog.close();
    },
  };

  /** Unknown paths and methods: refused before the credential is checked and before any byte of a body is read. */
  function targetFault(request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
    const isEmptySegment = Object.values((request.params ?? {}) as Record<string, string>).includes('');
    const fixed = knownPaths.methodsOfFixed(request.url);
    const isKnown = !request.is404 && !isEmptySegment && (fixed === undefined || fixed.includes(request.method));
    if (isKnown) return undefined;
    const methods = [...(fixed ?? knownPaths.methodsOf(request.url)), ...methodsOfPage(request.url)];
    if (methods.length === 0) return notFound('Route');
    reply.header('allow', methods.join(', '));
    return refuse('method_not_allowed', {
      say: `${request.method} is not allowed here; allowed: ${methods.join(', ')}.`,
    });
  }

  function addOperation(router: FastifyInstance, operation: OperationValidators): void {
    if (isMcp(operation))
      return serveMcp(router, operation, { services, validators, rateLimit, noteAnswer, countUpload });
    const access = accessOf(operation.operation);
    const isCounted = operation.method !== 'get' && !takesForm(operation);
    const answer = answererOf(operation, validators, services);
    const takesKey = operation.parameters.some((parameter) => parameter.name === 'Idempotency-Key');
    const bodyLimit = bodyLimitOf(operation, config);
    const callerOf = new WeakMap<FastifyRequest, Caller>();
    const onSend: onSendHookHandler = (request, reply, payload, done) => {
      const caller = callerOf.get(request);
      if (caller) noteAnswer(operation, { request, reply, caller, payload });
      done();
    };

    router.route({
      method: operation.method.toUpperCase(),
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      bodyLimit,
      config: routeConfigOf(operation),
      // The documented order of faults: 1 User-Agent, 2 route, 3 credential, 4 rate, 5 scope, 6 Idempotency-Key, 7 parameters, 8 body.
      onRequest: async (request, reply) => {
        const caller = await findCaller(request, operation.operation);
        if (caller) callerOf.set(request, caller);
        const state = await rateLimit.take(bucketOf(caller) ?? addressBucket(request));
        setRateHeaders(reply, state);
        mustBeAllowed(state);
        if (isOfOauth(operation)) return void reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
        if (caller) challengeForScope(reply, caller.actor, { access, origin: world.origin() });
        if (caller) mustReach(caller.actor, access);
        if (takesKey) checkIdempotencyKey(request.headers['idempotency-key'] as string | undefined);
        checkParameters(operation, callParameters(request));
      },
      preParsing: (request, reply, payload, done) => {
        if (isCounted) countUpload(request, reply, callerOf.get(request)?.teamId ?? request.ip);
        done(null, payload);
      },
      ...(access.permission === 'none' || !config.logs.enabled ? {} : { onSend }),
      handler: async (request, reply) => {
        const caller = callerOf.get(request);
        return beginAnswer(services.executor, { request, teamId: caller?.teamId }, () => {
          const body = readBody(operation, request, caller);
          if (caller?.actor.kind === 'api_key') noteKeyUse(caller.actor.keyId, request.id);
          return answer({ request, reply, caller, body, parameters: callParameters(request) });
        });
      },
    });
  }
}

/** What is no operation of the contract, an unknown path for one, is counted together. */
function measureAnswer({ meter, tracer }: World): onResponseHookHandler {
  return (request, reply, done) => {
    const { method, routeOptions } = request;
    const { operation = 'none' } = routeOptions.config;
    meter.count('rasket_http_requests_total', { operation, status: String(reply.statusCode) });
    meter.observe('rasket_http_request_seconds', reply.elapsedTime / 1000, { operation });
    tracer.answered({
      ...{ id: request.id, traceparent: request.headers['traceparent'] as string | undefined, method, operation },
      ...{ route: routeOptions.url, status: reply.statusCode, durationMs: reply.elapsedTime },
    });
    done();
  };
}

function routeConfigOf(operation: OperationValidators): FastifyContextConfig {
  return {
    operation: operation.operationId,
    ...(takesPicture(operation) && { limitedBy: 'images.max_bytes' }),
    ...(isOfOauth(operation) && { oauthFlow: operation.operationId === 'authorizeClient' ? 'page' : 'json' }),
  };
}

/** A picture is the whole body of its upload. */
function bodyLimitOf(operation: OperationValidators, { http, images }: World['config']): number {
  if (takesPicture(operation)) return images.max_bytes;
  return holdsEmail.has(operation.operationId) ? http.email_body_limit_bytes : http.body_limit_bytes;
}

type Answers = (...exchange: Parameters<ReturnType<typeof createTrackingRoutes>>) => boolean;

/** The pages that run before the API, for people without a key. */
function publicRoutesOf(world: World, { tracking, unknownProxy }: HttpParts): Answers {
  const all = [
    createChallengeRoute(world),
    createTrackingRoutes(world, tracking),
    createMetricsRoute(world),
    createImageRoutes(world),
    createPreferencePages(world),
    createPlaygroundPages(world),
  ];
  return (request, response) => {
    unknownProxy?.note(request);
    return all.some((answers) => answers(request, response));
  };
}

/** Whose requests are counted together: those of all keys of a team, and those of each person apart from them. */
function bucketOf(caller: Caller | undefined): string | undefined {
  if (caller?.actor.kind === 'operator') return `operator:${caller.actor.operatorId}`;
  if (caller?.actor.kind === 'session') return `user:${caller.actor.userId}`;
  return caller && `team:${caller.teamId}`;
}

/** Whether the operation reads its body itself, piece by piece, as a form. */
const takesForm = ({ operation }: OperationValidators): boolean =>
  operation.requestBody?.content['multipart/form-data'] !== undefined;

/** Whether its body is a file as it is. */
const takesBytes = ({ operation }: OperationValidators): boolean =>
  operation.requestBody?.content['application/octet-stream'] !== undefined;

const takesPicture = ({ operationId }: OperationValidators): boolean => operationId === 'createImage';

const takesJson = (operation: OperationValidators): boolean => !takesForm(operation) && !takesBytes(operation);

/** Carries the other operations, and reads its messages itself. */
const isMcp = ({ operation }: OperationValidators): boolean => operation['x-mcp'] === true;

/** Form parsing is registered in a scope of its own: for all other routes, a form is a body of the wrong type. */
async function addAll(
  server: FastifyInstance,
  operations: readonly OperationValidators[],
  add: (router: FastifyInstance, operation: OperationValidators) => void,
): Promise<void> {
  for (const operation of operations) if (!takesForm(operation)) add(server, operation);
  await server.register(async (forms) => {
    await readForms(forms);
    for (const operation of operations) if (takesForm(operation)) add(forms, operation);
  });
}

/** Its parameters and its body are checked by the rules of OAuth, where they are read. */
const isOfOauth = ({ operation }: OperationValidators): boolean => operation['x-oauth-flow'] === true;

const NO_BODY: ParsedBody = { value: undefined, hasEscapes: false };

function bodyOf(operation: OperationValidators, request: FastifyRequest): ParsedBody {
  if (!takesJson(operation)) return NO_BODY;
  const sent = [request.body as Buffer | undefined, request.headers['content-type']] as const;
  if (!isOfOauth(operation)) return unwrapped(operation, parseBody(...sent));
  const { requestBody } = operation.operation;
  if (!requestBody) return NO_BODY;
  const takesFields = requestBody.content['application/x-www-form-urlencoded'] !== undefined;
  return { value: readOauthFields(...sent, { takesForm: takesFields }), hasEscapes: false };
}

function readBody(operation: OperationValidators, request: FastifyRequest, caller: Caller | undefined): ParsedBody {
  const body = bodyOf(operation, request);
  if (caller) caller.body = body.value;
  const isJson = operation.method !== 'get' && takesJson(operation);
  if (isJson && !isOfOauth(operation) && !checksItsOwnBody.has(operation.operationId)) checkBody(operation, body);
  return body;
}

function mustBeAllowed(state: RateState): void {
  if (!state.allowed) throw rateLimited(state);
}

const callParameters = (request: FastifyRequest): RequestParameters => ({
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

/** Programs say what they are; a person's browser need not. */
function agentFault({ headers, routeOptions }: FastifyRequest): Refusal | undefined {
  if (routeOptions.config.isForPeople || headers['user-agent']?.trim()) return undefined;
  const refusal = refuse('validation_error', {
    status: 403,
    say: 'Send a User-Agent header; requests without one are refused.',
  });
  refusal.code = 1010;
  return refusal;
}

/** Opens all ports, or none; `host` is the address as it stands in a URL. */
async function listen(server: FastifyInstance, world: World, secure: SecureParts | undefined) {
  const beside = await openPortsBeside(world, server.server, secure);
  try {
    await server.listen({ host: world.config.http.host, port: world.config.http.port });
  } catch (error) {
    await beside.close(0);
    throw error;
  }
  const { address, port } = server.server.address() as AddressInfo;
  return { address, port, host: address.includes(':') ? `[${address}]` : address, beside };
}

async function closeServer(server: FastifyInstance, world: World, graceMs: number): Promise<void> {
  const cancel = world.clock.timer(graceMs, () => server.server.closeAllConnections());
  if (graceMs === 0) server.server.closeAllConnections();
  await server.close();
  cancel();
}
