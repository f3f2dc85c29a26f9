import type { FastifyReply, FastifyRequest } from 'fastify';
import type { World } from '../platform/world/index.ts';
import { OauthRefusal } from '../resources/oauth/index.ts';
import { errorBody, refusalFor, setRateHeaders } from './answers.ts';
import { challengeOf, refusedPage, sendOauthError } from './oauth/index.ts';
import { addressBucket, type RateLimit } from './rate-limit.ts';

/** Answers whatever went wrong: as the API does, or where the route is a step of OAuth, as OAuth has it. */
export function createRefusalAnswer(
  world: World,
  rateLimit: RateLimit,
): (request: FastifyRequest, reply: FastifyReply, error: unknown) => void {
  return (request, reply, error) => {
    const refusal = error instanceof OauthRefusal ? error : refusalFor(error, request, world.log);
    if (!reply.hasHeader('ratelimit-limit')) setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
    // The unread rest of a refused body would be taken for the next request.
    if ([400, 415, 503].includes(refusal.status) && !request.raw.complete) reply.header('connection', 'close');
    if (refusal instanceof OauthRefusal) return sendOauthError(reply, refusal);
    const { oauthFlow, resourcePath } = request.routeOptions?.config ?? {};
    // A missing User-Agent is refused alike everywhere.
    if (oauthFlow === 'json' && refusal.code === undefined) return sendOauthError(reply, refusal);
    if (oauthFlow === 'page' && refusal.code === undefined) {
      return void refusedPage(reply, refusal.message, refusal.status);
    }
    if (refusal.status === 401) reply.header('www-authenticate', challengeOf(refusal, world.origin(), resourcePath));
    reply.code(refusal.status).type('application/json; charset=utf-8').send(errorBody(refusal));
  };
}

export function answerPreflight(rateLimit: RateLimit, request: FastifyRequest, reply: FastifyReply): void {
  setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
  reply.send();
}
