import { listSimulatorDomains, type Config, type RelaySettings } from '../../platform/config/index.ts';
import type { World } from '../../platform/world.ts';
import type { OwnHosts } from '../../tenancy/instance/index.ts';
import { takesMailHere } from '../domains/index.ts';
import { createSourceChoice, type DeliverOptions, type Egress, type RelayedBy } from './create-deliver.ts';
import type { Deliver, Family, Login } from './delivery-job.ts';
import { createIpv6Readiness } from './address-family.ts';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RelayFault, type Relay, type RelayChoice } from './relay.ts';

/** Returns how mail is delivered according to the configuration. */
export function buildDeliverOptions(
  world: World,
  {
    trustedCa,
    capture,
    hosts,
  }: { trustedCa: readonly string[] | undefined; capture: Deliver | undefined; hosts: OwnHosts },
): DeliverOptions {
  const { config, resolver, log, ownConnections } = world;
  const { delivery, domains, instance, network, regions } = config;
  const replyMs = delivery.reply_timeout_seconds * 1000;
  const isIpv6Ready = createIpv6Readiness(world);
  return {
    heloName: instance.host,
    resolver,
    ownConnections,
    smtpPort: delivery.smtp_port,
    allowPrivate: [...network.mail_allow_private],
    ownHostNames: [...hosts.all],
    ownExchangers: [domains.return_path_mx, domains.receiving_mx].flatMap((name) =>
      hosts.all.map((host) => name.replace('{host}', host)),
    ),
    takesMailFor: (domain) => takesMailFor(world, domain),
    simulatorDomains: listSimulatorDomains(config),
    ...(capture ? { capture } : {}),
    relayFor: createRelayChoice(config, world.dataDir),
    findRegion: (name) => {
      const region = regions[name];
      return region ? { prefers: () => preferredFamily(region, isIpv6Ready), ...readEgress(region) } : {};
    },
    timeouts: {
      connectMs: delivery.connect_timeout_seconds * 1000,
      greetingMs: replyMs,
      ehloMs: replyMs,
      loginMs: replyMs,
      mailMs: replyMs,
      rcptMs: replyMs,
      envelopeMs: delivery.envelope_timeout_seconds * 1000,
      contentMs: delivery.content_timeout_seconds * 1000,
      contentBytesPerSecond: delivery.content_bytes_per_second,
      dataDoneMs: delivery.data_timeout_seconds * 1000,
    },
    limits: {
      connectionsPerSiteMax: delivery.max_connections_per_destination,
      connectionsPerAddressMax: delivery.max_connections_per_address,
      connectionsTotalMax: delivery.max_connections,
      messagesPerConnectionMax: delivery.max_messages_per_connection,
      idleMs: delivery.idle_seconds * 1000,
      openMs: delivery.open_timeout_seconds * 1000,
    },
    tls: { verifyEnforced: delivery.verify_enforced_tls, ...(trustedCa ? { ca: trustedCa.join('\n') } : {}) },
    now: () => world.clock.steady(),
    random: world.random,
    onTrouble: ({ job, mx, transcript }) => log.debug({ emailId: job.emailId, mx, transcript }, 'smtp session'),
  };
}

/** Returns the names, addresses and smarthost of a region, as far as it has them. */
function readEgress(region: Config['regions'][string]): Egress {
  const [host = '', port = ''] = splitHostPort(region.smarthost);
  return {
    ...(region.helo_name === '' ? {} : { heloName: region.helo_name }),
    ...(region.source_v4 + region.source_v6 === ''
      ? {}
      : {
          sourceAddress: {
            ...(region.source_v4 === '' ? {} : { v4: region.source_v4 }),
            ...(region.source_v6 === '' ? {} : { v6: region.source_v6 }),
          },
        }),
    ...(host === '' ? {} : { smarthost: { host, port: Number(port) } }),
  };
}

/** Returns a function that tells where mail leaves from, according to the configuration. */
export function chooseSource({ config, dataDir }: Pick<World, 'config' | 'dataDir'>) {
  const { instance, regions } = config;
  return createSourceChoice({
    heloName: instance.host,
    relayFor: createRelayChoice(config, dataDir),
    findRegion(name) {
      const region = regions[name];
      return region ? readEgress(region) : {};
    },
  });
}

function preferredFamily(
  { address_family: setting, source_v6: sourceV6 }: World['config']['regions'][string],
  isIpv6Ready: (sourceV6: string) => boolean,
): Family {
  if (setting === 'ipv4') return 'v4';
  if (setting === 'ipv6') return 'v6';
  return isIpv6Ready(sourceV6) ? 'v6' : 'v4';
}

async function takesMailFor(world: World, domain: string): Promise<boolean> {
  try {
    return await takesMailHere(world, domain);
  } catch (error) {
    world.log.error({ err: error, domain }, 'could not read whether this server receives mail for a domain');
    throw error;
  }
}

function splitHostPort(text: string): string[] {
  const at = text.lastIndexOf(':');
  return at < 0 ? [] : [text.slice(0, at).replace(/^\[|\]$/g, ''), text.slice(at + 1)];
}

type RelayConfig = Pick<Config, 'delivery' | 'regions' | 'relays'>;

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

/** Returns whether a relay takes the mail of certain sending domains, so that routing depends on the sender. */
export const hasDomainRelays = ({ relays }: Pick<Config, 'relays'>): boolean =>
  Object.values(relays).some(({ domains }) => domains.length > 0);

/**
 * Chooses relays by the settings: the relay of the sending domain, then that of the region, then its smarthost, then
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
    throw new RelayFault(`The ca_file of the relay ${name} contains no PEM certificate`);
  }
  return text;
}

function readText(name: string, field: string, file: string, dataDir: string): string {
  try {
    return readFileSync(path.resolve(dataDir, file), 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new RelayFault(
      `The ${field} of the relay ${name} cannot be read (${code}); let the account of the service read it`,
    );
  }
}
