import { isIPv4, isIPv6 } from 'node:net';

/** Credentials of the user name and password method (RFC 1929). */
export interface SocksLogin {
  user: string;
  password: string;
}

export interface SocksTarget {
  address: string;
  port: number;
}

/** What a handshake needs next: bytes to send, or nothing more. `rest` is what the peer behind the proxy has sent. */
export type SocksStep =
  | { kind: 'send'; bytes: Buffer }
  | { kind: 'wait' }
  | { kind: 'open'; boundAddress: string; rest: Buffer }
  /** `isOfProxy`: the proxy itself does not work for us, whatever the target. */
  | { kind: 'failed'; detail: string; isOfProxy: boolean };

const VERSION = 5;
const NO_LOGIN = 0;
const PASSWORD = 2;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** Meanings of the replies to a CONNECT request (RFC 1928 §6). */
const REPLIES: Readonly<Record<number, string>> = {
  1: 'it failed',
  2: 'it does not allow the connection',
  3: 'the network is unreachable',
  4: 'the host is unreachable',
  5: 'the connection was refused',
  6: 'the connection timed out',
  7: 'it knows no CONNECT',
  8: 'it does not support this kind of address',
};

/** Replies that say something about the target: it cannot be reached. */
const ABOUT_TARGET: ReadonlySet<number> = new Set([3, 4, 5, 6]);

const failOfProxy = (detail: string): SocksStep => ({ kind: 'failed', detail, isOfProxy: true });

/**
 * Asks a SOCKS5 proxy for a connection to an address (RFC 1928), with a login if there is one (RFC 1929). The address is
 * sent as such and never as a name, so that the checks of its name still hold.
 */
export class SocksHandshake {
  #login: SocksLogin | undefined;
  #target: SocksTarget;
  #state: 'method' | 'login' | 'connect' = 'method';
  #unread = Buffer.alloc(0);

  constructor(target: SocksTarget, login: SocksLogin | undefined) {
    this.#target = target;
    this.#login = login;
  }

  /** Returns the first bytes: the methods that can be used. */
  greet(): Buffer {
    const methods = this.#login ? [NO_LOGIN, PASSWORD] : [NO_LOGIN];
    return Buffer.from([VERSION, methods.length, ...methods]);
  }

  /** Reads what the proxy has sent. */
  push(chunk: Buffer): SocksStep {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    switch (this.#state) {
      case 'method':
        return this.#readMethod();
      case 'login':
        return this.#readLogin();
      case 'connect':
        return this.#readReply();
    }
  }

  #readMethod(): SocksStep {
    if (this.#unread.length < 2) return { kind: 'wait' };
    const [version, method] = this.#take(2);
    if (version !== VERSION) return failOfProxy('it is no SOCKS5 proxy');
    if (method === NO_LOGIN) return this.#connect();
    if (method !== PASSWORD || !this.#login) return failOfProxy('it requires another way to log in');
    this.#state = 'login';
    const user = Buffer.from(this.#login.user);
    const password = Buffer.from(this.#login.password);
    const bytes = Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]);
    return { kind: 'send', bytes };
  }

  #readLogin(): SocksStep {
    if (this.#unread.length < 2) return { kind: 'wait' };
    const [, status] = this.#take(2);
    return status === 0 ? this.#connect() : failOfProxy('it does not accept the login');
  }

  #connect(): SocksStep {
    this.#state = 'connect';
    const { address, port } = this.#target;
    const kind = isIPv6(address) ? IPV6 : IPV4;
    const bytes = Buffer.concat([
      Buffer.from([VERSION, CONNECT, 0, kind]),
      kind === IPV6 ? packIpv6(address) : packIpv4(address),
      Buffer.from([port >> 8, port & 255]),
    ]);
    return { kind: 'send', bytes };
  }

  #readReply(): SocksStep {
    const [version = VERSION, reply = 0, , kind = 0, length = 0] = this.#unread;
    if (version !== VERSION) return failOfProxy('it sent no SOCKS5 reply');
    // A refusal may be shorter than a reply with an address.
    if (this.#unread.length >= 2 && reply !== 0)
      return {
        kind: 'failed',
        detail: REPLIES[reply] ?? `it answered with ${reply}`,
        isOfProxy: !ABOUT_TARGET.has(reply),
      };
    if (this.#unread.length < 5) return { kind: 'wait' };
    const size = kind === IPV4 ? 4 : kind === IPV6 ? 16 : kind === NAME ? length + 1 : undefined;
    if (size === undefined) return failOfProxy('it sent no SOCKS5 reply');
    if (this.#unread.length < 4 + size + 2) return { kind: 'wait' };
    const bound = this.#take(4 + size + 2).subarray(4, 4 + size);
    return { kind: 'open', boundAddress: formatAddress(kind, bound), rest: this.#unread };
  }

  #take(size: number): Buffer {
    const taken = this.#unread.subarray(0, size);
    this.#unread = this.#unread.subarray(size);
    return taken;
  }
}

function packIpv4(address: string): Buffer {
  if (!isIPv4(address)) throw new Error(`${JSON.stringify(address)} is not an IP address`);
  return Buffer.from(address.split('.').map(Number));
}

function packIpv6(address: string): Buffer {
  const [head = '', tail] = address.split('::');
  const read = (part: string | undefined): number[] =>
    part === undefined || part === '' ? [] : part.split(':').flatMap(readGroup);
  const before = read(head);
  const after = read(tail);
  const groups = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 255]));
}

/** Reads one group of an IPv6 address, or an IPv4 address at its end as two. */
function readGroup(text: string): number[] {
  if (!text.includes('.')) return [Number.parseInt(text, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return [(a << 8) | b, (c << 8) | d];
}

function formatAddress(kind: number, bytes: Buffer): string {
  if (kind === IPV4) return bytes.join('.');
  if (kind === NAME) return bytes.subarray(1).toString('latin1');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
