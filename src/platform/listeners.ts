import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';

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
  const node = words.some((word) => /\/bin\/main\.ts$/.test(word)) ? 'rasket' : path.basename(words[0] ?? name);
  const told = known ?? (name === 'MainThread' ? node : name);
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

/** Returns "nginx (process 812)" for the programs that listen at a port, as a part of a sentence. */
export function formatHolders(listeners: readonly Listener[], port: number): string {
  const names = listeners
    .filter((one) => one.port === port)
    .map(({ program, pid }) =>
      pid === undefined
        ? 'a program that only root can see'
        : `${program ?? 'a program without a name'} (process ${pid})`,
    );
  return [...new Set(names)].join(' and ');
}

/** Returns who has a port; a system without /proc only tells that somebody has. */
export const findHolders = (port: number): string => formatHolders(findListeners(), port) || 'another program';

/** Returns the process that holds a lock on a file, as Linux lists it in /proc; undefined if it is unknown. */
export function findLocker(file: string): number | undefined {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  const lines = read('/proc/locks').split('\n');
  const pids = lines.flatMap((line) => {
    const [, pid, place] = /^\d+: POSIX +\S+ +\S+ +(\d+) +(\S+)/.exec(line) ?? [];
    return place?.endsWith(`:${inode}`) ? [Number(pid)] : [];
  });
  return pids.find((pid) => pid > 0);
}
