import ipaddr from 'ipaddr.js';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Reports whether we may connect to an address. */
export type AddressGuard = (address: string) => boolean;

/**
 * Creates the guard for addresses that somebody else chooses, in an MX record, an address record or a URL: without it,
 * one that points to 127.0.0.1 or into our network would give an attacker access to our internal hosts. Only global
 * unicast addresses pass, and those that the operator allows explicitly.
 */
export function createAddressGuard(allowedCidrs: string[]): AddressGuard {
  const allowed = allowedCidrs.map((cidr) => ipaddr.parseCIDR(cidr.includes('/') ? cidr : wholeAddress(cidr)));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    if (isPublic(address)) return true;
    return allowed.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  };
}

// RFC 4291 §2.4, IANA: so far, all global unicast addresses of IPv6 begin with 001. The remaining unassigned ranges,
// such as the old IPv4-compatible ::/96, must not be reached.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// At this address Azure serves information about the requesting machine; it only looks public.
const CLOUD_PLATFORM = '168.63.129.16';

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || address.toString() === CLOUD_PLATFORM) return false;
  return address.kind() === 'ipv4' || address.match(...GLOBAL_UNICAST);
}

function wholeAddress(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}

/** Suffixes of non-public names: RFC 6761, RFC 6762 and the one that ICANN reserved for private use. */
const PRIVATE_SUFFIX = /\.(localhost|local|internal)$/;

/**
 * Reports whether the text of a URL's host is local: a private address, a name of one word, or a name that is not in
 * public DNS. It does not resolve the name; an address guard must check the address.
 */
export function isLocalHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() !== 'unicast';
  return !host.includes('.') || PRIVATE_SUFFIX.test(host);
}

/**
 * Returns the key by which a client is limited: IPv6 is assigned in networks of 64 bits, so a limit on single addresses
 * would limit no client.
 */
export function clientKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}

/** Returns a function that reports whether an address is in one of the CIDR ranges. */
export function createRangeCheck(cidrs: readonly string[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits = ''] = cidr.split('/');
    ranges.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  return (text) => {
    const address = plainAddress(text);
    return isIP(address) !== 0 && ranges.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  };
}

/** A listener on IPv6 sees IPv4 addresses in their mapped form. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
