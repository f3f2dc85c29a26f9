/**
 * Mail addresses, display names, domain names and bounce return paths.
 * Parsing returns either a value that every later stage may trust or one sentence for the caller.
 * It never looks a name up, and never guesses what a malformed address may have meant.
 */
export {
  base32hex,
  fromBase32hex,
  uuidOfBytes,
  formatReturnPath,
  isGenuineReturnPath,
  parseReturnPath,
  returnPathPrefix,
  type Mac,
  type ReturnPath,
  type ReturnPathInput,
} from './return-path.ts';
export {
  parseDomainName,
  type DomainOptions,
  type DomainResult,
  findMailbox,
  normalizeAddress,
  normalizeAddressStart,
  parseAddress,
  quoteString,
  quoteValue,
  splitAddress,
  type AddressResult,
  type Mailbox,
} from './address.ts';
export { parseHeaderMailbox, formatMailbox, formatPhrase, parseMailbox, type MailboxResult } from './mailbox.ts';
