import { timingSafeEqual } from 'node:crypto';
import { isWebAddress } from './track-html.ts';

/** A keyed hash, with a separate key for each purpose; its first 12 bytes are used. */
export type Mac = (bytes: Buffer) => Buffer;

/** The mail that contains a tracked address. */
export interface TrackedMail {
  emailId: string;
  /** The domain whose tracking host the address is on; older addresses do not contain it. */
  domainId?: string | undefined;
}

export type MailOfDomain = TrackedMail & { domainId: string };

export interface Click extends TrackedMail {
  target: string;
}

const MAC_BYTES = 12;
const ID_BYTES = 16;
const MAIL_BYTES = 2 * ID_BYTES;
const HEAD_BYTES = MAC_BYTES + ID_BYTES;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Encodes MAC, ids of email and domain, and target in base64url: it needs no table, and is valid as long as the key.
 */
export const clickToken = (click: Click & MailOfDomain, mac: Mac): string =>
  seal(Buffer.concat([mailBytes(click), Buffer.from(click.target)]), mac);

/**
 * Accepts only what `clickToken` produced with the same key, letter for letter: anything else would be an open
 * redirect.
 */
export const readClickToken = (token: string, mac: Mac): Click | undefined =>
  readClick(open(token, mac), MAIL_BYTES, (bytes) => ({
    emailId: uuidAt(bytes, 0),
    domainId: uuidAt(bytes, ID_BYTES),
  }));

/** Reads a token from before tokens contained the domain. */
export const readOlderClickToken = (token: string, mac: Mac): Click | undefined =>
  readClick(open(token, mac), ID_BYTES, (bytes) => ({ emailId: uuidAt(bytes, 0) }));

function readClick(
  bytes: Buffer | undefined,
  headBytes: number,
  readMail: (bytes: Buffer) => TrackedMail,
): Click | undefined {
  if (!bytes || bytes.length <= headBytes) return undefined;
  const target = bytes.toString('utf8', headBytes);
  return isWebAddress(target) ? { ...readMail(bytes), target } : undefined;
}

export const openToken = (mail: MailOfDomain, mac: Mac): string => seal(mailBytes(mail), mac);

export function readOpenToken(token: string, mac: Mac): TrackedMail | undefined {
  const bytes = open(token, mac);
  return bytes?.length === MAIL_BYTES ? { emailId: uuidAt(bytes, 0), domainId: uuidAt(bytes, ID_BYTES) } : undefined;
}

export function readOlderOpenToken(token: string, mac: Mac): TrackedMail | undefined {
  const bytes = open(token, mac);
  return bytes?.length === ID_BYTES ? { emailId: uuidAt(bytes, 0) } : undefined;
}

function seal(content: Buffer, mac: Mac): string {
  return Buffer.concat([mac(content).subarray(0, MAC_BYTES), content]).toString('base64url');
}

function open(token: string, mac: Mac): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Node skips characters that are not base64url, and the last letter has spare bits: reject any other spelling.
  if (bytes.length < HEAD_BYTES || bytes.toString('base64url') !== token) return undefined;
  const content = bytes.subarray(MAC_BYTES);
  const isGenuine = timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(content).subarray(0, MAC_BYTES));
  return isGenuine ? content : undefined;
}

const mailBytes = ({ emailId, domainId }: MailOfDomain): Buffer => Buffer.concat([idBytes(emailId), idBytes(domainId)]);

function idBytes(id: string): Buffer {
  if (!UUID.test(id)) throw new Error(`a tracked link was requested for ${id}, which is not a UUID`);
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function uuidAt(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
