import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Browser } from '../../tenancy/access/index.ts';

/** The cookies of an answer. No script reads them, and no page of another site sends them with more than a link. */
export function browserOf({ config }: World, request: FastifyRequest, reply: FastifyReply): Browser {
  const attributes = `; Path=/; HttpOnly; SameSite=Lax${config.sessions.secure_cookie ? '; Secure' : ''}`;
  const set = (name: string, value: string, seconds: number): void =>
    void reply.header('set-cookie', `${name}=${value}; Max-Age=${seconds}${attributes}`);
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    cookie: (name) => cookieOf(request.headers.cookie, name),
    keep: set,
    forget: (name) => set(name, '', 0),
  };
}

/** A cookie that is there twice counts as none: a host beside ours may have set one of them. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const [pair, ...more] = header?.split(';').filter((one) => one.trimStart().startsWith(`${name}=`)) ?? [];
  return more.length > 0 ? undefined : pair?.slice(pair.indexOf('=') + 1).trim();
}

/** Browsers send cookies along from the pages of others, and say there whose page it is. Links are no change and need no check. */
export function mustBeSameOrigin({ method, headers }: FastifyRequest, own: string): void {
  if (method === 'GET' || method === 'HEAD' || headers.origin === new URL(own).origin) return;
  const got = headers.origin === undefined ? 'none' : JSON.stringify(headers.origin.slice(0, 200));
  throw refuse('invalid_permission', {
    say: `The header Origin must be ${new URL(own).origin}, the address of this service; got ${got}.`,
  });
}
