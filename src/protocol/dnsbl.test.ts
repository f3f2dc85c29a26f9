import { describe, expect, it } from 'vitest';
import { readListing, reversed, reverseName } from './dnsbl.ts';

describe('the name queried in a blocklist', () => {
  it.each([
    { address: '192.0.2.10', name: '10.2.0.192.in-addr.arpa' },
    { address: '2001:db8::1', name: `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa` },
    { address: '::1', name: `1.${'0.'.repeat(31)}ip6.arpa` },
    {
      address: '2001:DB8:0:1:2:3:4:5',
      name: '5.0.0.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    },
    { address: '2001:db8::', name: `${'0.'.repeat(24)}8.b.d.0.1.0.0.2.ip6.arpa` },
  ])('for the address $address is reversed', ({ address, name }) => {
    expect(reverseName(address)).toBe(name);
    expect(reversed(address).split('.')).toHaveLength(address.includes(':') ? 32 : 4);
  });
});

describe('the response of a blocklist', () => {
  it.each([
    { records: ['127.0.0.2', '127.0.0.10'], is: { kind: 'listed', codes: ['127.0.0.2', '127.0.0.10'] } },
    { records: ['127.0.1.4'], is: { kind: 'listed', codes: ['127.0.1.4'] } },
    { records: ['127.255.255.254'], is: { kind: 'refused', why: 'it answers no public resolver' } },
    { records: ['127.255.255.252'], is: { kind: 'refused', why: 'the name of the list is mistyped' } },
    { records: ['127.255.255.255'], is: { kind: 'refused', why: 'too much is asked of it' } },
    { records: ['127.255.255.9'], is: { kind: 'refused', why: 'it answers with the error 127.255.255.9' } },
    { records: ['127.0.0.2', '127.255.255.254'], is: { kind: 'refused', why: 'it answers no public resolver' } },
    { records: ['203.0.113.7'], is: { kind: 'odd', said: '203.0.113.7' } },
    { records: ['127.5.0.2'], is: { kind: 'odd', said: '127.5.0.2' } },
    { records: [], is: { kind: 'odd', said: 'nothing' } },
  ])('$records is read as expected', ({ records, is }) => {
    expect(readListing(records)).toEqual(is);
  });
});
