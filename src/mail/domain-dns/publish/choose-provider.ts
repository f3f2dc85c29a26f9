import { tsigSecretIn, type Config, type DnsProviderSettings } from '../../../platform/config/index.ts';
import { isWithin } from '../../../protocol/dns/index.ts';
import type { World } from '../../../platform/world.ts';
import { ProviderFault, type DnsProvider } from './provider.ts';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { createCloudflare } from './cloudflare.ts';
import { createRfc2136, type DnsServer } from './rfc2136.ts';

const DEADLINE_MS = 60_000;

/** Creates a provider as its operator configured it, for one use, because secrets in files are read anew each time. */
function createProvider(world: World, name: string, settings: DnsProviderSettings): DnsProvider {
  if (settings.kind === 'cloudflare') {
    const token = (): string => readSecret(world, name, settings.token, settings.token_file);
    return cloudflareWith(world, name, settings, { token, zones: settings.zones });
  }
  const { timeout_ms: timeoutMs, tries } = world.config.dns;
  return createRfc2136({
    name,
    zones: settings.zones,
    // Read once for all requests of one use, so that an unusable file is reported once.
    key: once(() => ({
      name: settings.key_name,
      algorithm: settings.key_algorithm,
      secret: Buffer.from(readTsigSecret(world, name, settings), 'base64'),
    })),
    server: () => resolveServer(world, name, settings),
    timeoutMs,
    tries,
    // The server checks a signature by its own clock, with which ours has to agree, even if the rest of the process
    // uses a simulated one.
    clock: systemClock,
    log: world.log,
    randomId: () => Math.floor(world.random() * 65_536),
  });
}

/**
 * Creates a provider with the caller's token, which decides the zones it reaches; the operator configures the address.
 */
const createProviderOfToken = (
  world: World,
  name: string,
  settings: DnsProviderSettings,
  apiToken: string,
): DnsProvider => cloudflareWith(world, name, settings, { token: () => apiToken, zones: undefined });

function cloudflareWith(
  world: World,
  name: string,
  settings: DnsProviderSettings,
  access: { token: () => string; zones: readonly string[] | undefined },
): DnsProvider {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return createCloudflare({ name, apiUrl: settings.api_url, call: world.callApi, signal, ...access });
}

async function resolveServer(
  world: World,
  provider: string,
  { server, port }: DnsProviderSettings,
): Promise<DnsServer> {
  if (isIP(server) !== 0) return { address: server, port };
  const answer = await world.resolver.addresses(server);
  const address = answer.kind === 'found' ? (answer.records.v4[0] ?? answer.records.v6[0]) : undefined;
  if (address !== undefined) return { address, port };
  const say = `The server ${server} of the DNS provider ${provider} has no address.`;
  throw new ProviderFault('unavailable', say, { nothingChanged: true, because: answer });
}

function readTsigSecret(world: World, provider: string, settings: DnsProviderSettings): string {
  const file = settings.key_secret_file;
  const secret = tsigSecretIn(readSecret(world, provider, settings.key_secret, file));
  if (secret !== undefined) return secret;
  world.log.error({ provider, file }, 'the key file of a dns provider contains no secret');
  const say = `The key_secret_file of the DNS provider ${provider} contains neither a base64 secret of 16 to 128 bytes nor one key as tsig-keygen prints it; ask the operator to correct it.`;
  throw new ProviderFault('refused', say, { nothingChanged: true });
}

function readSecret(world: World, provider: string, secret: string, file: string): string {
  if (secret !== '') return secret;
  try {
    return readFileSync(path.resolve(world.dataDir, file), 'utf8').trim();
  } catch (error) {
    world.log.error({ err: error, provider, file }, 'the secret of a dns provider cannot be read');
    const say = `The secret of the DNS provider ${provider} cannot be read; ask the operator to correct it.`;
    throw new ProviderFault('refused', say, { nothingChanged: true, because: error });
  }
}

/** Memoizes the first result of `make`, or the error that it threw. */
function once<T>(make: () => T): () => T {
  let first: { made: T } | { error: unknown } | undefined;
  return () => {
    try {
      first ??= { made: make() };
    } catch (error) {
      first = { error };
    }
    if ('error' in first) throw first.error;
    return first.made;
  };
}

interface Wish {
  provider?: string | undefined;
  apiToken?: string | undefined;
}

/** The provider chosen for a domain. */
interface Chosen {
  provider: DnsProvider;
  /** True if it can be used again without the caller. */
  isOperators: boolean;
}

/** Returns the provider that a caller named, brought a token for or used before, or the only one there is. */
export function chooseProvider(
  world: World,
  team: { slug: string },
  domain: string,
  wish: Wish,
  before: string | undefined,
): Chosen {
  const { config } = world;
  if (wish.apiToken !== undefined) return ofToken(world, team.slug, wish.provider ?? 'cloudflare', wish.apiToken);
  const usable = usableBy(config, team.slug);
  const name = wish.provider ?? before ?? onlyOneFor(config, usable, domain);
  const settings = usable.includes(name) ? config.dns_providers[name] : undefined;
  if (!settings) throw notUsable(name, usable);
  return { provider: createProvider(world, name, settings), isOperators: true };
}

/** Returns a provider of the operator for work that no caller requested; an undefined slug stands for the operator. */
export function providerFor(world: World, slug: string | undefined, name: string): DnsProvider {
  const settings = findSettings(world.config, name);
  if (!settings || (slug !== undefined && !mayUse(settings, slug))) {
    throw notUsable(name, slug === undefined ? [] : usableBy(world.config, slug));
  }
  return createProvider(world, name, settings);
}

function ofToken(world: World, slug: string, name: string, apiToken: string): Chosen {
  const settings = findSettings(world.config, name);
  if (settings?.kind !== 'cloudflare' || (name !== 'cloudflare' && !mayUse(settings, slug))) {
    const say = `api_token is for the API of Cloudflare; set provider to "cloudflare", or omit it.`;
    throw new ProviderFault('refused', say, { nothingChanged: true });
  }
  return { provider: createProviderOfToken(world, name, settings, apiToken), isOperators: false };
}

const mayUse = ({ teams }: DnsProviderSettings, slug: string): boolean => teams.includes('*') || teams.includes(slug);

/** Reports whether a team may learn that a provider exists. Anybody can use Cloudflare with a token of their own. */
export const mayKnow = (world: World, { slug }: { slug: string }, name: string): boolean =>
  name === 'cloudflare' || usableBy(world.config, slug).includes(name);

const usableBy = (config: Config, slug: string): string[] =>
  Object.entries(config.dns_providers)
    .filter(([, settings]) => mayUse(settings, slug))
    .map(([name]) => name);

/** Looks a provider up. One may be called `constructor`, and `constructor` need not be a provider. */
const findSettings = (config: Config, name: string): DnsProviderSettings | undefined =>
  Object.hasOwn(config.dns_providers, name) ? config.dns_providers[name] : undefined;

function onlyOneFor(config: Config, usable: readonly string[], domain: string): string {
  const holds = (name: string): boolean =>
    findSettings(config, name)?.zones.some((zone) => isWithin(domain, zone)) ?? false;
  const [first, ...others] = usable.filter(holds);
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const say = `The DNS providers ${[first, ...others.slice(0, -1)].join(', ')} and ${others.at(-1)} have the zone of ${domain}; set provider to one of them.`;
    throw new ProviderFault('refused', say, { nothingChanged: true });
  }
  if (usable.length === 0) throw notUsable(undefined, usable);
  const held = usable.map((name) => `${name} (${(findSettings(config, name)?.zones ?? []).slice(0, 10).join(', ')})`);
  const say = `No DNS provider of your team has a zone for ${domain}; the providers are ${held.join(', ')}.`;
  throw new ProviderFault('refused', say, { nothingChanged: true });
}

/** Formats the fault. A provider of another team and one that does not exist look the same. */
function notUsable(name: string | undefined, usable: readonly string[]): ProviderFault {
  const what = name === undefined ? 'There is no DNS provider' : `There is no DNS provider ${JSON.stringify(name)}`;
  const say =
    usable.length === 0
      ? `${what} that your team may use; the operator of this installation decides which teams may use each. You can also send your own Cloudflare API token as api_token.`
      : `${what} that your team may use; your team may use ${usable.join(', ')}.`;
  return new ProviderFault('refused', say, { nothingChanged: true });
}
