/** Which program listens at a port of this machine, as Linux says it in /proc. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';

export interface Listener {
  port: number;
  /** Only this machine itself reaches it. */
  isLoopback: boolean;
  /** Undefined where this account may not look at the program. */
  pid: number | undefined;
  /** As people call it: nginx, Postfix, or the name of its process. */
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

/** What is asked to pass requests on to another server. */
export const WEB_SERVERS: readonly string[] = ['nginx', 'Apache', 'Caddy', 'HAProxy', 'Traefik', 'lighttpd'];

/** The unit that holds a program, where Debian and Fedora have one name for it. */
export const UNITS: Readonly<Record<string, string>> = {
  nginx: 'nginx',
  Caddy: 'caddy',
  Postfix: 'postfix',
  Exim: 'exim4',
  Sendmail: 'sendmail',
  OpenSMTPD: 'opensmtpd',
};

const LISTENING = '0A';

/** Everything that listens for TCP; of a port that several programs share, each. */
export function findListeners(proc = '/proc'): Listener[] {
  const sockets = ['tcp', 'tcp6'].flatMap((table) => readSockets(path.join(proc, 'net', table)));
  if (sockets.length === 0) return [];
  const owners = findOwners(proc, new Set(sockets.map(({ inode }) => inode)));
  return sockets.map(({ port, isLoopback, inode }) => {
    const pid = owners.get(inode);
    return { port, isLoopback, pid, program: pid === undefined ? undefined : programOf(proc, pid) };
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
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(path.join(folder, descriptor)))?.[1];
      // Of a master and its workers the master, which was there first.
      if (inode !== undefined && wanted.has(inode) && !owners.has(inode)) owners.set(inode, Number(name));
    }
  }
  return owners;
}

/** Whoever ends while we look has no files any more; whose they are may not be for us to know. */
function list(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted((a, b) => Number(a) - Number(b));
  } catch {
    return [];
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

function programOf(proc: string, pid: number): string | undefined {
  const name = read(path.join(proc, String(pid), 'comm')).trim();
  if (name === '') return undefined;
  const words = commandLine(proc, pid);
  // Its process is called `master`, as others may be.
  if (name === 'master' && /\/postfix\//.test(words[0] ?? linkOf(path.join(proc, String(pid), 'exe'))))
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
