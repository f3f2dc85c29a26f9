import type { Address, Mailbox } from 'postal-mime';
import { formatMailbox, formatPhrase, parseAddress, quoteString, splitAddress } from '../address/index.ts';
import { oneLine, shortLine } from '../mime-read/index.ts';

/** Of one header field; who writes to more has them in the source. */
const ADDRESSES_MAX = 1000;
/** With every character escaped and an address behind it, one line of a header (RFC 5322 §2.1.1). */
const NAME_BYTES_MAX = 350;

/** Each as RFC 5322 writes it, so that everybody reads one mailbox, and the same. Groups (§3.4) are their members. */
export function mailboxesOf(addresses: readonly Address[] = []): string[] {
  const mailboxes = addresses.flatMap((entry) => (entry.group === undefined ? [entry] : entry.group));
  return mailboxes
    .filter(({ name, address }) => name !== '' || address !== '')
    .slice(0, ADDRESSES_MAX)
    .map(written)
    .filter((text) => text !== '');
}

function written(mailbox: Mailbox): string {
  const name = shortLine(mailbox.name, NAME_BYTES_MAX);
  const line = oneLine(mailbox.address);
  const address = addressOf(line);
  if (address !== undefined) return formatMailbox({ name, address });
  // What is no address is shown as no part of one.
  const words = shortLine([name, line].filter((text) => text !== '').join(' '), NAME_BYTES_MAX);
  return words === '' ? '' : formatPhrase(words);
}

/** The parser takes the quotes off a local part. */
function addressOf(text: string): string | undefined {
  if (parseAddress(text, { allowSingleLabel: true }).ok) return text;
  const split = splitAddress(text);
  if (!split) return undefined;
  const quoted = `${quoteString(split.local)}@${split.domain}`;
  if (parseAddress(quoted, { allowSingleLabel: true }).ok) return quoted;
  // Not what we could send to, as an address literal is, but nothing in it ends it either.
  return PLAIN_ADDRESS.test(text) ? text : undefined;
}

const PLAIN_ADDRESS = /^[^\s"(),:;<>@[\\\]]+@(?:[^\s"(),:;<>@[\\\]]+|\[[\w.:-]+\])$/;
