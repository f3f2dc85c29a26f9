import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifyServerOptions, HTTPMethods } from 'fastify';
import type { IncomingMessage } from 'node:http';
import {
  readRequirement,
  methods,
  type OperationValidators,
  type RequestParameters,
  type Validators,
} from '../../contract/index.ts';
import type { World } from '../../platform/world.ts';
import { notFound } from '../../platform/refusal.ts';
import { authorize, isBatch } from '../../tenancy/access/index.ts';
import { createKeyUse } from '../../tenancy/api-keys/index.ts';
import { rateLimited, setRateHeaders } from './answers.ts';
import { createAnswerer, mustHaveAnswerer, type Answerer } from './answerer.ts';
import type { createCallerCheck } from './authenticators.ts';
import {
  checkBody,
  checkIdempotencyKey,
  checkParameters,
  parseBody,
  unwrapped,
  type ParsedBody,
} from './check-request.ts';
import { cutByteLists, mayHoldByteLists, placeByteLists, restoreByteLists, type CutText } from './byte-lists.ts';
import { beginAnswer } from './costly-work.ts';
import { createFindTarget, EVERY_PATH, findFor, findRequestTarget, type FindTarget } from './find-operation.ts';
import { readForms } from './uploads.ts';
import { serveMcp, type McpParts } from './mcp/index.ts';
import { isPeoplePage, PAGE } from './people-pages/index.ts';
import { challengeForScope, readOauthFields } from './oauth/index.ts';
import type { HttpServices } from './page.ts';
import { mayUsePlayground } from './client-address.ts';
import { addressBucket, type RateState } from './rate-limit.ts';
import type { Caller } from './request-log.ts';

interface OperationParts extends McpParts {
  findCaller: ReturnType<typeof createCallerCheck>;
}

interface Served {
  find: FindTarget;
  /** Options for the server; they must be set before its first route. */
  constraints: NonNullable<FastifyServerOptions['routerOptions']>['constraints'];
  addRoutes(server: FastifyInstance): Promise<void>;
}

/** The properties of an operation that a route has to know before it runs; many operations share them. */
type Kind = 'json' | 'email' | 'picture' | 'form' | 'oauth' | 'oauth page';
const KINDS: readonly Kind[] = ['json', 'email', 'picture', 'form', 'oauth', 'oauth page'];

/** A route for each kind of operation, on every path: the operation is found by `find-operation.ts`, and made ready by its first request. */
export function serveOperations(parts: OperationParts): Served {
  const { services, validators, rateLimit, noteAnswer, countUpload, findCaller } = parts;
  const { world } = services;
  const { config } = world;
  const operations = [...validators.operations.values()].filter(
    ({ operation }) => !operation['x-development'] || config.profile === 'development',
  );
  const find = createFindTarget(operations);
  const noteKeyUse = createKeyUse(world);
  const answererFor = createAnswerers(validators, services);
  const callers = new WeakMap<FastifyRequest, Caller>();

  function addRoute(router: FastifyInstance, kind: Kind): void {
    router.route({
      method: methods.map((method) => method.toUpperCase() as HTTPMethods),
      url: EVERY_PATH,
      constraints: { kind },
      ...buildRouteOptions(kind, config),
      // The documented order of faults: 1 User-Agent, 2 route, 3 credential, 4 rate, 5 scope, 6 Idempotency-Key, 7 parameters, 8 body.
      onRequest: async (request, reply) => {
        const operation = findRequestOperation(request);
        if (operation.operation['x-development'] && !mayUsePlayground(world, request.headers.host))
          throw notFound('Route');
        const access = readRequirement(operation.operation);
        const caller = await findCaller(request, operation.operation);
        if (caller) callers.set(request, caller);
        const state = await rateLimit.take(toBucket(caller) ?? addressBucket(request));
        setRateHeaders(reply, state);
        mustBeAllowed(state);
        if (isOfOauth(operation)) return void reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
        if (caller) challengeForScope(reply, caller.actor, { access, origin: world.origin() });
        if (caller) authorize(caller.actor, access);
        if (takesKey(operation)) checkIdempotencyKey(request.headers['idempotency-key'] as string | undefined);
        checkParameters(operation, callParameters(request));
      },
      preParsing: (request, reply, payload, done) => {
        if (isCounted(findRequestOperation(request)))
          countUpload(request, reply, callers.get(request)?.teamId ?? request.ip);
        done(null, payload);
      },
      onSend: (request, reply, payload, done) => {
        const caller = config.logs.enabled ? callers.get(request) : undefined;
        if (caller) noteAnswer(findRequestOperation(request), { request, reply, caller, payload });
        done();
      },
      handler: async (request, reply) => {
        const caller = callers.get(request);
        return beginAnswer(services.executor, { request, teamId: caller?.teamId }, () => {
          const operation = findRequestOperation(request);
          const isLarge = toKind(operation) === 'email' && mayHoldByteLists(request.body as Buffer | undefined);
          return isLarge ? cutByteLists(request.body as Buffer).then(answer) : answer();
        });

        function answer(cut?: CutText): unknown {
          const operation = findRequestOperation(request);
          const body = readBody(operation, request, { caller, cut });
          if (caller?.actor.kind === 'api_key') noteKeyUse(caller.actor.keyId, request.id);
          return answererFor(operation)({ request, reply, caller, body, parameters: callParameters(request) });
        }
      },
    });
  }

  return {
    find,
    constraints: { kind: createConstraint(find) },
    async addRoutes(server) {
      for (const operation of operations) if (isMcp(operation)) serveMcp(server, operation, parts);
      for (const kind of KINDS) if (kind !== 'form') addRoute(server, kind);
      // Form parsing is registered in a scope of its own: for all other routes, a form is a body of the wrong type.
      await server.register(async (forms) => {
        await readForms(forms);
        addRoute(forms, 'form');
      });
    },
  };
}

/** Returns the route of a request: the one of pages or the one for the kind of its operation; undefined for neither. */
const createConstraint = (find: FindTarget) => ({
  name: 'kind',
  storage: createStorage,
  validate: () => undefined,
  deriveConstraint(request: IncomingMessage): Kind | typeof PAGE | 'none' {
    if (isPeoplePage(request.url ?? '')) return PAGE;
    const { operation } = findFor(request, find) ?? {};
    return operation && !isMcp(operation) ? toKind(operation) : 'none';
  },
});

/** Creates each answerer with its first request; that one exists for each operation was checked before. */
function createAnswerers(validators: Validators, services: HttpServices): (operation: OperationValidators) => Answerer {
  for (const operation of validators.operations.values()) if (!isMcp(operation)) mustHaveAnswerer(operation);
  const made = new Map<string, Answerer>();
  return (operation) => {
    const answerer = made.get(operation.operationId) ?? createAnswerer(operation, validators, services);
    made.set(operation.operationId, answerer);
    return answerer;
  };
}

function createStorage<Handler>() {
  const handlers = new Map<string, Handler>();
  return {
    get: (kind: string) => handlers.get(kind) ?? null,
    set: (kind: string, handler: Handler) => void handlers.set(kind, handler),
  };
}

function findRequestOperation(request: FastifyRequest): OperationValidators {
  const operation = findRequestTarget(request)?.operation;
  if (!operation) throw new Error('a request without an operation reached a route of operations');
  return operation;
}

function toKind(operation: OperationValidators): Kind {
  if (takesForm(operation)) return 'form';
  if (takesPicture(operation)) return 'picture';
  if (isOfOauth(operation)) return operation.operationId === 'authorizeClient' ? 'oauth page' : 'oauth';
  return operation.operation['x-holds-email'] ? 'email' : 'json';
}

function buildRouteOptions(
  kind: Kind,
  { http, images }: World['config'],
): { bodyLimit: number; config: FastifyContextConfig } {
  const bodyLimit = http.body_limit_bytes;
  if (kind === 'oauth') return { bodyLimit, config: { oauthFlow: 'json' } };
  if (kind === 'oauth page') return { bodyLimit, config: { oauthFlow: 'page' } };
  // A picture is the whole body of its upload.
  if (kind === 'picture') return { bodyLimit: images.max_bytes, config: { limitedBy: 'images.max_bytes' } };
  if (kind === 'email') {
    return { bodyLimit: http.email_body_limit_bytes, config: { limitedBy: 'http.email_body_limit_bytes' } };
  }
  return { bodyLimit, config: { limitedBy: 'http.body_limit_bytes' } };
}

const takesKey = ({ parameters }: OperationValidators): boolean =>
  parameters.some((parameter) => parameter.name === 'Idempotency-Key');

const isCounted = (operation: OperationValidators): boolean => operation.method !== 'get' && !takesForm(operation);

/** Returns the bucket of a caller: all keys of a team share one, and each person has their own. */
function toBucket(caller: Caller | undefined): string | undefined {
  if (caller?.actor.kind === 'operator') return `operator:${caller.actor.operatorId}`;
  if (caller?.actor.kind === 'session') return `user:${caller.actor.userId}`;
  return caller && `team:${caller.teamId}`;
}

/** Reports whether the operation reads its body itself, piece by piece, as a form. */
const takesForm = ({ operation }: OperationValidators): boolean =>
  operation.requestBody?.content['multipart/form-data'] !== undefined;

/** Reports whether its body is a plain file. */
const takesBytes = ({ operation }: OperationValidators): boolean =>
  operation.requestBody?.content['application/octet-stream'] !== undefined;

const takesPicture = ({ operationId }: OperationValidators): boolean => operationId === 'createImage';

const takesJson = (operation: OperationValidators): boolean => !takesForm(operation) && !takesBytes(operation);

/** Reports whether this is the MCP endpoint, which calls the other operations and reads its messages itself. */
const isMcp = ({ operation }: OperationValidators): boolean => operation['x-mcp'] === true;

/** Reports whether its parameters and its body are checked by the rules of OAuth, where they are read. */
const isOfOauth = ({ operation }: OperationValidators): boolean => operation['x-oauth-flow'] === true;

const NO_BODY: ParsedBody = { value: undefined, hasEscapes: false };

function parseRequestBody(operation: OperationValidators, request: FastifyRequest, cut?: CutText): ParsedBody {
  if (!takesJson(operation)) return NO_BODY;
  const sent = [cut?.bytes ?? (request.body as Buffer | undefined), request.headers['content-type']] as const;
  if (!isOfOauth(operation)) return unwrapped(operation, parseBody(...sent));
  const { requestBody } = operation.operation;
  if (!requestBody) return NO_BODY;
  const takesFields = requestBody.content['application/x-www-form-urlencoded'] !== undefined;
  return { value: readOauthFields(...sent, { takesForm: takesFields }), hasEscapes: false };
}

function readBody(
  operation: OperationValidators,
  request: FastifyRequest,
  { caller, cut }: { caller: Caller | undefined; cut: CutText | undefined },
): ParsedBody {
  const body = parseRequestBody(operation, request, cut);
  if (cut && cut.lists.size > 0) {
    placeByteLists(body.value, cut.lists);
    operation.variants.normalizeBody(body.value);
    restoreByteLists(body.value);
  }
  if (caller) caller.body = body.value;
  const isJson = operation.method !== 'get' && takesJson(operation);
  if (isJson && !isOfOauth(operation) && !isBatch(operation.operationId)) {
    checkBody(operation, body, callParameters(request).path);
  }
  return body;
}

function mustBeAllowed(state: RateState): void {
  if (!state.allowed) throw rateLimited(state);
}

const callParameters = (request: FastifyRequest): RequestParameters => ({
  path: findRequestTarget(request)?.params ?? {},
  query: request.query as Record<string, unknown>,
  header: request.headers,
});
