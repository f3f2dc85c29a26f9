/**
 * Mail addresses, display names, domain names and bounce return paths.
 * Parsing returns either a value that every later stage may trust or one sentence for the caller.
 * It never looks a name up, and never guesses at what a malformed address may have meant.
 */
export { base32hex, fromBase32hex, uuidOfBytes } from './base32hex.ts';
export { parseDomainName } from './domain-name.ts';
export type { DomainOptions, DomainResult } from './domain-name.ts';
export { parseHeaderMailbox } from './header-mailbox.ts';
export { formatMailbox, formatPhrase, parseMailbox } from './mailbox.ts';
export type { MailboxResult } from './mailbox.ts';
export { normalizeAddress, normalizeAddressStart, parseAddress, quoteString, splitAddress } from './address.ts';
export type { AddressResult, Mailbox } from './address.ts';
export { formatReturnPath, isGenuineReturnPath, parseReturnPath, returnPathPrefix } from './return-path.ts';
export type { Mac, ReturnPath, ReturnPathInput } from './return-path.ts';
