import { listSimulatorDomains } from '../../platform/config/index.ts';
import type { World } from '../../platform/world/index.ts';
import { takesMailHere } from '../domains/index.ts';
import type { DeliverOptions } from './create-deliver.ts';
import type { Deliver, Family } from './delivery-job.ts';
import { createRelayChoice } from './configured-relays.ts';
import { createIpv6Readiness } from './ipv6-readiness.ts';

/** How mail is delivered, as the configuration says. */
export function deliverOptionsOf(
  world: World,
  { trustedCa, capture }: { trustedCa: readonly string[] | undefined; capture: Deliver | undefined },
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
    ownHostNames: [instance.host],
    ownExchangers: [domains.return_path_mx, domains.receiving_mx].map((name) => name.replace('{host}', instance.host)),
    takesMailFor: (domain) => takesMailFor(world, domain),
    simulatorDomains: listSimulatorDomains(config),
    ...(capture ? { capture } : {}),
    relayFor: createRelayChoice(config, world.dataDir),
    regionOf(name) {
      const region = regions[name];
      if (!region) return {};
      const [host = '', port = ''] = splitHostPort(region.smarthost);
      return {
        prefers: () => preferredFamily(region, isIpv6Ready),
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
      connectionsPerDestinationMax: delivery.max_connections_per_destination,
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
    world.log.error({ err: error, domain }, 'whether a domain is received here could not be read');
    throw error;
  }
}

function splitHostPort(text: string): string[] {
  const at = text.lastIndexOf(':');
  return at < 0 ? [] : [text.slice(0, at).replace(/^\[|\]$/g, ''), text.slice(at + 1)];
}
