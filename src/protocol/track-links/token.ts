import { timingSafeEqual } from 'node:crypto';
import { isWebAddress } from './track-html.ts';

/** A keyed hash, with a key of its own for each purpose; the first 12 bytes of it are used. */
export type Mac = (bytes: Buffer) => Buffer;

export interface Click {
  emailId: string;
  target: string;
}

const MAC_BYTES = 12;
const ID_BYTES = 16;
const HEAD_BYTES = MAC_BYTES + ID_BYTES;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** MAC, email id and target in base64url: it needs no table, and works for as long as the key does. */
export const clickToken = ({ emailId, target }: Click, mac: Mac): string =>
  seal(Buffer.concat([idBytes(emailId), Buffer.from(target)]), mac);

/** Only what `clickToken` made with the same key, letter for letter: anything else would be an open redirect. */
export function readClickToken(token: string, mac: Mac): Click | undefined {
  const bytes = open(token, mac);
  if (!bytes || bytes.length === ID_BYTES) return undefined;
  const target = bytes.toString('utf8', ID_BYTES);
  return isWebAddress(target) ? { emailId: uuidOf(bytes), target } : undefined;
}

export const openToken = (emailId: string, mac: Mac): string => seal(idBytes(emailId), mac);

/** The id of the email. */
export function readOpenToken(token: string, mac: Mac): string | undefined {
  const bytes = open(token, mac);
  return bytes?.length === ID_BYTES ? uuidOf(bytes) : undefined;
}

function seal(content: Buffer, mac: Mac): string {
  return Buffer.concat([mac(content).subarray(0, MAC_BYTES), content]).toString('base64url');
}

function open(token: string, mac: Mac): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Node skips what is no base64url, and the last letter has spare bits: another spelling is another token.
  if (bytes.length < HEAD_BYTES || bytes.toString('base64url') !== token) return undefined;
  const content = bytes.subarray(MAC_BYTES);
  const isGenuine = timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(content).subarray(0, MAC_BYTES));
  return isGenuine ? content : undefined;
}

function idBytes(emailId: string): Buffer {
  if (!UUID.test(emailId)) throw new Error(`a tracked link is made for a UUID, not for ${emailId}`);
  return Buffer.from(emailId.replaceAll('-', ''), 'hex');
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
