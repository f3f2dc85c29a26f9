import type { FastifyRequest } from 'fastify';
import { refuse } from '../../../platform/refusal/index.ts';

/** No name server can make these lead elsewhere. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses requests by a name that is not ours, which a page of others may have pointed at this machine (DNS rebinding), and
 * requests from pages of others. Programs send no Origin.
 */
export function mustBeForUs({ host, headers: { origin } }: FastifyRequest, own: string): void {
  const { hostname, origin: ownOrigin } = new URL(own);
  const asked = hostnameOf(host);
  if (asked === undefined || (asked !== hostname && !LOOPBACK.has(asked))) {
    throw refuse('invalid_permission', {
      say: `The header Host must be ${hostname}, the public address of this service (http.public_url); got ${JSON.stringify(host.slice(0, 200))}.`,
    });
  }
  if (origin === undefined || origin === ownOrigin) return;
  throw refuse('invalid_permission', {
    say: `The header Origin must be absent or ${ownOrigin}, the address of this service; got ${JSON.stringify(origin.slice(0, 200))}.`,
  });
}

/** Without its port, which a proxy may change. */
function hostnameOf(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;
}
