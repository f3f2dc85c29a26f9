import { expect, test } from 'vitest';
import { createAddressGuard } from './address-guard.ts';

test.each(['8.8.8.8', '2607:f8b0:4004:c07::1b', '::ffff:8.8.8.8'])('the public address %s is allowed', (address) => {
  expect(createAddressGuard([])(address)).toBe(true);
});

test.each([
  ['127.0.0.1', 'loopback'],
  ['10.0.0.1', 'private'],
  ['172.16.0.1', 'private'],
  ['192.168.0.1', 'private'],
  ['169.254.169.254', 'link-local, where clouds keep credentials'],
  ['168.63.129.16', 'the platform of a cloud, which tells a machine its secrets'],
  ['::ffff:168.63.129.16', 'the same in IPv6 clothes'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['0.0.0.0', 'this host'],
  ['224.0.0.1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['192.0.2.1', 'documentation'],
  ['198.18.0.1', 'benchmarks'],
  ['192.88.99.1', 'a 6to4 relay'],
  ['192.0.0.8', 'protocol assignments'],
  ['240.0.0.1', 'reserved'],
  ['::', 'this host'],
  ['::1', 'loopback'],
  ['fe80::1', 'link-local'],
  ['fc00::1', 'unique local'],
  ['::ffff:127.0.0.1', 'loopback in IPv6 clothes'],
  ['64:ff9b::7f00:1', 'loopback behind NAT64'],
  ['64:ff9b:1::7f00:1', 'loopback behind a local NAT64'],
  ['::ffff:0:127.0.0.1', 'loopback behind a translator'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['2001:db8::1', 'documentation'],
  ['3fff::1', 'documentation'],
  ['5f00::1', 'segment routing'],
  ['2001:2::1', 'benchmarks'],
  ['2002:7f00:1::', 'loopback behind 6to4'],
  ['2001:0:7f00:1::', 'Teredo'],
  ['::7f00:1', 'loopback as IPv4-compatible'],
  ['mx.example.com', 'not an address'],
  ['127.1', 'loopback, abbreviated'],
  ['2130706433', 'loopback as one number'],
])('the address %s is refused: %s', (address) => {
  expect(createAddressGuard([])(address)).toBe(false);
});

test('an address that the operator allows is reachable, and no other private address is', () => {
  const mayReach = createAddressGuard(['10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1']);
  expect(['10.1.2.3', '127.0.0.1', '::ffff:10.1.2.3', 'fd12::1', '::1'].map(mayReach)).not.toContain(false);
  expect(['10.2.0.1', '127.0.0.2', 'fe80::1', '::2'].map(mayReach)).not.toContain(true);
});

test('an invalid range is refused when it is configured, not when mail is sent', () => {
  expect(() => createAddressGuard(['10.0.0.0/33'])).toThrow();
});
