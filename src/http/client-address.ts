import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Who asks, past the proxies that are believed: the rule by which fastify knows the address of an API call. */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = new BlockList();
  for (const cidr of trustedProxies) {
    const [network = '', bits = ''] = cidr.split('/');
    trusted.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  return (request) => {
    let address = plain(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return address;
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let hop = hops.pop(); hop !== undefined && isIP(address) !== 0 && isTrusted(address); hop = hops.pop()) {
      const next = plain(hop.trim());
      // What is no address was written by somebody who is not to be believed.
      if (isIP(next) === 0) break;
      address = next;
    }
    return address;
  };
}

/** A listener on IPv6 sees IPv4 in its clothes. */
const plain = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
