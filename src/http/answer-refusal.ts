import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRangeCheck, plainAddress } from '../platform/network/index.ts';
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
  const isTrusted = createRangeCheck(world.config.http.trusted_proxies);
  return (request, reply, error) => {
    const refusal = error instanceof OauthRefusal ? error : refusalFor(error, request, world.log);
    if (!reply.hasHeader('ratelimit-limit')) setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
    if ([400, 415, 503].includes(refusal.status) && !request.raw.complete) leaveRest(request, reply, isTrusted);
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

/**
 * The unread rest of a refused body would be taken for the next request, so the connection is closed. A proxy reads no answer before it has
 * sent all of the body, and where it cannot, it answers 502 in our place: what it sends is read and dropped, for as long as `endSlowUploads` lets it.
 */
function leaveRest(request: FastifyRequest, reply: FastifyReply, isTrusted: (address: string) => boolean): void {
  if (!isTrusted(plainAddress(request.raw.socket.remoteAddress ?? ''))) return void reply.header('connection', 'close');
  reply.removeHeader('connection');
  // nginx asks by default that it is closed; it is what closes it, or `keepAliveTimeout`.
  reply.raw.shouldKeepAlive = true;
  request.raw.resume();
}

export function answerPreflight(rateLimit: RateLimit, request: FastifyRequest, reply: FastifyReply): void {
  setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
  reply.send();
}
