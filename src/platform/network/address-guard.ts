import ipaddr from 'ipaddr.js';

/** Answers whether we may connect to an address. */
export type AddressGuard = (address: string) => boolean;

/**
 * An MX record, an address record or a URL is chosen by somebody else: without this guard, one that points to 127.0.0.1
 * or into our network would let a stranger speak to our internal hosts. Only global unicast addresses pass, and what
 * the operator allows by name.
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

// RFC 4291 §2.4, IANA: so far, all global unicast addresses of IPv6 begin with 001. The rest of what is not special, such
// as the old IPv4-compatible ::/96, leads nowhere good.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

// The address at which Azure answers every machine in its network about that machine; it is public in form alone.
const CLOUD_PLATFORM = '168.63.129.16';

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || address.toString() === CLOUD_PLATFORM) return false;
  return address.kind() === 'ipv4' || address.match(...GLOBAL_UNICAST);
}

function wholeAddress(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}
