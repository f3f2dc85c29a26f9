import { Resolver } from 'node:dns/promises';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import os from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../src/platform/config/index.ts';
import { reverseName } from '../../src/protocol/dnsbl.ts';
import path from 'node:path';

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
  /** Lower case, without the trailing dot. */
  lookUpNames(address: string): Promise<string[]>;
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
      return Array.isArray(names) ? names.map((name) => name.toLowerCase().replace(/\.$/, '')) : [];
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

export interface Listener {
  port: number;
  /** True if only this machine can reach it. */
  isLoopback: boolean;
  /** Undefined when this account may not see the program. */
  pid: number | undefined;
  /** The common name of the program: nginx, Postfix, or the name of its process. */
  program: string | undefined;
}

/** Programs whose process has another name, or is one of several. */
const KNOWN: readonly (readonly [name: string, of: RegExp])[] = [
  ['nginx', /^(nginx|openresty)$/],
  ['Apache', /^(apache2|httpd)$/],
  ['Caddy', /^caddy$/],
  ['HAProxy', /^haproxy$/],
  ['Traefik', /^traefik$/],
  ['lighttpd', /^lighttpd$/],
  ['Exim', /^exim4?$/],
  ['Sendmail', /^sendmail(-mta)?$/],
  ['OpenSMTPD', /^smtpd$/],
  ['Docker', /^docker-proxy$/],
];

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

const LISTENING = '0A';

/** Finds every program that listens for TCP, as Linux lists it in /proc; of a port that several programs share, each. */
export function findListeners(proc = '/proc'): Listener[] {
  const sockets = ['tcp', 'tcp6'].flatMap((table) => readSockets(path.join(proc, 'net', table)));
  if (sockets.length === 0) return [];
  const owners = findOwners(proc, new Set(sockets.map(({ inode }) => inode)));
  return sockets.map(({ port, isLoopback, inode }) => {
    const pid = owners.get(inode);
    return { port, isLoopback, pid, program: pid === undefined ? undefined : readProgram(proc, pid) };
  });
}

interface Socket {
  port: number;
  isLoopback: boolean;
  inode: string;
}

function readSockets(file: string): Socket[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      return state === LISTENING ? [{ port: Number.parseInt(port, 16), isLoopback: isLoopback(address), inode }] : [];
    });
}

/** The kernel writes each word of 32 bits in the order of the machine, which is little-endian on all that we run on. */
const isLoopback = (hex: string): boolean =>
  hex.length === 8
    ? hex.endsWith('7F')
    : hex === '00000000000000000000000001000000' || /^0{16}FFFF0000.{6}7F$/.test(hex);

function findOwners(proc: string, wanted: ReadonlySet<string>): Map<string, number> {
  const owners = new Map<string, number>();
  for (const name of list(proc)) {
    if (!/^\d+$/.test(name)) continue;
    const folder = path.join(proc, name, 'fd');
    for (const descriptor of list(folder)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(path.join(folder, descriptor)))?.[1];
      // A master and its workers share a socket; the master has the lowest process id.
      if (inode !== undefined && wanted.has(inode) && !owners.has(inode)) owners.set(inode, Number(name));
    }
  }
  return owners;
}

/** A process that ends meanwhile has no files any more; those of another user may be unreadable. */
function list(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted((a, b) => Number(a) - Number(b));
  } catch {
    return [];
  }
}

function readLink(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

function readProgram(proc: string, pid: number): string | undefined {
  const name = read(path.join(proc, String(pid), 'comm')).trim();
  if (name === '') return undefined;
  const words = commandLine(proc, pid);
  // Its process is named `master`, like those of other programs.
  if (name === 'master' && /\/postfix\//.test(words[0] ?? readLink(path.join(proc, String(pid), 'exe'))))
    return 'Postfix';
  const known = KNOWN.find(([, of]) => of.test(name))?.[0];
  // Node.js calls its process MainThread.
  const told = known ?? (name === 'MainThread' ? path.basename(words[0] ?? name) : name);
  // The account that runs a program names it, and a terminal obeys control characters.
  return told.replaceAll(/[^\x20-\x7e]/g, '?');
}

const commandLine = (proc: string, pid: number): string[] =>
  read(path.join(proc, String(pid), 'cmdline'))
    .split('\0')
    .slice(0, -1);

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
