import type { FastifyReply } from 'fastify';
import { reachOf, scopesLacking, type Requirement } from '../../../contract/index.ts';
import type { Refusal } from '../../../platform/refusal/index.ts';
import type { Actor } from '../../../tenancy/access/index.ts';
import { describable, OauthRefusal } from '../../../features/identity/oauth/index.ts';

/** What an app did wrong is said by its own name, all else by the nearest one. */
export function sendOauthError(reply: FastifyReply, refusal: OauthRefusal | Refusal): void {
  const error = refusal instanceof OauthRefusal ? refusal.error : nameOf(refusal.status);
  if (error === 'invalid_token') reply.header('www-authenticate', 'Bearer error="invalid_token"');
  // What is at fault in a body that is too large, or in a call that is no HTTP, is a request that is malformed.
  const status = error === 'invalid_request' && refusal.status !== 429 ? 400 : refusal.status;
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send({ error, error_description: describable(refusal.message) });
}

function nameOf(status: number): string {
  if (status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

const metadataOf = (origin: string, path = ''): string =>
  `resource_metadata="${origin}/.well-known/oauth-protected-resource${path}"`;

/** RFC 9728 §5.1: where a token is to be had. Nobody is told that a token is wrong who has sent none (RFC 6750 §3.1). */
export const challengeOf = ({ errorName }: Refusal, origin: string, path?: '/mcp'): string =>
  `Bearer ${errorName === 'invalid_api_key' ? 'error="invalid_token", ' : ''}${metadataOf(origin, path)}`;

/** RFC 6750 §3.1: the scope that an access token lacks, so that its app can ask the person for it. */
export function challengeForScope(
  reply: FastifyReply,
  actor: Actor,
  { access, origin }: { access: Requirement; origin: string },
): void {
  if (actor.kind !== 'oauth_grant' || reachOf(actor, access) !== 'lacks_scope') return;
  challengeForScopes(reply, scopesLacking(access, actor.scopes), origin);
}

export function challengeForScopes(
  reply: FastifyReply,
  scopes: readonly string[],
  origin: string,
  path?: '/mcp',
): void {
  const challenge = `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", ${metadataOf(origin, path)}`;
  reply.header('www-authenticate', challenge);
}
