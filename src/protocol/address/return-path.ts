import { createHash, timingSafeEqual } from 'node:crypto';

// RFC 4648 §7, in one letter case: some receivers fold the local part of an address.
const alphabet = '0123456789abcdefghijklmnopqrstuv';

/** Encodes the beginning of `bytes` as `chars` characters. */
export function base32hex(bytes: Buffer, chars: number): string {
  let text = '';
  for (let index = 0; index < chars; index += 1) {
    const bit = index * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    text += alphabet.charAt((pair >> (11 - (bit & 7))) & 31);
  }
  return text;
}

export function fromBase32hex(text: string): Buffer {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  for (let index = 0; index < text.length; index += 1) {
    const bit = index * 5;
    const value = alphabet.indexOf(text.charAt(index)) << (11 - (bit & 7));
    const at = bit >> 3;
    bytes[at] = (bytes[at] ?? 0) | (value >> 8);
    if (at + 1 < bytes.length) bytes[at + 1] = (bytes[at + 1] ?? 0) | (value & 255);
  }
  return bytes;
}

export function uuidOfBytes(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A keyed hash chosen by the caller; at least seven bytes of it are used. */
export type Mac = (bytes: Buffer) => Buffer;

export type ReturnPathInput = { prefix: string; emailId: string; domain: string; mac: Mac };

export type ReturnPath = { prefix: string; emailId: string; mac: string };

const idChars = 26;
const macChars = 10;
const localCharsMax = 64;
const prefixCharsMax = localCharsMax - idChars - macChars - 2;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const prefixShape = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const localShape = new RegExp(`^(.{1,${prefixCharsMax}})-([0-9a-v]{${idChars}})-([0-9a-v]{${macChars}})$`);

/**
 * Formats the envelope sender of one email. A bounce is attributed by this address alone, because everything inside a
 * bounce can be forged. The MAC covers the prefix too, so that a token serves one purpose only.
 */
export function formatReturnPath(input: ReturnPathInput): string {
  const { prefix, emailId, domain, mac } = input;
  if (!prefixShape.test(prefix) || prefix.length > prefixCharsMax) {
    throw new Error(
      `the return path prefix ${prefix} is not 1-${prefixCharsMax} lower-case letters, digits and hyphens`,
    );
  }
  if (!uuid.test(emailId)) throw new Error(`a return path was requested for ${emailId}, which is not a UUID`);
  const id = Buffer.from(emailId.replaceAll('-', ''), 'hex');
  return `${prefix}-${base32hex(id, idChars)}-${computeMac(prefix, id, mac)}@${domain}`;
}

/** Parses the local part of a return path in any letter case. It does not check the MAC; `isGenuineReturnPath` does. */
export function parseReturnPath(local: string): ReturnPath | undefined {
  const match = localShape.exec(local.toLowerCase());
  const [, prefix, idText, mac] = match ?? [];
  if (prefix === undefined || idText === undefined || mac === undefined || !prefixShape.test(prefix)) return undefined;
  const id = fromBase32hex(idText);
  // 26 characters hold 130 bits; reject a second spelling of the same id.
  if (base32hex(id, idChars) !== idText) return undefined;
  return { prefix, emailId: uuidOfBytes(id), mac };
}

const destinationChars = 8;

/**
 * Returns a separate prefix for each destination of an email, so that the servers of one destination cannot report on
 * recipients of another.
 */
export function returnPathPrefix(purpose: string, destination: string): string {
  const digest = createHash('sha256').update(destination.toLowerCase()).digest();
  return `${purpose}-${base32hex(digest, destinationChars)}`;
}

export function isGenuineReturnPath(path: ReturnPath, mac: Mac): boolean {
  const id = Buffer.from(path.emailId.replaceAll('-', ''), 'hex');
  const given = Buffer.from(path.mac);
  const expected = Buffer.from(computeMac(path.prefix, id, mac));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function computeMac(prefix: string, id: Buffer, mac: Mac): string {
  const digest = mac(Buffer.concat([Buffer.from(prefix), Buffer.of(0), id]));
  if (digest.length < 7) throw new Error('the return path MAC has fewer than seven bytes');
  return base32hex(digest, macChars);
}
