import ipaddr from 'ipaddr.js';

/** One customer's addresses: IPv6 is handed out by networks of 64 bits, so that a limit of single addresses would limit no client. */
export function clientKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
