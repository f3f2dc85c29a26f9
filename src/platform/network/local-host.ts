import ipaddr from 'ipaddr.js';

/** Suffixes that no public name has: RFC 6761, RFC 6762 and the one that ICANN reserved for private use. */
const PRIVATE_SUFFIX = /\.(localhost|local|internal)$/;

/**
 * Whether the host of a URL is on this machine or a network of one's own as far as its text can say: a private address, a
 * name of one word, or one that no public DNS has. Where it leads is for an address guard to check.
 */
export function isLocalHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() !== 'unicast';
  return !host.includes('.') || PRIVATE_SUFFIX.test(host);
}
