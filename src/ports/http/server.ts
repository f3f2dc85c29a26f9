import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onResponseHookHandler,
} from 'fastify';
import { createServer } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { compileValidators } from '../../contract/index.ts';
import { endCaptureWaits } from '../../mail/capture/index.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { createRequestLog } from '../../tenancy/logs/index.ts';
import { answerPreflight, createRefusalAnswer, createBrokenRequests } from './answers.ts';
import { createCostlyExecutor, createUploadBudget } from './costly-work.ts';
import { createAuthenticators, createCallerCheck, type Authenticator } from './authenticators.ts';
import { codingFault } from './check-request.ts';
import { allowOtherOrigins } from './oauth/index.ts';
import type { HttpServices } from './page.ts';
import { isOwnName, type UnknownProxy } from './client-address.ts';
import { addressBucket, bucketOfAddress, createRateLimit } from './rate-limit.ts';
import { createAnswerNote } from './request-log.ts';
import { contractTarget, parseQuery, nameRoute, findRequestTarget, createRouteSuggestion } from './find-operation.ts';
import { serveOperations } from './serve-operations.ts';
import { createPreferencePages } from './preference-pages/index.ts';
import { isPeoplePage, methodsOfPage, servePeoplePages } from './people-pages/index.ts';
import { createPlaygroundPages } from './playground-pages/index.ts';
import { createChallengeRoute } from './secure-ports.ts';
import { openAdditionalPorts, type SecureParts } from './additional-ports.ts';
import { createImageRoutes, createPolicyRoute, createTrackingRoutes } from './mail-routes.ts';
import { createLastAnswers, createLingeringClose, endSlowUploads, createUnreadAnswers } from './slow-clients.ts';
import { createMetricsRoute, type ReadMetrics } from './metrics.ts';

export interface HttpPort {
  host: string;
  port: number;
  securePorts: readonly number[];
  redirectPorts: readonly number[];
  url: string;
  /**
   * Takes no new connections, because other processes take them. Each open connection ends with the response to its next
   * request. Resolves when all have ended, or after `maxMs`.
   */
  drain(maxMs: number): Promise<void>;
  /** Takes no new requests, and gives those under way `graceMs` to finish. */
  close(graceMs: number): Promise<void>;
}

/** Compiling the whole contract takes longer than everything else at start, and most programs use little of it. */
const COMPILED_AT_START = ['sendEmail', 'sendBatch'];

/** Routes have no schemas of fastify's, whose compilers would be loaded by every start. */
const noCompiler = (): never => {
  throw new Error('a route has a fastify schema, although the contract checks requests and answers');
};
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };

export interface HttpParts extends Omit<HttpServices, 'requestLog' | 'executor'> {
  authenticators?: readonly Authenticator[];
  /** Examines every request. */
  unknownProxy?: UnknownProxy;
  /** Reads what GET /metrics returns; by default the metrics of this process. */
  readMetrics?: ReadMetrics | undefined;
  /** The certificates of the HTTPS ports; undefined when there are none. */
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
  const { count: countUpload, release } = createUploadBudget(config.http.email_body_limit_bytes);
  const findCaller = createCallerCheck(authenticators, world.origin, (one) => rateLimit.take(addressBucket(one)));
  const lingeringClose = createLingeringClose(world);
  const answerRefusal = createRefusalAnswer(world, { rateLimit, lingeringClose, release });
  const served = serveOperations({ services, validators, rateLimit, noteAnswer, countUpload, findCaller });
  const suggestRoute = createRouteSuggestion(validators.operations.values(), served.find);
  const answersPublic = createPublicRoutes(world, parts);
  const lastAnswers = createLastAnswers();
  const server: FastifyInstance = fastify({
    genReqId: () => world.ids.uuid(),
    bodyLimit: config.http.body_limit_bytes,
    trustProxy: config.http.trusted_proxies.length > 0 ? [...config.http.trusted_proxies] : false,
    // The mail servers of a receiver are long.
    routerOptions: { querystringParser: parseQuery, constraints: served.constraints, maxParamLength: 1000 },
    rewriteUrl: (request) => contractTarget(request.url ?? '/', isPeoplePage),
    frameworkErrors: (error, request, reply) => void answerRefusal(request, reply, error),
    clientErrorHandler: createBrokenRequests(world, {
      peekRate: (address) => rateLimit.peek(bucketOfAddress(address)),
      isAnswered: lingeringClose.isLingering,
    }),
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: NO_COMPILERS },
    serverFactory: (api) =>
      // Node's own refusal of a missing Host has none of our headers; the hook below refuses it instead.
      createServer({ requireHostHeader: false, keepAliveTimeout: 72_000 }, (request, response) => {
        // RFC 9112 §9.6: after a response that closes the connection, no further request of it is processed.
        if (lingeringClose.isLingering(request.socket)) return;
        lastAnswers.note(request, response);
        if (!answersPublic(request, response)) api(request, response);
      }),
  });
  collectBodies(server);

  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    // Responses belong to a team or a person; the few public ones set their own header.
    reply.header('cache-control', 'no-store');
    if (allowOtherOrigins(request, reply)) return answerPreflight(rateLimit, request, reply);
    done(
      agentFault(request) ??
        hostFault(request, reply) ??
        targetFault(request, reply, suggestRoute) ??
        nameFault(world, request),
    );
  });
  const unread = createUnreadAnswers(world, server.server);
  endSlowUploads(world, server.server);
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) unread.admit(reply.raw, payload.length);
    done();
  });
  server.addHook('onResponse', measureAnswer(world));
  server.setErrorHandler((error, request, reply) => answerRefusal(request, reply, error));
  // RFC 9110 §10.1.1: an expectation may be ignored; Node would respond with a bare 417.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  await servePeoplePages(server, { services, validators, authenticators, rateLimit });
  await served.addRoutes(server);

  const { address, port, host, beside } = await listen(server, world, parts.secure);
  return {
    host: address,
    port,
    ...beside.bound,
    url: config.http.public_url === '' ? `http://${host}:${port}` : config.http.public_url,
    async drain(maxMs) {
      lastAnswers.begin();
      const over = Promise.withResolvers<void>();
      const cancel = world.clock.timer(maxMs, over.resolve);
      const ended = Promise.all([beside.stopListening(), stopListening(server.server)]);
      await Promise.race([ended, over.promise]);
      cancel();
    },
    async close(graceMs) {
      lastAnswers.begin();
      lingeringClose.close();
      endCaptureWaits(world.db);
      await Promise.all([beside.close(graceMs), closeServer(server, world, graceMs)]);
      unread.close();
      await requestLog.close();
    },
  };
}

/** Unknown paths and methods: refused before the credential is checked and before any byte of a body is read. */
function targetFault(
  request: FastifyRequest,
  reply: FastifyReply,
  suggestRoute: ReturnType<typeof createRouteSuggestion>,
): Refusal | undefined {
  const { operation, methods: known = [] } = findRequestTarget(request) ?? {};
  if (operation || request.routeOptions.config.isForPeople) return undefined;
  const methods = [...known, ...methodsOfPage(request.url)];
  if (methods.length === 0) {
    return refuse('not_found', { say: `Route not found.${suggestRoute(request.method, request.url)}` });
  }
  reply.header('allow', methods.join(', '));
  return refuse('method_not_allowed', {
    say: `${request.method} is not allowed here; allowed: ${methods.join(', ')}.`,
  });
}

/** Requests that match no operation of the contract, such as those for an unknown path, are counted together. */
function measureAnswer({ meter, tracer }: World): onResponseHookHandler {
  return (request, reply, done) => {
    const { method } = request;
    const { operation = 'none', url: route } = nameRoute(request);
    meter.count('rasket_http_requests_total', { operation, status: String(reply.statusCode) });
    meter.observe('rasket_http_request_seconds', reply.elapsedTime / 1000, { operation });
    tracer.answered({
      id: request.id,
      traceparent: request.headers['traceparent'] as string | undefined,
      method,
      operation,
      route,
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    });
    done();
  };
}

type Answers = (...exchange: Parameters<ReturnType<typeof createTrackingRoutes>>) => boolean;

/** The pages that run before the API, for people without a key. */
function createPublicRoutes(world: World, { tracking, unknownProxy, readMetrics }: HttpParts): Answers {
  const all = [
    createChallengeRoute(world),
    createTrackingRoutes(world, tracking),
    createMetricsRoute(world, readMetrics),
    createImageRoutes(world),
    createPolicyRoute(world),
    createPreferencePages(world),
    createPlaygroundPages(world),
  ];
  return (request, response) => {
    unknownProxy?.note(request);
    return all.some((answers) => answers(request, response));
  };
}

/** A body is only collected here; it is parsed after all checks that come before it in the documented order. */
function collectBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
  server.addHook('preParsing', (request, _reply, _payload, done) => done(codingFault(request)));
}

/** RFC 9112 §3.2: an HTTP/1.1 request without Host gets a 400 response. */
function hostFault(request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
  if (request.headers.host !== undefined || request.raw.httpVersion === '1.0') return undefined;
  reply.header('connection', 'close');
  return refuse('validation_error', { status: 400, say: 'Send a Host header; HTTP/1.1 requires one.' });
}

/** Refuses a call with a credential under a name that is not of this machine; the routes of the playground refuse it themselves. */
function nameFault(world: World, request: FastifyRequest): Refusal | undefined {
  const { operation } = findRequestTarget(request)?.operation ?? {};
  const needsCredential = operation && operation['x-service-permission'] !== 'none' && !operation['x-development'];
  if (!needsCredential || isOwnName(world, request.headers.host)) return undefined;
  return refuse('validation_error', {
    status: 403,
    say: 'On a development server, the API only accepts host names of this machine, such as 127.0.0.1 and localhost, and the host of http.public_url; to use another one, start rasket dev with --any-host.',
  });
}

/**
 * Programs must send a User-Agent; a person's browser need not, nor an identity provider that reports a logout: common
 * ones send none.
 */
function agentFault(request: FastifyRequest): Refusal | undefined {
  const { headers, routeOptions } = request;
  if (routeOptions.config.isForPeople || headers['user-agent']?.trim()) return undefined;
  if (findRequestTarget(request)?.operation?.operationId === 'endProviderSession') return undefined;
  const refusal = refuse('validation_error', {
    status: 403,
    say: 'Send a User-Agent header; requests without one are refused.',
  });
  refusal.code = 1010;
  return refusal;
}

/** Opens all ports, or none; `host` is the address as written in a URL. */
async function listen(server: FastifyInstance, world: World, secure: SecureParts | undefined) {
  const beside = await openAdditionalPorts(world, server.server, secure);
  try {
    await server.listen({ host: world.config.http.host, port: world.config.http.port });
  } catch (error) {
    await beside.close(0);
    throw error;
  }
  const { address, port } = server.server.address() as AddressInfo;
  return { address, port, host: hostOfUrl(address), beside };
}

/** The host of a URL that leads to the listener from this machine. */
function hostOfUrl(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}

/** Resolves when the open connections have ended as well. The close of an HTTP server would cut those that are idle. */
const stopListening = (server: NetServer): Promise<void> =>
  new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve()));

async function closeServer(server: FastifyInstance, world: World, graceMs: number): Promise<void> {
  const cancel = world.clock.timer(graceMs, () => server.server.closeAllConnections());
  if (graceMs === 0) server.server.closeAllConnections();
  await server.close();
  cancel();
}
