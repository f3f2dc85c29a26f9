import { BlockList, isIP, isIPv6 } from 'node:net';

/** Whether an address stands in one of the CIDR ranges. */
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

/** A listener on IPv6 sees IPv4 in its clothes. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
