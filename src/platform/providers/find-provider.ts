import { normalizeHost, shippedProviders, type Config } from '../config/index.ts';

interface Members {
  provider: string;
  /** Suffixes with a leading dot, or names of hosts. */
  mx: readonly string[];
  domains: ReadonlySet<string>;
}

/** Returns a function that finds the name of the provider that a domain with these mail servers belongs to. */
export function createProviderIndex(
  providers: Config['providers'],
): (domain: string, mxHosts: readonly string[]) => string | undefined {
  const shipped = shippedProviders().members;
  const ofSettings: Members[] = [];
  const ofProgram: Members[] = [];
  for (const [provider, { mx, domains }] of Object.entries(providers)) {
    const known = shipped.get(provider);
    const isShipped = known !== undefined && isSame(known.mx, mx) && isSame(known.domains, domains);
    (isShipped ? ofProgram : ofSettings).push({ provider, mx, domains: new Set(domains) });
  }
  return (domain, mxHosts) => {
    const name = normalizeHost(domain);
    const hosts = mxHosts.map(normalizeHost);
    // Whatever the operator wrote comes first, so that no shipped entry makes a setting useless.
    return findMember(ofSettings, name, hosts) ?? findMember(ofProgram, name, hosts);
  };
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((value) => other.includes(value));

function findMember(groups: readonly Members[], domain: string, hosts: readonly string[]): string | undefined {
  const named = groups.find(({ domains }) => domains.has(domain));
  if (named !== undefined || hosts.length === 0) return named?.provider;
  let best: { provider: string; length: number } | undefined;
  for (const { provider, mx } of groups) {
    const length = Math.min(...hosts.map((host) => measureMatch(mx, host)));
    if (length > (best?.length ?? 0)) best = { provider, length };
  }
  return best?.provider;
}

/** Returns the length of the longest pattern that matches a host, and 0 if none does. A whole name beats a suffix. */
const measureMatch = (mx: readonly string[], host: string): number =>
  Math.max(
    0,
    ...mx.map((pattern) => {
      if (pattern === host) return pattern.length + 1;
      return pattern.startsWith('.') && `.${host}`.endsWith(pattern) ? pattern.length : 0;
    }),
  );
