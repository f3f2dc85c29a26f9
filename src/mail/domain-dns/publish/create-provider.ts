import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../../platform/clock/index.ts';
import { tsigSecretIn, type DnsProviderSettings } from '../../../platform/config/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { createCloudflare } from './cloudflare.ts';
import type { DnsServer } from './dns-exchange.ts';
import { ProviderFault, type DnsProvider } from './provider.ts';
import { createRfc2136 } from './rfc2136.ts';

const DEADLINE_MS = 60_000;

/** A provider as its operator configured it; made for one use, because secrets in files are read anew each time. */
export function createProvider(world: World, name: string, settings: DnsProviderSettings): DnsProvider {
  if (settings.kind === 'cloudflare') {
    const token = (): string => secretOf(world, name, settings.token, settings.token_file);
    return cloudflareWith(world, name, settings, { token, zones: settings.zones });
  }
  const { timeout_ms: timeoutMs, tries } = world.config.dns;
  return createRfc2136({
    name,
    zones: settings.zones,
    // Read once for all the questions of one use, so that a file that is no use is told of once.
    key: once(() => ({
      name: settings.key_name,
      algorithm: settings.key_algorithm,
      secret: Buffer.from(tsigSecretOf(world, name, settings), 'base64'),
    })),
    server: () => serverOf(world, name, settings),
    timeoutMs,
    tries,
    // The server judges a signature by its own clock, which ours has to agree with whatever time the rest of us lives in.
    clock: systemClock,
    log: world.log,
    randomId: () => Math.floor(world.random() * 65_536),
  });
}

/** With the caller's token, which reaches what it reaches; the address is still the operator's. */
export const createProviderOfToken = (
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

async function serverOf(world: World, provider: string, { server, port }: DnsProviderSettings): Promise<DnsServer> {
  if (isIP(server) !== 0) return { address: server, port };
  const answer = await world.resolver.addresses(server);
  const address = answer.kind === 'found' ? (answer.records.v4[0] ?? answer.records.v6[0]) : undefined;
  if (address !== undefined) return { address, port };
  const say = `The server ${server} of the DNS provider ${provider} has no address.`;
  throw new ProviderFault('unavailable', say, { nothingChanged: true, because: answer });
}

function tsigSecretOf(world: World, provider: string, settings: DnsProviderSettings): string {
  const file = settings.key_secret_file;
  const secret = tsigSecretIn(secretOf(world, provider, settings.key_secret, file));
  if (secret !== undefined) return secret;
  world.log.error({ provider, file }, 'the key file of a dns provider holds no secret');
  const say = `The key_secret_file of the DNS provider ${provider} holds neither a base64 secret of 16 to 128 bytes alone nor one key as tsig-keygen prints it; its operator has to look into it.`;
  throw new ProviderFault('refused', say, { nothingChanged: true });
}

function secretOf(world: World, provider: string, secret: string, file: string): string {
  if (secret !== '') return secret;
  try {
    return readFileSync(path.resolve(world.dataDir, file), 'utf8').trim();
  } catch (error) {
    world.log.error({ err: error, provider, file }, 'the secret of a dns provider cannot be read');
    const say = `The secret of the DNS provider ${provider} cannot be read; its operator has to look into it.`;
    throw new ProviderFault('refused', say, { nothingChanged: true, because: error });
  }
}

/** What it made or threw the first time. */
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
