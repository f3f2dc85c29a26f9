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
}

export const nothingSeen = (): Seen => ({ says: [], findings: [], unknown: [] });

export const skipped = (why: string): Omit<CheckResult, 'name'> => ({ ...nothingSeen(), says: [why], isSkipped: true });

export const isIPv6 = (address: string): boolean => address.includes(':');

/** Returns a function that reports whether an address is public, or one that the settings allow for mail. */
export const isReachable = ({ world: { config } }: Pick<OutsideCheck, 'world'>): ((address: string) => boolean) =>
  createAddressGuard([...config.network.mail_allow_private]);

/** Returns the regions whose mail goes directly to the recipients' servers, unless its sending domain has a relay. */
export const directRegions = ({ config }: Pick<World, 'config'>) =>
  Object.values(config.regions).filter(
    ({ relay, smarthost }) => relay === 'direct' || (relay === '' && smarthost === '' && config.delivery.relay === ''),
  );

/** Returns the reason that checks of sending are skipped; undefined if they run. */
export function findNoSendingReason(world: Pick<World, 'config'>): string | undefined {
  if (world.config.delivery.capture) return 'No mail leaves this machine (delivery.capture)';
  return directRegions(world).length === 0 ? 'All mail is sent through relays' : undefined;
}

/** Joins names into a phrase, naming only the first few. */
export const listed = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 4).join(', ')} and ${names.length - 4} more`;
