import type { FastifyRequest, FastifyReply } from 'fastify';
import type { Operation } from '../../contract/index.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import type { Identity, Browser } from '../../tenancy/access/index.ts';
import { createAuthentication } from '../../tenancy/api-keys/index.ts';
import {
  ACCESS_PREFIX,
  createGrantAuthentication,
  createSessionAuthentication,
  HOST_SESSION_COOKIE,
  SESSION_COOKIE,
  SESSION_PREFIX,
} from '../../features/identity/index.ts';
import {
  createMachineAuthentication,
  createOperatorAuthentication,
  OPERATOR_PREFIX,
  PASS_PREFIX,
} from '../../tenancy/operators/index.ts';

/**
 * One kind of credential: where a request contains it, and the identity it stands for. `identify` throws the refusal of
 * a credential that is not valid.
 */
export type Authenticator = ({ prefix: string } | { cookie: string }) & {
  identify: (secret: string) => Promise<Identity>;
};

/**
 * In the order in which they are tried. A token without the prefix of another kind is an API key or invalid. A change
 * that is authenticated by a cookie is accepted only from our own pages; a token is sent only by the program that has
 * it.
 */
export const createAuthenticators = (world: World): Authenticator[] => [
  { prefix: OPERATOR_PREFIX, identify: createOperatorAuthentication(world) },
  { prefix: PASS_PREFIX, identify: createMachineAuthentication(world) },
  { prefix: SESSION_PREFIX, identify: createSessionAuthentication(world, 'device') },
  { prefix: ACCESS_PREFIX, identify: createGrantAuthentication(world) },
  { prefix: '', identify: createAuthentication(world) },
  { cookie: HOST_SESSION_COOKIE, identify: createSessionAuthentication(world, HOST_SESSION_COOKIE) },
  { cookie: SESSION_COOKIE, identify: createSessionAuthentication(world, SESSION_COOKIE) },
];

export const readBearer = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];

/** Refuses a token that is recognizably of another kind, and says what to do. */
function mustLookLikeOurs(token: string): void {
  if (/^["'].*["']$/.test(token)) {
    throw refuse('invalid_api_key', { say: 'The API key is in quotes; send it without quotes.' });
  }
}

/**
 * Authenticates the caller. A token takes precedence over a cookie, so a request with both belongs to its token. A
 * request without a valid credential is counted (`onRefused`); the fault of the credential is reported first. Returns
 * undefined if the operation needs no credential.
 */
export function createCallerCheck(
  authenticators: readonly Authenticator[],
  origin: () => string,
  onRefused: (request: FastifyRequest) => unknown,
): (request: FastifyRequest, operation: Operation) => Promise<Identity | undefined> {
  const byToken = authenticators.filter((one) => 'prefix' in one);
  const byCookie = authenticators.filter((one) => 'cookie' in one);

  function findIdentity(request: FastifyRequest): Promise<Identity> {
    const { headers } = request;
    const token = readBearer(request);
    if (token !== undefined) {
      mustLookLikeOurs(token);
      const authenticator = byToken.find(({ prefix }) => token.startsWith(prefix));
      if (!authenticator) throw refuse('invalid_api_key', { say: 'The API key is not valid.' });
      return authenticator.identify(token);
    }
    for (const { cookie, identify } of byCookie) {
      const secret = readCookie(headers.cookie, cookie);
      if (secret === undefined) continue;
      mustBeSameOrigin(request, origin());
      return identify(secret);
    }
    throw refuse('missing_api_key', { say: 'Send the API key in the header: Authorization: Bearer rk_…' });
  }

  return async (request, operation) => {
    try {
      if (operation['x-same-origin']) mustBeSameOrigin(request, origin());
      if (operation['x-service-permission'] === 'none' || operation['x-oauth-flow']) return undefined;
      return await findIdentity(request);
    } catch (error) {
      if (error instanceof Refusal) await onRefused(request);
      throw error;
    }
  };
}

/**
 * Sets the cookies of a response. Scripts cannot read them, and pages of other sites send them only with a link that is
 * followed.
 */
export function createBrowser({ config }: World, request: FastifyRequest, reply: FastifyReply): Browser {
  const attributes = `; Path=/; HttpOnly; SameSite=Lax${config.sessions.secure_cookie ? '; Secure' : ''}`;
  const set = (name: string, value: string, seconds: number): void =>
    void reply.header('set-cookie', `${name}=${value}; Max-Age=${seconds}${attributes}`);
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    cookie: (name) => readCookie(request.headers.cookie, name),
    keep: set,
    forget: (name) => set(name, '', 0),
  };
}

/** Ignores a cookie that is sent twice: a host in the same domain as ours may have set one of them. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const [pair, ...more] = header?.split(';').filter((one) => one.trimStart().startsWith(`${name}=`)) ?? [];
  return more.length > 0 ? undefined : pair?.slice(pair.indexOf('=') + 1).trim();
}

/**
 * Browsers send cookies along with requests from other sites, and name the origin of the page there. Links change
 * nothing and need no check.
 */
export function mustBeSameOrigin({ method, headers }: FastifyRequest, own: string): void {
  if (method === 'GET' || method === 'HEAD' || headers.origin === new URL(own).origin) return;
  const got = headers.origin === undefined ? 'none' : JSON.stringify(headers.origin.slice(0, 200));
  throw refuse('invalid_permission', {
    say: `The header Origin must be ${new URL(own).origin}, the address of this service; got ${got}.`,
  });
}
