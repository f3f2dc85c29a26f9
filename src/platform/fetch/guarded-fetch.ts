import { isIPv6 } from 'node:net';
import { createAddressGuard, type AddressGuard } from '../network/index.ts';
import type { Resolver } from '../resolver/index.ts';
import type { FetchAnswer, FetchLimits } from './fetch-answer.ts';
import { getOnce, type Hop } from './get-once.ts';
import { readHttpsUrl } from '../../protocol/https-url/index.ts';
import type { PostPool } from './post-answer.ts';
import { createPostPools, type PoolWishes } from './post-pool.ts';
import { probeOnce, type FetchFailure } from './probe.ts';
import { sendOnce, type Send, type SendAnswer } from './send-once.ts';

export interface GuardedFetchOptions {
  resolver: Pick<Resolver, 'addresses'>;
  /** CIDR ranges that may be reached although they are private. */
  allowPrivate: readonly string[];
  userAgent: string;
  /** Certificates in PEM that are trusted instead of the system's. */
  ca?: readonly string[] | undefined;
}

export interface GuardedFetch {
  get(url: URL, limits: FetchLimits): Promise<FetchAnswer>;
  /** A request with a credential or a body, whose answer is read whatever its status; no redirect is followed. */
  send(request: Send, limits: FetchLimits): Promise<SendAnswer>;
  /** Whether a request could be made: a connection and its TLS, and nothing more. Answers what is in the way. */
  probe(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined>;
  /** Whether the host has an address that may be connected to, without connecting. Answers what is in the way. */
  checkAddress(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined>;
  /** Connections for many requests to one host, which stay open, each of them guarded; no redirect is followed. */
  pool(url: URL, wishes: PoolWishes): PostPool;
}

const REDIRECTS_MAX = 3;

export function createGuardedFetch({ resolver, allowPrivate, userAgent, ca }: GuardedFetchOptions): GuardedFetch {
  const mayReach = createAddressGuard([...allowPrivate]);

  async function follow(from: URL, limits: FetchLimits): Promise<FetchAnswer> {
    let url = from;
    for (let redirects = 0; ; redirects++) {
      const addresses = await publicAddresses(url, mayReach, resolver);
      if ('fault' in addresses) return addresses;
      const hop: Hop = { url, addresses: addresses.found, mayReach, userAgent, ca };
      const answer = await getOnce(hop, limits);
      if (answer.kind !== 'redirected') return answer;
      const max = REDIRECTS_MAX;
      if (redirects === max) return { kind: 'failed', fault: { kind: 'too_many_redirects', max } };
      const next = readHttpsUrl(URL.parse(answer.location, url.href)?.href ?? '');
      if (typeof next === 'string') return blocked(`a redirect to ${JSON.stringify(answer.location.slice(0, 200))}`);
      url = next;
    }
  }

  async function probe(url: URL, signal: AbortSignal): Promise<FetchFailure | undefined> {
    const addresses = await publicAddresses(url, mayReach, resolver);
    return 'fault' in addresses ? addresses : probeOnce({ url, addresses: addresses.found, mayReach, ca }, signal);
  }

  async function checkAddress(url: URL): Promise<FetchFailure | undefined> {
    const addresses = await publicAddresses(url, mayReach, resolver);
    return 'fault' in addresses ? addresses : undefined;
  }

  async function send(request: Send, limits: FetchLimits): Promise<SendAnswer> {
    const addresses = await publicAddresses(request.url, mayReach, resolver);
    if ('fault' in addresses) return addresses;
    return sendOnce({ addresses: addresses.found, mayReach, userAgent, ca }, request, limits);
  }

  return {
    send: (request, limits) => untilAborted(send(request, limits), limits.signal),
    get: (url, limits) => untilAborted(follow(url, limits), limits.signal),
    probe: (url, signal) => untilAborted(probe(url, signal), signal),
    checkAddress: (url, signal) => untilAborted(checkAddress(url), signal),
    pool: createPostPools({ mayReach, ca, addresses: (host) => publicAddresses(host, mayReach, resolver) }),
  };
}

/** A look-up cannot be called off, so its caller is let go instead. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | (FetchAnswer & { kind: 'failed' })> {
  return new Promise((resolve, reject) => {
    const late = (): void => resolve({ kind: 'failed', fault: { kind: 'timeout' } });
    if (signal.aborted) return late();
    signal.addEventListener('abort', late, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', late));
  });
}

const blocked = (because: string): FetchAnswer & { kind: 'failed' } => ({
  kind: 'failed',
  fault: { kind: 'blocked' },
  because,
});

/**
 * The addresses of a host that may be connected to. The URL parser has already turned every spelling of an IPv4 address,
 * decimal, octal or hexadecimal, into four decimal numbers.
 */
async function publicAddresses(
  { hostname }: Pick<URL, 'hostname'>,
  mayReach: AddressGuard,
  resolver: Pick<Resolver, 'addresses'>,
): Promise<{ found: string[] } | (FetchAnswer & { kind: 'failed' })> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const answer = await resolver.addresses(host);
  if (answer.kind === 'failed') {
    return { kind: 'failed', fault: { kind: 'unreachable' }, because: `${host} was not looked up: ${answer.reason}` };
  }
  if (answer.kind === 'none') return { ...blocked(`${host} has no address: ${answer.why}`), hasNoAddress: true };
  const all = [...answer.records.v4, ...answer.records.v6];
  const found = all.filter(mayReach);
  if (found.length === 0) return blocked(`${host} has the address ${all.join(', ')}`);
  // IPv4 first: a host without IPv6 of its own would lose time on addresses it cannot reach.
  return { found: found.sort((a, b) => Number(isIPv6(a)) - Number(isIPv6(b))) };
}
