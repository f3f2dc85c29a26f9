import { hash, sign, type KeyObject } from 'node:crypto';

interface SigningKey {
  privateKey: KeyObject;
  algorithm: 'rsa-sha256' | 'ed25519-sha256';
}

const columnsMax = 78;

/** `h=` in pieces, so that the line can be folded after each colon. */
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

/** The value of a field without its signature: tags folded, and an empty `b=` on a line of its own. */
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
