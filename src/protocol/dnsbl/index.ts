/**
 * Lists of addresses in DNS (RFC 5782): the name under which an address is asked for, what an answer means, and the entries by
 * which a list shows that it works. Reverse DNS asks by the same names.
 */
export { ABSENT_POINT, PRESENT_POINT, readListing, reversed, reverseName, type Listing } from './dnsbl.ts';
