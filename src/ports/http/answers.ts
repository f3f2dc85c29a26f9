import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseDamage, isDatabaseSetback, isFenced } from '../../platform/db/index.ts';
import { refuse, Refusal } from '../../platform/refusal.ts';
import type { Log } from '../../platform/log/index.ts';
import { DamagedContent } from '../../mail/contents/index.ts';
import { nameRoute } from './find-operation.ts';
import { addressBucket, type RateState, type RateLimit } from './rate-limit.ts';
import { createRangeCheck, plainAddress } from '../../platform/network/index.ts';
import type { World } from '../../platform/world.ts';
import { OauthRefusal } from '../../features/identity/index.ts';
import { formatChallenge, refusedPage, sendOauthError } from './oauth/index.ts';
import { UPLOAD_BYTES_PER_SECOND, type LingeringClose } from './slow-clients.ts';
import type { UploadBudget } from './costly-work.ts';
import type { Socket } from 'node:net';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The setting that limits the size of the body, named in the refusal. */
    limitedBy?: string;
    /** Set for steps of OAuth, which report errors in the JSON of OAuth or on a page. */
    oauthFlow?: 'json' | 'page';
    /** The path of the route, if it is a resource with tokens of its own. */
    resourcePath?: '/mcp';
  }
}

/** The error body of every route. */
function errorBody(refusal: Refusal): Record<string, unknown> {
  return {
    statusCode: refusal.status,
    name: refusal.errorName,
    message: refusal.message,
    ...(refusal.code === undefined ? {} : { code: refusal.code }),
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
    ...(refusal.claimable === undefined ? {} : { claimable: refusal.claimable }),
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
  };
}

const rateHeaders = (state: RateState) => ({
  'ratelimit-limit': state.limit,
  'ratelimit-remaining': state.remaining,
  'ratelimit-reset': state.resetSeconds,
});

export const setRateHeaders = (reply: FastifyReply, state: RateState): void => void reply.headers(rateHeaders(state));

/** A disk or a store that is full or away is not back in an instant, and a restart of either takes as long. */
const RETRY_AFTER_S = 10;

/**
 * Turns any error into the refusal to send: refusals as they are, an unavailable database as 503, and anything else as
 * our own defect. The cause of a defect is only logged, under the request's id.
 */
export function refusalFor(error: unknown, request: FastifyRequest, log: Log): Refusal {
  if (error instanceof Refusal) {
    if (error.cause !== undefined) log.info({ err: error.cause, requestId: request.id }, 'request refused');
    return error;
  }
  const known = fastifyRefusal(error, request);
  if (known) return known;
  if (isFenced(error)) {
    log.error({ err: error, requestId: request.id }, 'the database is being moved, or was moved to another one');
    return refuse('service_unavailable', {
      say: 'The database of this server is being moved or was moved to another one, so nothing was accepted. Try again later, or at the server that replaces this one.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (isDatabaseDamage(error)) {
    log.error({ err: error, requestId: request.id }, 'stored data cannot be read');
    return refuse('service_unavailable', {
      say: 'The service cannot read its stored data at present, so nothing was accepted; try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (isDatabaseSetback(error)) {
    log.error({ err: error, requestId: request.id }, 'storage is not available');
    return refuse('service_unavailable', {
      say: 'The service cannot store data at present, so nothing was accepted; try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (error instanceof DamagedContent) {
    log.error({ err: error, requestId: request.id }, 'stored content is damaged');
    return refuse('service_unavailable', {
      say: 'The stored content is damaged or missing, so it cannot be used. The operator has to restore it from a backup (finding content_damaged); try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  log.error(
    { err: error, requestId: request.id, method: request.method, route: nameRoute(request).url },
    'request failed',
  );
  return refuse('application_error', { say: `Something went wrong on our side. The request id is ${request.id}.` });
}

/** Errors that fastify throws while it reads a request. */
function fastifyRefusal(error: unknown, request: FastifyRequest): Refusal | undefined {
  // The caller closed the connection: nobody gets the response, and our storage did not fail.
  if (request.raw.destroyed && !request.raw.complete) {
    return refuse('validation_error', { status: 400, say: 'The connection ended before the request body did.' });
  }
  const code = (error as { code?: unknown } | null)?.code;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE': {
      const { bodyLimit: limit, config } = request.routeOptions;
      const setting = config.limitedBy === undefined ? '' : ` (${config.limitedBy} of this server)`;
      const say = `The request body may have at most ${limit} bytes${setting}.`;
      return refuse('validation_error', { status: 413, say });
    }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse('validation_error', {
        status: 400,
        say: 'The length of the request body does not match Content-Length.',
      });
    case 'FST_ERR_BAD_URL':
      return refuse('validation_error', { status: 400, say: 'The request target must be a path or a URL.' });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuse('validation_error', { status: 400, say: 'Content-Type must be application/json.' });
    default:
      return undefined;
  }
}

/** Its `retry-after` is never 0. */
export function rateLimited(state: RateState): Refusal {
  return refuse('rate_limit_exceeded', {
    say: `Too many requests: this server accepts ${state.perSecond} requests a second (rate_limit.requests_per_second), and up to ${state.limit} of them at once (rate_limit.burst). Try again in ${state.retryAfterSeconds} s.`,
    retryAfterSeconds: state.retryAfterSeconds,
  });
}

/** Sends the response to any error: in the format of the API, or in that of OAuth when the route is a step of OAuth. */
export function createRefusalAnswer(
  world: World,
  {
    rateLimit,
    lingeringClose,
    release,
  }: { rateLimit: RateLimit; lingeringClose: LingeringClose } & Pick<UploadBudget, 'release'>,
): (request: FastifyRequest, reply: FastifyReply, error: unknown) => void {
  const isTrusted = createRangeCheck(world.config.http.trusted_proxies);
  return (request, reply, error) => {
    const refusal = error instanceof OauthRefusal ? error : refusalFor(error, request, world.log);
    if (!reply.hasHeader('ratelimit-limit')) setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    // A refused page or file must not be cached, whatever its headers were before.
    reply.header('cache-control', 'no-store');
    if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
    if (![400, 413, 415, 503].includes(refusal.status) || request.raw.complete) return send(request, reply, refusal);
    release(request.raw);
    if (isTrusted(plainAddress(request.raw.socket.remoteAddress ?? ''))) {
      return readRemaining(world, request, answer);
    }
    lingeringClose.begin(request.raw);
    answer();

    function answer(): void {
      // The unread part of the body would be parsed as the next request.
      if (!request.raw.complete) reply.header('connection', 'close');
      send(request, reply, refusal);
    }
  };

  function send(request: FastifyRequest, reply: FastifyReply, refusal: Refusal | OauthRefusal): void {
    if (refusal instanceof OauthRefusal) return sendOauthError(reply, refusal);
    const { oauthFlow, resourcePath } = request.routeOptions?.config ?? {};
    // A missing User-Agent is refused alike everywhere.
    if (oauthFlow === 'json' && refusal.code === undefined) return sendOauthError(reply, refusal);
    if (oauthFlow === 'page' && refusal.code === undefined) {
      return void refusedPage(reply, refusal.message, refusal.status);
    }
    if (refusal.status === 401)
      reply.header('www-authenticate', formatChallenge(refusal, world.origin(), resourcePath));
    reply.code(refusal.status).type('application/json; charset=utf-8').send(errorBody(refusal));
  }
}

/** Longer than a proxy takes to pass on the largest body that it lets through. */
const REST_MS_MAX = 60_000;
/** The limit for a body that is dropped, as a multiple of the largest accepted one. */
const REST_BODIES_MAX = 8;

/**
 * A proxy gives up when it gets a response while it still sends the body: nginx responds with 502 in our place, and
 * Caddy cuts off a client that has not sent everything yet. So the remaining body of a refused request is read and
 * dropped before the response. A body that takes longer than a minute, or is larger than eight of the largest accepted
 * ones, is cut off all the same.
 */
function readRemaining({ clock, config }: World, { raw }: FastifyRequest, answer: () => void): void {
  if (raw.destroyed) return answer();
  const finish = (): void => {
    cancel();
    raw.off('end', finish).off('close', finish).off('data', count);
    answer();
  };
  let left = REST_BODIES_MAX * config.http.email_body_limit_bytes;
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) finish();
  };
  const cancel = clock.timer(REST_MS_MAX, finish);
  raw.once('end', finish).once('close', finish).on('data', count).resume();
}

export function answerPreflight(rateLimit: RateLimit, request: FastifyRequest, reply: FastifyReply): void {
  setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
  reply.send();
}

/**
 * Responds to bytes that are not a complete HTTP request, in the usual format, and closes the connection: it is unknown
 * where such a request ends and the next one begins.
 */
export function createBrokenRequests(
  world: World,
  { peekRate, isAnswered }: { peekRate(address: string): RateState; isAnswered(socket: Socket): boolean },
): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const code = String((error as { code?: unknown }).code);
    if (code === 'ECONNRESET' || !socket.writable || isBeingAnswered(socket) || isAnswered(socket)) {
      socket.destroy();
      return;
    }
    const requestId = world.ids.uuid();
    world.log.info({ code, requestId }, 'request could not be read');
    const refusal = toRefusal(code);
    const body = JSON.stringify(errorBody(refusal));
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...rateHeaders(peekRate(socket.remoteAddress ?? '')),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${refusal.status} Bad Request\r\n${lines.join('')}\r\n${body}`);
  };
}

/** A second response in the middle of the first would be read as part of it. */
const isBeingAnswered = (socket: Socket): boolean =>
  (socket as { _httpMessage?: { headersSent: boolean } | null })._httpMessage?.headersSent === true;

function toRefusal(code: string): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return badRequest('The request line and the headers may have at most 16 KB together.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return badRequest('The chunks of the request body have too many extensions.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return badRequest('The headers of the request did not arrive in time.');
    case 'UPLOAD_TOO_SLOW':
      return badRequest(`The body arrives too slowly; send at least ${UPLOAD_BYTES_PER_SECOND / 1024} KB a second.`);
    default:
      return badRequest('The request is not valid HTTP/1.1.');
  }
}

const badRequest = (say: string): Refusal => refuse('validation_error', { status: 400, say });
