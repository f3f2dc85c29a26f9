import { createAddressGuard } from '../../../platform/network/index.ts';
import type { Inspection } from '../../../platform/resolver/index.ts';
import type { ServerTls } from '../../../platform/server-tls.ts';
import type { World } from '../../../platform/world.ts';
import type { CheckName, CheckResult, Unknown } from '../findings/examinations.ts';
import type { Finding } from '../../../platform/finding.ts';

/** What a process knows of itself. */
export interface Self {
  /** The name of the machine. */
  machine: string;
  /** The process that serves; undefined where none runs. */
  pid: number | undefined;
  /** What its ports show; undefined where none speaks TLS. */
  tls(): Pick<ServerTls, 'current' | 'standing'> | undefined;
}

/** The addresses that the world sees our mail come from, as far as can be known from here. */
export interface OwnAddresses {
  addresses: readonly string[];
  /** Why there may be more, or none is known. */
  unknown: string | undefined;
}

/** What a check is handed. Whatever it asks ends with the signal. */
export interface Examination {
  world: World;
  self: Self;
  signal: AbortSignal;
  /** Asks the resolver of the settings anew. */
  ask: Inspection['resolve'];
  own: OwnAddresses;
  /** Whether the resolver finds names that exist: "there is none" is believed of such a one alone. */
  isResolverSane: () => Promise<boolean>;
}

/** Holds the inputs for examining how mail leaves this machine. */
export interface OutsideLook extends Pick<Examination, 'ask' | 'signal'> {
  world: Pick<World, 'config'>;
}

export type Check = (examination: Examination) => Promise<Omit<CheckResult, 'name'>>;
export type { CheckName, CheckResult };

/** What a check has seen, put together piece by piece. */
export interface Seen {
  says: string[];
  findings: Finding[];
  unknown: Unknown[];
}

export const nothingSeen = (): Seen => ({ says: [], findings: [], unknown: [] });

export const skipped = (why: string): Omit<CheckResult, 'name'> => ({ ...nothingSeen(), says: [why], isSkipped: true });

export const isIPv6 = (address: string): boolean => address.includes(':');

/** Whether an address is one that the world knows, or that the settings let mail go to. */
export const isReachable = ({ world: { config } }: Pick<OutsideLook, 'world'>): ((address: string) => boolean) =>
  createAddressGuard([...config.network.mail_allow_private]);

/** Regions whose mail goes straight to the recipients' servers, unless its sending domain has a relay. */
export const directRegions = ({ config }: Pick<World, 'config'>) =>
  Object.values(config.regions).filter(
    ({ relay, smarthost }) => relay === 'direct' || (relay === '' && smarthost === '' && config.delivery.relay === ''),
  );

/** Why nothing that concerns sending is looked at; undefined where it is. */
export function whyNotSending(world: Pick<World, 'config'>): string | undefined {
  if (world.config.delivery.capture) return 'No mail leaves this machine (delivery.capture)';
  return directRegions(world).length === 0 ? 'All mail leaves by a relay' : undefined;
}

/** A sentence of names, the first few. */
export const listed = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 4).join(', ')} and ${names.length - 4} more`;
