import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { createRangeCheck, plainAddress, createAddressGuard } from '../../platform/network/index.ts';
import type { World } from '../../platform/world.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';

const HOUR_MS = 3_600_000;

export interface UnknownProxy {
  /** Examines an incoming request. */
  note(request: IncomingMessage): void;
  /**
   * Returns a finding about the address that forwarded a request within the last hour without being in
   * `http.trusted_proxies`.
   */
  findings(): Finding[];
}

/**
 * Detects a proxy that is not in `http.trusted_proxies`. All callers then have its address, so that limits by address,
 * including those for signing in, stop everybody at once. Public addresses are ignored: anybody may write the header.
 */
export function createUnknownProxy({ config, clock, log }: World): UnknownProxy {
  const isTrusted = createRangeCheck(config.http.trusted_proxies);
  const isPublic = createAddressGuard([]);
  let last: { address: string; since: number; at: number } | undefined;
  const isOfLate = (): boolean => last !== undefined && clock.now() - last.at < HOUR_MS;
  return {
    note({ headers, socket }) {
      if (headers['x-forwarded-for'] === undefined) return;
      const address = plainAddress(socket.remoteAddress ?? '');
      if (address === '' || isTrusted(address) || isPublic(address)) return;
      const isNew = !isOfLate();
      last = { address, since: isNew || !last ? clock.now() : last.since, at: clock.now() };
      if (!isNew) return;
      const named = `add it to http.trusted_proxies, or the limits by address count all its clients as one`;
      log.warn({ address }, `a proxy that is not trusted forwards requests: ${named}`);
    },
    findings() {
      if (!last || !isOfLate()) return [];
      const { address, since } = last;
      const summary = `${address} forwards requests but is not in http.trusted_proxies, so limits by address count all its clients as one.`;
      return [buildFinding('proxy_not_trusted', { summary, subjects: [address], since })];
    },
  };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Reports whether a request comes under a name of this server. In the development profile, whose API key may be well known, a
 * website could otherwise reach the API through a name of its own that leads to this machine (DNS rebinding).
 */
export function isOwnName({ config }: Pick<World, 'config'>, host: string | undefined): boolean {
  if (config.profile !== 'development' || host === undefined || mayUsePlayground({ config }, host)) return true;
  const { http, instance } = config;
  const own = [instance.host, http.public_url === '' ? '' : new URL(http.public_url).hostname];
  return own.includes(host.toLowerCase().replace(/:\d+$/, ''));
}

/**
 * Reports whether a request may see captured mail. No key is needed, so this is refused outside the development
 * profile. In the development profile the Host must be a name of this machine, unless `development.any_host` is set:
 * any website that is open in its browser may send requests under another name.
 */
export function mayUsePlayground({ config }: Pick<World, 'config'>, host: string | undefined): boolean {
  if (config.profile !== 'development') return false;
  return config.development.any_host || LOOPBACK.test(host ?? '');
}

/**
 * Returns a function that finds the client's address when trusted proxies forward the request, by the same rule as
 * fastify does for API calls.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = createRangeCheck(trustedProxies);
  return (request) => {
    let address = plainAddress(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return address;
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let hop = hops.pop(); hop !== undefined && isTrusted(address); hop = hops.pop()) {
      const next = plainAddress(hop.trim());
      // A trusted proxy writes addresses only: the other parts of the header come from an untrusted client.
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
