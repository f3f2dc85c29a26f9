import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { createRangeCheck, plainAddress } from '../../platform/network/index.ts';

/** The client's address behind the trusted proxies: the rule by which fastify finds the address of an API call. */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = createRangeCheck(trustedProxies);
  return (request) => {
    let address = plainAddress(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return address;
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let hop = hops.pop(); hop !== undefined && isTrusted(address); hop = hops.pop()) {
      const next = plainAddress(hop.trim());
      // A trusted proxy writes addresses only: the rest of the header comes from an untrusted client.
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

/** The requested host: as a trusted proxy forwards it, otherwise as the request names it. */
export function createRequestedHost(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = createRangeCheck(trustedProxies);
  return ({ headers, socket }) => {
    const { host = '' } = headers;
    const forwarded = trustedProxies.length === 0 ? undefined : headers['x-forwarded-host'];
    if (forwarded === undefined || !isTrusted(plainAddress(socket.remoteAddress ?? ''))) return host;
    return String(forwarded).split(',').pop()?.trim() || host;
  };
}
