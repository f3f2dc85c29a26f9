import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import os from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../src/platform/config/index.ts';
import { reverseName } from '../../src/protocol/dnsbl.ts';

/** A value that this machine or DNS knows, with its origin. */
export interface Found<T> {
  value: T;
  /** Ends a sentence: "the host name of this machine". */
  from: string;
}

export interface OwnAddress {
  address: string;
  device: string;
  isPublic: boolean;
}

/** Returns the addresses at which others could reach this machine, without link-local and loopback ones. */
export function ownAddresses(): OwnAddress[] {
  return Object.entries(os.networkInterfaces()).flatMap(([device, addresses = []]) =>
    addresses
      .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address))
      .map(({ address }) => ({ address, device, isPublic: isPublicAddress(address) })),
  );
}

const isPublicAddress = (address: string): boolean => ipaddr.process(address).range() === 'unicast';

export interface LookUps {
  lookUpAddresses(name: string): Promise<string[] | 'none' | 'unknown'>;
  /** Returns names in lower case, without the trailing dot. */
  lookUpNames(address: string): Promise<string[] | 'unknown'>;
}

const TIMEOUT_MS = 3000;

/** Creates DNS look-ups with the name servers of the settings, or those of the system. */
export function createLookUps({ servers }: Pick<Config['dns'], 'servers'>): LookUps {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 });
  if (servers.length > 0) resolver.setServers([...servers]);
  return {
    async lookUpAddresses(name) {
      const asked = await Promise.all([resolver.resolve4(name), resolver.resolve6(name)].map(catchNotFound));
      const found = asked.flatMap((answer) => (Array.isArray(answer) ? answer : []));
      return found.length > 0 ? found : asked.includes('unknown') ? 'unknown' : 'none';
    },
    async lookUpNames(address) {
      // resolver.reverse() would read /etc/hosts first.
      const names = await catchNotFound(resolver.resolvePtr(reverseName(address)));
      if (names === 'unknown') return names;
      return names === 'none' ? [] : names.map((name) => name.toLowerCase().replace(/\.$/, ''));
    },
  };
}

const catchNotFound = (asked: Promise<string[]>): Promise<string[] | 'none' | 'unknown'> =>
  asked.catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOTFOUND' || error.code === 'ENODATA' ? 'none' : 'unknown',
  );

/** Names that could be this machine's public one, the likeliest first. */
export async function findHostNames(
  addresses: readonly OwnAddress[],
  lookUps: LookUps,
  hostsFile = '/etc/hosts',
): Promise<Found<string>[]> {
  const own = os.hostname().toLowerCase();
  const found: Found<string>[] = [];
  if (isFullName(own)) found.push({ value: own, from: 'the host name of this machine' });
  const listed = fullNameIn(hostsFile, own);
  if (listed !== undefined) found.push({ value: listed, from: `${hostsFile}, for ${own}` });
  const publicOnes = addresses.filter(({ isPublic }) => isPublic);
  const reverse = await Promise.all(
    publicOnes.map(async ({ address }) => ({ address, names: await lookUps.lookUpNames(address) })),
  );
  for (const { address, names } of reverse) {
    if (names === 'unknown') continue;
    for (const value of names.filter(isFullName)) found.push({ value, from: `reverse DNS of ${address}` });
  }
  return found.filter(({ value }, at) => found.findIndex((one) => one.value === value) === at);
}

/** Names that every machine may have do not identify this one. */
const isFullName = (name: string): boolean =>
  name.includes('.') && !/(^|\.)(localhost|localdomain|invalid)$/.test(name);

function fullNameIn(file: string, name: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').toLowerCase().trim().split(/\s+/));
  return lines
    .filter((words) => words.slice(1).includes(name))
    .flatMap((words) => words.slice(1))
    .find((word) => isFullName(word) && word.startsWith(`${name}.`));
}

export const toRecordType = (address: string): 'A' | 'AAAA' => (isIPv4(address) ? 'A' : 'AAAA');

/** One spelling of an address, for comparing. */
export const canonicalAddress = (address: string): string => ipaddr.process(address).toString();

/** Web servers that can be configured to pass requests on to another server. */
export const WEB_SERVERS: readonly string[] = ['nginx', 'Apache', 'Caddy', 'HAProxy', 'Traefik', 'lighttpd'];

/** The systemd unit of a program, if Debian and Fedora use the same name for it. */
export const UNITS: Readonly<Record<string, string>> = {
  nginx: 'nginx',
  Caddy: 'caddy',
  Postfix: 'postfix',
  Exim: 'exim4',
  Sendmail: 'sendmail',
  OpenSMTPD: 'opensmtpd',
};
