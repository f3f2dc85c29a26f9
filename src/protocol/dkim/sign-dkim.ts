import type { KeyObject } from 'node:crypto';
import type { HeaderField } from '../mime/index.ts';
import { bodyHash } from './body-hash.ts';
import { appendSignature, foldTags, listTag, signBytes } from './signature-field.ts';
import { canonicalField, selectSignedHeaders } from './signed-headers.ts';

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256';

export type DkimKey = { domain: string; selector: string; privateKey: KeyObject; algorithm: DkimAlgorithm };

export type DkimMessage = {
  headers: readonly HeaderField[];
  keys: readonly DkimKey[];
  at: Date;
  /** `bodyHash` is that of a body that does not stand in memory, or that is signed under several header blocks. */
} & ({ body: Buffer; bodyHash?: string } | { bodyHash: string });

const rsaBitsMin = 1024;
const fieldName = 'DKIM-Signature';

/** One `DKIM-Signature: …` field with its CRLF for each key, in the order of the keys, to stand in front of the message. */
export async function signDkim(message: DkimMessage): Promise<string> {
  if (message.keys.length === 0) return '';
  const signed = selectSignedHeaders(message.headers);
  const digest = 'body' in message ? (message.bodyHash ?? bodyHash(message.body)) : message.bodyHash;
  const fields = message.keys.map(async (key) => {
    mustFit(key);
    const unsigned = foldTags(fieldName, [...tagsOf(key, message.at, digest), ...listTag(signed.names)]);
    // The field covers itself with an empty b= and without its CRLF (RFC 6376 §3.7).
    const covered = Buffer.from(`${signed.canonical}${canonicalField('dkim-signature', unsigned)}`, 'utf8');
    return `${fieldName}: ${appendSignature(unsigned, await signBytes(covered, key))}\r\n`;
  });
  return (await Promise.all(fields)).join('');
}

function tagsOf(key: DkimKey, at: Date, digest: string): string[] {
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
