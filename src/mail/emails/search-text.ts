import { domainToUnicode } from 'node:url';
import type { Mailbox } from '../../protocol/address/index.ts';

// No field of an email holds it, so that nothing is found across two of them.
const SEPARATOR = '\n';

/** What GET /emails searches: the subject and every address, an internationalised one in both of its spellings. */
export function searchTextOf(subject: string, mailboxes: readonly Pick<Mailbox, 'address' | 'domain'>[]): string {
  const addresses = mailboxes.flatMap(({ address, domain }) =>
    domain.includes('xn--')
      ? [address, `${address.slice(0, -domain.length)}${domainToUnicode(domain) || domain}`]
      : [address],
  );
  return [subject, ...addresses].map(foldForSearch).join(SEPARATOR);
}

/** One letter case and one Unicode form. A final sigma is a sigma: where a word ends depends on what is searched for. */
export const foldForSearch = (text: string): string =>
  text.normalize('NFC').toLowerCase().normalize('NFC').replaceAll('ς', 'σ');

export const canBeFound = (search: string): boolean => !search.includes(SEPARATOR);
