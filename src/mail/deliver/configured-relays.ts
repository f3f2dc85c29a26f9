import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Config, RelaySettings } from '../../platform/config/index.ts';
import type { RelayedBy } from './create-deliver.ts';
import type { Login } from './delivery-job.ts';
import { RelayFault, type Relay, type RelayChoice } from './relay.ts';

export type RelayConfig = Pick<Config, 'delivery' | 'regions' | 'relays'>;

/** Describes a relay as the settings have it. Its files are read when a connection is opened. */
export function readRelay(name: string, settings: RelaySettings, dataDir: string): Relay {
  const { ca_file: caFile, helo_name: heloName, messages_per_minute: messagesPerMinute } = settings;
  const asksForLogin = settings.user !== '' && settings.authentication !== 'none';
  return {
    name,
    host: settings.host,
    port: settings.port,
    tls: settings.tls,
    connectionsMax: settings.max_connections,
    messagesPerConnectionMax: settings.max_messages_per_connection,
    ...(messagesPerMinute === null ? {} : { messagesPerMinute }),
    ...(heloName === '' ? {} : { heloName }),
    ...(caFile === '' ? {} : { readCa: () => readAuthority(name, caFile, dataDir) }),
    ...(asksForLogin ? { readLogin: () => readLogin(name, settings, dataDir) } : {}),
  };
}

/** Whether a relay takes the mail of certain sending domains, so that the way of mail depends on who sends it. */
export const hasDomainRelays = ({ relays }: Pick<Config, 'relays'>): boolean =>
  Object.values(relays).some(({ domains }) => domains.length > 0);

/**
 * Chooses relays by the settings: that of the sending domain comes first, then that of the region, then its smarthost, then
 * that of the installation.
 */
export function createRelayChoice(
  { delivery, regions, relays }: RelayConfig,
  dataDir: string,
): (job: RelayedBy) => RelayChoice {
  const known = new Map(Object.entries(relays).map(([name, settings]) => [name, readRelay(name, settings, dataDir)]));
  const byDomain = new Map(
    Object.entries(relays).flatMap(([name, { domains }]) =>
      domains.map((domain) => [domain.toLowerCase(), known.get(name)] as const),
    ),
  );
  const fallback = known.get(delivery.fallback_relay);
  return ({ region: name, senderDomain }) => {
    const ofDomain = senderDomain === undefined ? undefined : byDomain.get(senderDomain.toLowerCase());
    if (ofDomain) return { relay: ofDomain };
    const region = regions[name];
    if (region?.relay === 'direct') return { fallback };
    if (region?.relay) return { relay: known.get(region.relay) };
    if (region?.smarthost) return {};
    return { relay: known.get(delivery.relay), fallback };
  };
}

function readLogin(name: string, settings: RelaySettings, dataDir: string): Login {
  const { authentication, user, password, password_file: passwordFile, token_file: tokenFile } = settings;
  if (tokenFile !== '') {
    const secret = readSecret(name, 'token_file', tokenFile, dataDir);
    return { mechanism: 'xoauth2', user, secret };
  }
  const secret = password === '' ? readSecret(name, 'password_file', passwordFile, dataDir) : password;
  return { mechanism: authentication === 'none' ? 'auto' : authentication, user, secret };
}

/** Reads the first line of a file. */
function readSecret(name: string, field: string, file: string, dataDir: string): string {
  const [line = ''] = readText(name, field, file, dataDir).split(/\r?\n/, 1);
  const secret = field === 'token_file' ? line.trim() : line;
  if (secret === '')
    throw new RelayFault(`The ${field} of the relay ${name} is empty; write the secret on its first line`);
  return secret;
}

function readAuthority(name: string, file: string, dataDir: string): string {
  const text = readText(name, 'ca_file', file, dataDir);
  try {
    void new X509Certificate(text);
  } catch {
    throw new RelayFault(`The ca_file of the relay ${name} has no certificate in PEM`);
  }
  return text;
}

function readText(name: string, field: string, file: string, dataDir: string): string {
  try {
    return readFileSync(path.resolve(dataDir, file), 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new RelayFault(
      `The ${field} of the relay ${name} cannot be read (${code}); the account of the service has to be able to`,
    );
  }
}
