import type { FastifyReply, FastifyRequest } from 'fastify';
import { ASSISTANT_SCOPES, checkPermission, scopesLacking, type Requirement } from '../../../contract/index.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Actor } from '../../../tenancy/access/index.ts';
import { describable, OauthRefusal } from '../../../features/identity/index.ts';
import { isUtf8 } from 'node:buffer';
import { complexityFault } from '../check-request.ts';
import { parseQuery } from '../find-operation.ts';

/** Paths that an app in a browser calls from a page of its own. Cookies are neither sent with these calls nor read. */
const OPEN_PATHS = /^\/(?:oauth\/(?:register(?:\/[^/?]+)?|token|revoke)|\.well-known\/oauth-[a-z-]+(?:\/mcp)?)(?:\?|$)/;

/**
 * Allows pages of other sites to call the steps of OAuth. Reports whether the request was only a browser's preflight
 * request.
 */
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

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * Reads the body of a step of OAuth, as a form or JSON. A field that occurs twice becomes a list, so that the step
 * refuses it: the intended value is unknown.
 */
export function readOauthFields(
  bytes: Buffer | undefined,
  contentType: string | undefined,
  { takesForm }: { takesForm: boolean },
): Record<string, unknown> {
  if (bytes === undefined || bytes.length === 0) return {};
  const isForm = FORM.test(contentType ?? '');
  if ((!isForm || !takesForm) && !JSON_TYPE.test(contentType ?? '')) {
    throw bad(`Content-Type must be application/json${takesForm ? ' or application/x-www-form-urlencoded' : ''}.`);
  }
  if (!isUtf8(bytes)) throw bad('The body must be in UTF-8.');
  return isForm ? { ...parseQuery(bytes.toString('utf8')) } : readJson(bytes);
}

function readJson(bytes: Buffer): Record<string, unknown> {
  const fault = complexityFault(bytes);
  if (fault !== undefined) throw bad(`The body ${fault}.`);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad('The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('The body must be a JSON object.');
  const twice = nameThatIsThereTwice(text);
  if (twice !== undefined) throw bad(`${twice.slice(0, 50)} was sent more than once.`);
  return { ...value };
}

/**
 * Returns the first name that occurs twice in the outermost object of a text that is valid JSON; JSON.parse silently
 * keeps the last value.
 */
function nameThatIsThereTwice(json: string): string | undefined {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, colon] of json.matchAll(/[[\]{}]|"(?:[^"\\]|\\.)*"(\s*:)?/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (names.has(name)) return name;
      names.add(name);
    }
  }
  return undefined;
}

const bad = (say: string): OauthRefusal => new OauthRefusal('invalid_request', say);

/** Reports faults of the app by their own OAuth error name, and all other refusals by the nearest one. */
export function sendOauthError(reply: FastifyReply, refusal: OauthRefusal | Refusal): void {
  const error = refusal instanceof OauthRefusal ? refusal.error : toErrorName(refusal.status);
  if (error === 'invalid_token') reply.header('www-authenticate', 'Bearer error="invalid_token"');
  // A body that is too large and a call that is not HTTP count as malformed requests.
  const status = error === 'invalid_request' && refusal.status !== 429 ? 400 : refusal.status;
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send({ error, error_description: describable(refusal.message) });
}

function toErrorName(status: number): string {
  if (status === 503) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

const formatMetadata = (origin: string, path = ''): string =>
  `resource_metadata="${origin}/.well-known/oauth-protected-resource${path}"`;

/**
 * RFC 9728 §5.1: says where to get a token. A request without a token is not reported as having an invalid one (RFC
 * 6750 §3.1). For /mcp it names the scopes to ask for, without which clients ask for all that there are.
 */
export function formatChallenge({ errorName }: Refusal, origin: string, path?: '/mcp'): string {
  const error = errorName === 'invalid_api_key' ? 'error="invalid_token", ' : '';
  const scope = path === '/mcp' ? `scope="${ASSISTANT_SCOPES.join(' ')}", ` : '';
  return `Bearer ${error}${scope}${formatMetadata(origin, path)}`;
}

/** RFC 6750 §3.1: the scope that an access token lacks, so that its app can ask the person for it. */
export function challengeForScope(
  reply: FastifyReply,
  actor: Actor,
  { access, origin }: { access: Requirement; origin: string },
): void {
  if (actor.kind !== 'oauth_grant' || checkPermission(actor, access) !== 'lacks_scope') return;
  challengeForScopes(reply, scopesLacking(access, actor.scopes), origin);
}

export function challengeForScopes(
  reply: FastifyReply,
  scopes: readonly string[],
  origin: string,
  path?: '/mcp',
): void {
  const challenge = `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", ${formatMetadata(origin, path)}`;
  reply.header('www-authenticate', challenge);
}
