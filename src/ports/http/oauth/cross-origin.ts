import type { FastifyReply, FastifyRequest } from 'fastify';

/** What an app in a browser asks from a page of its own. No cookie goes with it, and none is taken. */
const OPEN_PATHS = /^\/(?:oauth\/(?:register(?:\/[^/?]+)?|token|revoke)|\.well-known\/oauth-[a-z-]+(?:\/mcp)?)(?:\?|$)/;

/** Allows pages of other sites to call the steps of OAuth. Answers whether the request was but the browser's question whether it may. */
export function allowOtherOrigins(request: FastifyRequest, reply: FastifyReply): boolean {
  if (!OPEN_PATHS.test(request.url)) return false;
  reply.headers({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'www-authenticate, retry-after, x-request-id',
  });
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false;
  reply.code(204).headers({
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
    'access-control-max-age': 86_400,
  });
  return true;
}
