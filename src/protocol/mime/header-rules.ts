import { parseMailbox } from '../address/index.ts';
import { addressHeaders } from './header-field.ts';

const nameCharsMax = 76;
const valueBytesMax = 998;

// RFC 5322 §2.2: printable ASCII without the colon.
const fieldName = /^[!-9;-~]+$/;
// Tab is the one control character that may stand in a value.
const forbiddenInValue = /[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029]|\p{Cs}/u;

const reserved = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  // Those whom it names got it unseen by the others.
  'resent-bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'dkim-signature',
  'domainkey-signature',
  // Trace fields (RFC 5322 §3.6.7, RFC 8601, RFC 7208 §9.1, RFC 9228): only a server that handled the mail may add them.
  'return-path',
  'received',
  'received-spf',
  'authentication-results',
  'delivered-to',
]);
const reservedFamilies = ['content-', 'arc-', 'list-unsubscribe'];

/** Headers that the composer, the signer or a receiving server writes; a caller may not. Reply-To and Sender are free. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reserved.has(lower) || reservedFamilies.some((family) => lower.startsWith(family));
}

const INSTEAD_OF_LIST_UNSUBSCRIBE =
  ' The service writes it in broadcasts and in automation emails with a topic_id; for a link of your own send the message by SMTP, which keeps the header.';

/** What is wrong with a header that a caller wants to add; undefined when it may be written. */
export function headerFault(name: string, value: string): string | undefined {
  const shown = JSON.stringify(name.slice(0, 80));
  if (name === '') return 'A header has an empty name; write one such as X-Entity-Ref-ID.';
  if (name.length > nameCharsMax) {
    return `The header name ${shown} has ${name.length} characters; at most ${nameCharsMax} are possible.`;
  }
  if (!fieldName.test(name))
    return `The header name ${shown} may hold only printable ASCII characters other than the colon and the space.`;
  if (isReservedHeader(name)) {
    const instead = name.toLowerCase().startsWith('list-unsubscribe') ? INSTEAD_OF_LIST_UNSUBSCRIBE : '';
    return `The header ${shown} is written by the service and cannot be set; remove it.${instead}`;
  }
  const bytes = Buffer.byteLength(value);
  if (bytes > valueBytesMax)
    return `The value of the header ${shown} has ${bytes} bytes; at most ${valueBytesMax} are possible.`;
  if (forbiddenInValue.test(value)) {
    return `The value of the header ${shown} contains a line break or another control character; write it on one line.`;
  }
  if (addressHeaders.has(name.toLowerCase()) && /[^\0-\x7f]/.test(value) && !parseMailbox(value).ok) {
    return `The value of the header ${shown} is not one mailbox; write Name <local@example.com>.`;
  }
  return undefined;
}
