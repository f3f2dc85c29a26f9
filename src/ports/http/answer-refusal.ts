import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRangeCheck, plainAddress } from '../../platform/network/index.ts';
import type { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { OauthRefusal } from '../../features/identity/oauth/index.ts';
import { errorBody, refusalFor, setRateHeaders } from './answers.ts';
import { challengeOf, refusedPage, sendOauthError } from './oauth/index.ts';
import type { LingeringClose } from './lingering-close.ts';
import { addressBucket, type RateLimit } from './rate-limit.ts';
import type { UploadBudget } from './upload-budget.ts';

/** Answers whatever went wrong: as the API does, or where the route is a step of OAuth, as OAuth has it. */
export function createRefusalAnswer(
  world: World,
  {
    rateLimit,
    lingeringClose,
    letGo,
  }: { rateLimit: RateLimit; lingeringClose: LingeringClose } & Pick<UploadBudget, 'letGo'>,
): (request: FastifyRequest, reply: FastifyReply, error: unknown) => void {
  const isTrusted = createRangeCheck(world.config.http.trusted_proxies);
  return (request, reply, error) => {
    const refusal = error instanceof OauthRefusal ? error : refusalFor(error, request, world.log);
    if (!reply.hasHeader('ratelimit-limit')) setRateHeaders(reply, rateLimit.peek(addressBucket(request)));
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id);
    // A refused page or file must not be cached, whatever its headers said before.
    reply.header('cache-control', 'no-store');
    if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
    if (![400, 413, 415, 503].includes(refusal.status) || request.raw.complete) return send(request, reply, refusal);
    letGo(request.raw);
    if (isTrusted(plainAddress(request.raw.socket.remoteAddress ?? ''))) {
      return readRest(world, request, answer);
    }
    lingeringClose.begin(request.raw);
    answer();

    function answer(): void {
      // The unread rest of the body would be taken for the next request.
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
    if (refusal.status === 401) reply.header('www-authenticate', challengeOf(refusal, world.origin(), resourcePath));
    reply.code(refusal.status).type('application/json; charset=utf-8').send(errorBody(refusal));
  }
}

/** Longer than a proxy takes to pass on the largest body that it lets through. */
const REST_MS_MAX = 60_000;
/** So many of the largest bodies that are taken. */
const REST_BODIES_MAX = 8;

/**
 * A proxy gives up a body that is answered in its midst: nginx answers 502 in our place, and Caddy cuts off a client that has not sent all
 * of it yet. So the rest of a refused body is read and dropped before the answer. One that takes longer than a minute, or is larger than eight
 * of the largest that are taken, is cut off all the same.
 */
function readRest({ clock, config }: World, { raw }: FastifyRequest, answer: () => void): void {
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
