import { hash, sign, type KeyObject } from 'node:crypto';
import type { HeaderField } from '../mime/index.ts';
import { bodyHash } from './body-hash.ts';

interface SigningKey {
  privateKey: KeyObject;
  algorithm: 'rsa-sha256' | 'ed25519-sha256';
}

const columnsMax = 78;

/** Returns the pieces of `h=`, so that the line can be folded after each colon. */
export function listTag(names: readonly string[]): string[] {
  const pieces: string[] = [];
  let piece = 'h=';
  names.forEach((name, index) => {
    const entry = `${name}${index < names.length - 1 ? ':' : ';'}`;
    if (piece.length + entry.length >= columnsMax) {
      pieces.push(piece);
      piece = '';
    }
    piece += entry;
  });
  pieces.push(piece);
  return pieces;
}

/** Returns the value of a field without its signature: tags folded, and an empty `b=` on a line of its own. */
export function foldTags(fieldName: string, pieces: readonly string[]): string {
  const last = 'b=';
  let text = '';
  let column = fieldName.length + 2;
  for (const piece of [...pieces, last]) {
    if (text === '') text = piece;
    else if (column + 1 + piece.length > columnsMax || piece === last) {
      text += `\r\n ${piece}`;
      column = 0;
    } else text += ` ${piece}`;
    column += piece.length + 1;
  }
  return text;
}

export function appendSignature(unsigned: string, signature: Buffer): string {
  const base64 = signature.toString('base64');
  let text = `${unsigned}${base64.slice(0, 74)}`;
  for (let at = 74; at < base64.length; at += 76) text += `\r\n ${base64.slice(at, at + 76)}`;
  return text;
}

export function signBytes(covered: Buffer, key: SigningKey): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer): void => (error ? reject(error) : resolve(signature));
    if (key.algorithm === 'rsa-sha256') sign('sha256', covered, key.privateKey, done);
    // RFC 8463 §3: Ed25519 signs the SHA-256 of the data, not the data.
    else sign(null, hash('sha256', covered, 'buffer'), key.privateKey, done);
  });
}

// Listed once more than they occur, so that none can be added without breaking the signature (RFC 6376 §8.15).
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

// Signed if present; lists and forwarders may legitimately add them to mail that has none.
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
// Oversigned if present, so that nobody can add a second one that leads readers who want to unsubscribe elsewhere. RFC
// 8058 §4: both must be covered for one-click unsubscription. RFC 8460 §5.3: so must what a TLS report is about.
const oversignedIfPresent = new Set([
  'list-unsubscribe',
  'list-unsubscribe-post',
  'tls-report-domain',
  'tls-report-submitter',
]);
const oversignedSet = new Set(oversigned);

type SignedHeaders = {
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
  if (!values.has('from')) throw new Error('the message to sign has no From header (RFC 6376 §5.4)');
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
 * Canonicalizes one field in relaxed form (RFC 6376 §3.4.2), without its CRLF. White space is space and tab only: a
 * no-break space that `trim` or `\s` would remove is content.
 */
export function canonicalField(lowerName: string, value: string): string {
  if (!/[\t\r\n]| {2}|^ | $/.test(value)) return `${lowerName}:${value}`;
  const unfolded = value.replace(/\r\n(?=[ \t])/g, '');
  return `${lowerName}:${unfolded.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')}`;
}

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256';

export type DkimKey = { domain: string; selector: string; privateKey: KeyObject; algorithm: DkimAlgorithm };

export type DkimMessage = {
  headers: readonly HeaderField[];
  keys: readonly DkimKey[];
  at: Date;
  /** Pass `bodyHash` for a body that is not in memory, or that is signed under several header blocks. */
} & ({ body: Buffer; bodyHash?: string } | { bodyHash: string });

const rsaBitsMin = 1024;
const fieldName = 'DKIM-Signature';

/**
 * Returns one `DKIM-Signature: …` field with its CRLF for each key, in the order of the keys, to be put in front of the
 * message.
 */
export async function signDkim(message: DkimMessage): Promise<string> {
  if (message.keys.length === 0) return '';
  const signed = selectSignedHeaders(message.headers);
  const digest = 'body' in message ? (message.bodyHash ?? bodyHash(message.body)) : message.bodyHash;
  const fields = message.keys.map(async (key) => {
    mustFit(key);
    const unsigned = foldTags(fieldName, [...buildTags(key, message.at, digest), ...listTag(signed.names)]);
    // The field covers itself with an empty b= and without its CRLF (RFC 6376 §3.7).
    const covered = Buffer.from(`${signed.canonical}${canonicalField('dkim-signature', unsigned)}`, 'utf8');
    return `${fieldName}: ${appendSignature(unsigned, await signBytes(covered, key))}\r\n`;
  });
  return (await Promise.all(fields)).join('');
}

function buildTags(key: DkimKey, at: Date, digest: string): string[] {
  return [
    'v=1;',
    `a=${key.algorithm};`,
    'c=relaxed/relaxed;',
    `d=${key.domain};`,
    `s=${key.selector};`,
    `t=${Math.floor(at.getTime() / 1000)};`,
    `bh=${digest};`,
  ];
}

function mustFit(key: DkimKey): void {
  const type = key.privateKey.asymmetricKeyType;
  if (type !== (key.algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519')) {
    throw new Error(
      `the DKIM key ${key.selector}._domainkey.${key.domain} is ${type}, which cannot sign ${key.algorithm}`,
    );
  }
  const bits = key.privateKey.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < rsaBitsMin) {
    throw new Error(
      `the DKIM key ${key.selector}._domainkey.${key.domain} has ${bits} bits; verifiers ignore less than ${rsaBitsMin}`,
    );
  }
}

/** Returns the text of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1, RFC 8463 §4). */
export function dkimPublicRecord(publicKey: KeyObject): string {
  const type = publicKey.asymmetricKeyType;
  if (type === 'rsa')
    return `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
  if (type === 'ed25519') {
    // The bare 32 bytes; RSA publishes the whole SubjectPublicKeyInfo.
    const { x } = publicKey.export({ format: 'jwk' });
    return `v=DKIM1; k=ed25519; p=${Buffer.from(x ?? '', 'base64url').toString('base64')}`;
  }
  throw new Error(`the DKIM key is ${type}, not RSA or Ed25519`);
}
