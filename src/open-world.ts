import './connect-features.ts';
import { closeStore, openStore, type StoreOptions } from './open-store.ts';
import { createApiCall } from './platform/api-call.ts';
import { createGuardedFetch } from './platform/fetch/index.ts';
import { createOwnConnections } from './platform/network/index.ts';
import { createInspector, createResolver } from './platform/resolver/index.ts';
import type { Net, Store, World } from './platform/world.ts';

export interface WorldOptions extends StoreOptions {
  /** Certificates in PEM that our own HTTP requests, and deliveries that verify, trust instead of the system's. */
  trustedCa?: readonly string[];
}

/** Opens everything that an operation needs, without any port. Close it with `closeWorld`. */
export const openWorld = async (options: WorldOptions): Promise<World> =>
  withNet(await openStore(options), options.trustedCa);

export async function closeWorld(world: World): Promise<void> {
  closeNet(world);
  await closeStore(world);
}

export function closeNet({ resolver, inspector }: Net): void {
  resolver.close();
  inspector.close();
}

/** Adds network access to a store, which its owner still has to close. */
export function withNet(store: Store, trustedCa?: WorldOptions['trustedCa']): World {
  const { config, clock } = store;
  const { servers, timeout_ms: timeoutMs, tries } = config.dns;
  const resolver = createResolver({ servers: [...servers], timeoutMs, tries, now: () => clock.now() });
  const http = {
    resolver,
    allowPrivate: config.network.http_allow_private,
    userAgent: `rasket (+https://${config.instance.host}/)`,
    ca: trustedCa,
  };
  return {
    ...store,
    resolver,
    inspector: createInspector({
      servers,
      authorityPort: config.dns.authority_port,
      allowPrivate: config.network.dns_allow_private,
    }),
    callApi: createApiCall(http),
    fetch: createGuardedFetch(http),
    providers: createGuardedFetch({ ...http, allowPrivate: config.sso.allow_private }),
    authority: createGuardedFetch({
      ...http,
      allowPrivate: [...config.acme.allow_private, ...listLoopbackRanges(config.acme.directory)],
    }),
    modelFetch: createGuardedFetch({
      ...http,
      allowPrivate: [...http.allowPrivate, ...listLoopbackRanges(config.ai.url)],
    }),
    collector: createGuardedFetch({
      ...http,
      allowPrivate: [...http.allowPrivate, ...listLoopbackRanges(config.traces.endpoint)],
    }),
    ownConnections: createOwnConnections(),
  };
}

/**
 * Returns the loopback ranges for a URL that names this machine literally: a name that merely resolves to it is no
 * permission of the operator.
 */
function listLoopbackRanges(url: string): string[] {
  const host = URL.parse(url)?.hostname ?? '';
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host) ? ['127.0.0.0/8', '::1/128'] : [];
}
