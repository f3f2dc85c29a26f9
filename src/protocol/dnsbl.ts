/** RFC 5782 §5: every IPv4 list contains the first address, and none contains the second. */
export const PRESENT_POINT = '127.0.0.2';
export const ABSENT_POINT = '127.0.0.1';

/** Returns the labels of an address in reverse: `10.2.0.192`, or the 32 hexadecimal digits of IPv6. */
export function reversed(address: string): string {
  if (!address.includes(':')) return address.split('.').toReversed().join('.');
  const [head = '', tail] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const between = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  const digits = [...left, ...between, ...right].map((group) => group.padStart(4, '0')).join('');
  return digits.toLowerCase().split('').toReversed().join('.');
}

export const reverseName = (address: string): string =>
  `${reversed(address)}.${address.includes(':') ? 'ip6' : 'in-addr'}.arpa`;

export type Listing =
  | { kind: 'listed'; codes: string[] }
  /** The list refused the query, for example because the resolver is a public one or sends too many queries. */
  | { kind: 'refused'; why: string }
  /** No list gives such an answer, so something else did. */
  | { kind: 'odd'; said: string };

/** Return codes of Spamhaus and others; no code in 127.255.255.0/24 means that an address is listed. */
const REFUSALS: Record<string, string> = {
  '127.255.255.252': 'the name of the list is mistyped',
  '127.255.255.254': 'it answers no public resolver',
  '127.255.255.255': 'too much is asked of it',
};

/** Interprets the addresses that a list returns (RFC 5782 §2.1). */
export function readListing(records: readonly string[]): Listing {
  const refusal = records.find((record) => record.startsWith('127.255.255.'));
  if (refusal !== undefined)
    return { kind: 'refused', why: REFUSALS[refusal] ?? `it answers with the error ${refusal}` };
  const odd = records.find((record) => !record.startsWith('127.0.'));
  if (odd !== undefined || records.length === 0) return { kind: 'odd', said: odd ?? 'nothing' };
  return { kind: 'listed', codes: [...records] };
}
