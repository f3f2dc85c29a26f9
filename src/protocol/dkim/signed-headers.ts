import type { HeaderField } from '../mime/index.ts';

// Listed once more than they occur, so that none can be added behind the signature (RFC 6376 §8.15).
const oversigned = [
  'from',
  'to',
  'cc',
  'subject',
  'date',
  'reply-to',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
];

// Signed where they stand; lists and forwarders may rightly add them to mail that has none.
const signedIfPresent = new Set([
  'sender',
  'in-reply-to',
  'references',
  'list-id',
  'list-help',
  'list-owner',
  'list-post',
  'list-subscribe',
  'list-archive',
  'feedback-id',
  'auto-submitted',
]);
// Where they stand, no other one can be added that leads readers who want to leave to somebody else. RFC 8058 §4: both must be
// covered for one-click unsubscription.
const oversignedIfPresent = new Set(['list-unsubscribe', 'list-unsubscribe-post']);
const oversignedSet = new Set(oversigned);

export type SignedHeaders = {
  /** The entries of `h=`. */
  names: string[];
  /** The canonical fields in the order of `h=`, each ended by CRLF. */
  canonical: string;
};

export function selectSignedHeaders(headers: readonly HeaderField[]): SignedHeaders {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (![oversignedSet, oversignedIfPresent, signedIfPresent].some((names) => names.has(lower))) continue;
    const known = values.get(lower);
    if (known === undefined) values.set(lower, [value]);
    else known.push(value);
  }
  if (!values.has('from')) throw new Error('a signed message has a From header (RFC 6376 §5.4)');
  const names: string[] = [];
  let canonical = '';
  const take = (name: string): void => {
    // Several fields of one name are signed from the last to the first (RFC 6376 §5.4.2).
    for (const value of (values.get(name) ?? []).reverse()) {
      names.push(name);
      canonical += `${canonicalField(name, value)}\r\n`;
    }
  };
  for (const name of oversigned) {
    take(name);
    names.push(name);
  }
  for (const name of values.keys()) {
    if (oversignedSet.has(name)) continue;
    take(name);
    if (oversignedIfPresent.has(name)) names.push(name);
  }
  return { names, canonical };
}

/**
 * One field in relaxed form (RFC 6376 §3.4.2), without its CRLF. White space is space and tab only: a no-break space
 * that `trim` or `\s` would take away is content.
 */
export function canonicalField(lowerName: string, value: string): string {
  if (!/[\t\r\n]| {2}|^ | $/.test(value)) return `${lowerName}:${value}`;
  const unfolded = value.replace(/\r\n(?=[ \t])/g, '');
  return `${lowerName}:${unfolded.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')}`;
}
