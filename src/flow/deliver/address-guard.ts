import ipaddr from 'ipaddr.js';

/** Answers whether mail may be sent to an address. */
export type AddressGuard = (address: string) => boolean;

/**
 * An MX or address record is chosen by whoever owns the domain: without this guard, a record that points to 127.0.0.1
 * or into our network would let a stranger speak SMTP to our internal hosts. Only global unicast addresses pass, and
 * what the operator allows by name.
 */
export function createAddressGuard(allowedCidrs: string[]): AddressGuard {
  const allowed = allowedCidrs.map((cidr) => ipaddr.parseCIDR(cidr.includes('/') ? cidr : wholeAddress(cidr)));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    if (address.range() === 'unicast') return true;
    return allowed.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  };
}

function wholeAddress(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}
