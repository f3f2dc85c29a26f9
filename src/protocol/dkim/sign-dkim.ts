import { hash, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { HeaderField } from '../mime/index.ts';
import { bodyHash } from './body-hash.ts';
import { canonicalField, selectSignedHeaders } from './signed-headers.ts';

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256';

export type DkimKey = { domain: string; selector: string; privateKey: KeyObject; algorithm: DkimAlgorithm };

export type DkimMessage = {
  headers: readonly HeaderField[];
  keys: readonly DkimKey[];
  at: Date;
  /** `bodyHash` is that of a body that does not stand in memory, or that is signed under several header blocks. */
} & ({ body: Buffer; bodyHash?: string } | { bodyHash: string });

const columnsMax = 78;
const rsaBitsMin = 1024;
const fieldName = 'DKIM-Signature';

/** One `DKIM-Signature: …` field with its CRLF for each key, in the order of the keys, to stand in front of the message. */
export async function signDkim(message: DkimMessage): Promise<string> {
  if (message.keys.length === 0) return '';
  const signed = selectSignedHeaders(message.headers);
  const digest = 'body' in message ? (message.bodyHash ?? bodyHash(message.body)) : message.bodyHash;
  const fields = message.keys.map(async (key) => {
    mustFit(key);
    const unsigned = fold([...tagsOf(key, message.at, digest), ...listTag(signed.names)], `b=`);
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

/** `h=` in pieces, so that the line can be folded after each colon. */
function listTag(names: readonly string[]): string[] {
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

function fold(pieces: readonly string[], last: string): string {
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

function appendSignature(unsigned: string, signature: Buffer): string {
  const base64 = signature.toString('base64');
  let text = `${unsigned}${base64.slice(0, 74)}`;
  for (let at = 74; at < base64.length; at += 76) text += `\r\n ${base64.slice(at, at + 76)}`;
  return text;
}

function signBytes(covered: Buffer, key: DkimKey): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer): void => (error ? reject(error) : resolve(signature));
    if (key.algorithm === 'rsa-sha256') sign('sha256', covered, key.privateKey, done);
    // RFC 8463 §3: Ed25519 signs the SHA-256 of the data, not the data.
    else sign(null, hash('sha256', covered, 'buffer'), key.privateKey, done);
  });
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
