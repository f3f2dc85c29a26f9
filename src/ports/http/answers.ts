import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseDamage, isDatabaseSetback, isFenced } from '../../platform/db/index.ts';
import { refuse, Refusal } from '../../platform/refusal/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { DamagedContent } from '../../mail/contents/index.ts';
import { routeOf } from './find-operation.ts';
import type { RateState } from './rate-limit.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The setting behind the route's limit of bytes, where its caller is told. */
    limitedBy?: string;
    /** Whether it is a step of OAuth, which is refused in words of its own, or by a page. */
    oauthFlow?: 'json' | 'page';
    /** The path of the route, where its tokens are a resource of their own. */
    resourcePath?: '/mcp';
  }
}

/** The error body of every route. */
export function errorBody(refusal: Refusal): Record<string, unknown> {
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

export const rateHeaders = (state: RateState) => ({
  'ratelimit-limit': state.limit,
  'ratelimit-remaining': state.remaining,
  'ratelimit-reset': state.resetSeconds,
});

export const setRateHeaders = (reply: FastifyReply, state: RateState): void => void reply.headers(rateHeaders(state));

/** A disk or a store that is full or away is not back in an instant, and a restart of either takes as long. */
const RETRY_AFTER_S = 10;

/**
 * The one place where an error becomes an answer: refusals as they are, an unavailable database as 503, and anything
 * else as our own defect, whose cause goes to the log under the request's id and nowhere else.
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
      say: 'This server’s database is being or was moved to another one, and takes nothing; nothing was accepted. Try again in a while, or at the server that took its place.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (isDatabaseDamage(error)) {
    log.error({ err: error, requestId: request.id }, 'what is stored cannot be read');
    return refuse('service_unavailable', {
      say: 'The service cannot read what it has stored just now, and nothing was accepted; try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (isDatabaseSetback(error)) {
    log.error({ err: error, requestId: request.id }, 'storage is not available');
    return refuse('service_unavailable', {
      say: 'The service cannot store anything just now, and nothing was accepted; try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  if (error instanceof DamagedContent) {
    log.error({ err: error, requestId: request.id }, 'stored content is damaged');
    return refuse('service_unavailable', {
      say: 'The stored content is damaged or missing, and nothing of it was sent. The operator has to put it back from a backup (finding content_damaged); try again later.',
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
  log.error(
    { err: error, requestId: request.id, method: request.method, route: routeOf(request).url },
    'request failed',
  );
  return refuse('application_error', { say: `Something went wrong on our side. The request id is ${request.id}.` });
}

/** Errors that fastify throws while it reads a request. */
function fastifyRefusal(error: unknown, request: FastifyRequest): Refusal | undefined {
  // The caller closed the connection: the answer reaches no one, and it is no failure of our storage.
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
        say: 'The request body does not have the length that Content-Length says.',
      });
    case 'FST_ERR_BAD_URL':
      return refuse('validation_error', { status: 400, say: 'The target of the request is neither a path nor a URL.' });
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
