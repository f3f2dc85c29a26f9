import { isRegionCoveredByPools } from '../../../mail/egress/index.ts';
import { usedSources } from '../../../platform/config/index.ts';
import { createAddressGuard } from '../../../platform/network/index.ts';
import type { Inspection } from '../../../platform/resolver/index.ts';
import type { ServerTls } from '../../../platform/server-tls.ts';
import type { World } from '../../../platform/world.ts';
import type { CheckName, CheckResult, Unknown } from '../findings/examinations.ts';
import type { Finding } from '../../../platform/finding.ts';

/** Facts that a process knows about itself. */
export interface Self {
  /** Name of the machine. */
  machine: string;
  /** Id of the server process; undefined if none runs. */
  pid: number | undefined;
  /** Certificate that the ports present; undefined if no server with TLS runs. */
  tls(): Pick<ServerTls, 'current' | 'readStatus'> | undefined;
  /** Whether a port of the process receives mail from other servers. */
  isReceiving: boolean;
}

/** Addresses from which our mail appears to come, as far as this machine can know. */
export interface OwnAddresses {
  addresses: readonly string[];
  /** Reason that there may be more addresses, or that none is known. */
  unknown: string | undefined;
}

/** Input of a check. Every request that it makes ends with the signal. */
export interface Examination {
  world: World;
  self: Self;
  signal: AbortSignal;
  /** Asks the configured resolver anew. */
  ask: Inspection['resolve'];
  own: OwnAddresses;
  /** Reports whether the resolver finds names that exist; only then is its "no such name" believed. */
  isResolverSane: () => Promise<boolean>;
}

/** Holds the inputs for examining how mail leaves this machine. */
export interface OutsideCheck extends Pick<Examination, 'ask' | 'signal'> {
  world: Pick<World, 'config'>;
}

export type Check = (examination: Examination) => Promise<Omit<CheckResult, 'name'>>;
export type { CheckName, CheckResult };

/** Results of a check, collected step by step. */
export interface Seen {
  says: string[];
  findings: Finding[];
  unknown: Unknown[];
  examined?: string[];
}

export const nothingSeen = (): Seen => ({ says: [], findings: [], unknown: [] });

export const skipped = (why: string): Omit<CheckResult, 'name'> => ({ ...nothingSeen(), says: [why], isSkipped: true });

export const isIPv6 = (address: string): boolean => address.includes(':');

/** Returns a function that reports whether an address is public, or one that the settings allow for mail. */
export const isReachable = ({ world: { config } }: Pick<OutsideCheck, 'world'>): ((address: string) => boolean) =>
  createAddressGuard([...config.network.mail_allow_private]);

/** A region or a source whose mail goes directly to the recipients' servers. */
export interface DirectSender {
  /** The source; undefined for a region. */
  source: string | undefined;
  heloName: string;
  /** The addresses that the settings name. */
  v4: string;
  v6: string;
  /** The system chooses the addresses that a region leaves out; a source sends from those that it names only. */
  isChosenBySystem: boolean;
  /** Its addresses are those of another machine. */
  isProxied: boolean;
}

/**
 * Returns what sends mail directly to the recipients' servers: the sources of pools, and the regions whose mail does not all
 * leave by pools. Single sending domains may have a relay nevertheless.
 */
export function listDirectSenders({ config }: Pick<World, 'config'>): DirectSender[] {
  const { delivery, instance, regions, sources } = config;
  const ofRegions = Object.entries(regions)
    .filter(
      ([name, { relay, smarthost }]) =>
        (relay === 'direct' || (relay === '' && smarthost === '' && delivery.relay === '')) &&
        !isRegionCoveredByPools(config, name),
    )
    .map(([, { helo_name: helo, source_v4: v4, source_v6: v6 }]) => ({
      source: undefined,
      heloName: helo || instance.host,
      v4,
      v6,
      isChosenBySystem: true,
      isProxied: false,
    }));
  const ofSources = [...usedSources(config)].flatMap((name) => {
    const settings = sources[name];
    if (settings === undefined || settings.relay !== '') return [];
    return {
      source: name,
      heloName: settings.helo_name || instance.host,
      v4: settings.source_v4,
      v6: settings.source_v6,
      isChosenBySystem: false,
      isProxied: settings.socks5 !== '',
    };
  });
  return [...ofRegions, ...ofSources];
}

/** Returns the reason that checks of sending are skipped; undefined if they run. */
export function findNoSendingReason(world: Pick<World, 'config'>): string | undefined {
  if (world.config.delivery.capture) return 'No mail leaves this machine (delivery.capture)';
  return listDirectSenders(world).length === 0 ? 'All mail is sent through relays' : undefined;
}

/** Joins names into a phrase, naming only the first few. */
export const listed = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 4).join(', ')} and ${names.length - 4} more`;
