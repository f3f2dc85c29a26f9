import type { Config, DnsProviderSettings } from '../../../platform/config/index.ts';
import { isWithin } from '../../../protocol/dns/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { createProvider, createProviderOfToken } from './create-provider.ts';
import { ProviderFault, type DnsProvider } from './provider.ts';

export interface Wish {
  provider?: string | undefined;
  apiToken?: string | undefined;
}

/** With which the domain was published before. */
export interface Chosen {
  provider: DnsProvider;
  /** Whether it can be used again without the caller. */
  isOperators: boolean;
}

/** The provider that a caller named, brought along or used before, or the only one there is. */
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

/** The operator's, for work that no caller asked for; no slug stands for the operator. */
export function providerFor(world: World, slug: string | undefined, name: string): DnsProvider {
  const settings = settingsOf(world.config, name);
  if (!settings || (slug !== undefined && !mayUse(settings, slug))) {
    throw notUsable(name, slug === undefined ? [] : usableBy(world.config, slug));
  }
  return createProvider(world, name, settings);
}

function ofToken(world: World, slug: string, name: string, apiToken: string): Chosen {
  const settings = settingsOf(world.config, name);
  if (settings?.kind !== 'cloudflare' || (name !== 'cloudflare' && !mayUse(settings, slug))) {
    const say = `api_token is for Cloudflare's API; provider must be "cloudflare" or absent beside it.`;
    throw new ProviderFault('refused', say, { nothingChanged: true });
  }
  return { provider: createProviderOfToken(world, name, settings, apiToken), isOperators: false };
}

const mayUse = ({ teams }: DnsProviderSettings, slug: string): boolean => teams.includes('*') || teams.includes(slug);

/** Whether a team can hear of a provider: Cloudflare is there for everybody who brings a token. */
export const mayKnow = (world: World, { slug }: { slug: string }, name: string): boolean =>
  name === 'cloudflare' || usableBy(world.config, slug).includes(name);

const usableBy = (config: Config, slug: string): string[] =>
  Object.entries(config.dns_providers)
    .filter(([, settings]) => mayUse(settings, slug))
    .map(([name]) => name);

/** A provider may be called `constructor`, and `constructor` need not be a provider. */
const settingsOf = (config: Config, name: string): DnsProviderSettings | undefined =>
  Object.hasOwn(config.dns_providers, name) ? config.dns_providers[name] : undefined;

function onlyOneFor(config: Config, usable: readonly string[], domain: string): string {
  const holds = (name: string): boolean =>
    settingsOf(config, name)?.zones.some((zone) => isWithin(domain, zone)) ?? false;
  const [first, ...others] = usable.filter(holds);
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const say = `The DNS providers ${[first, ...others.slice(0, -1)].join(', ')} and ${others.at(-1)} hold the zone of ${domain}; name one of them as provider.`;
    throw new ProviderFault('refused', say, { nothingChanged: true });
  }
  if (usable.length === 0) throw notUsable(undefined, usable);
  const held = usable.map((name) => `${name} (${(settingsOf(config, name)?.zones ?? []).slice(0, 10).join(', ')})`);
  const say = `No DNS provider of your team has a zone for ${domain}; there are ${held.join(', ')}.`;
  throw new ProviderFault('refused', say, { nothingChanged: true });
}

/** One that is somebody else's and one that does not exist look the same. */
function notUsable(name: string | undefined, usable: readonly string[]): ProviderFault {
  const what = name === undefined ? 'There is no DNS provider' : `There is no DNS provider ${JSON.stringify(name)}`;
  const say =
    usable.length === 0
      ? `${what} that your team may use: the operator of this installation names the teams of each. A Cloudflare API token of your own is another way: api_token.`
      : `${what} that your team may use; there ${usable.length === 1 ? 'is' : 'are'} ${usable.join(', ')}.`;
  return new ProviderFault('refused', say, { nothingChanged: true });
}
