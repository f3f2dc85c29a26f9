import { timingSafeEqual } from 'node:crypto';
import { splitAddress, type Mac } from '../address/index.ts';

/** Whoever answers later than that begins anew. */
export const REPLY_ADDRESS_DAYS = 400;

/** Whose answers an address of ours takes. Both ids are UUIDs. */
export interface ReplyTarget {
  inboxId: string;
  threadId: string;
}

/** Base32 of one letter case: programs fold local parts. */
const ALPHABET = '0123456789abcdefghijklmnopqrstuv';
const ID_CHARS = 26;
const DAY_CHARS = 2;
/** 70 bits, tried one mail at a time. */
const MAC_CHARS = 14;
const LOCAL_CHARS_MAX = 64;
const DAY_MS = 86_400_000;
const DAYS_ROUND = 1024;
const TOKEN = new RegExp(`^r([0-9a-v]{${ID_CHARS}})([0-9a-v]{${DAY_CHARS}})([0-9a-v]{${MAC_CHARS}})$`);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * `support+r….@example.com`: the address of the inbox with a signed thread in it, to which answers come back when a program
 * leaves In-Reply-To and References out. Undefined where the local part would be longer than RFC 5321 allows.
 */
export function replyAddress(address: string, target: ReplyTarget, { now, mac }: { now: number; mac: Mac }) {
  const parts = splitAddress(address);
  if (!parts || !UUID.test(target.threadId)) return undefined;
  const thread = base32(Buffer.from(target.threadId.replaceAll('-', ''), 'hex'), ID_CHARS);
  const day = ALPHABET.charAt(dayOf(now) >> 5) + ALPHABET.charAt(dayOf(now) & 31);
  const local = `${parts.local}+r${thread}${day}${macOf(target.inboxId, thread, day, mac)}`;
  const isFit = Buffer.byteLength(local) <= LOCAL_CHARS_MAX && !parts.local.includes('"');
  return isFit ? `${local}@${parts.domain}` : undefined;
}

/** The thread that an address names, if we made it for this inbox and it has not run out. The domain is the router's to check. */
export function threadOfReplyAddress(
  address: string,
  inboxId: string,
  { now, macs }: { now: number; macs: readonly Mac[] },
): string | undefined {
  const local = splitAddress(address)?.local.toLowerCase() ?? '';
  const [, thread, day, given] = TOKEN.exec(local.slice(local.lastIndexOf('+') + 1)) ?? [];
  if (thread === undefined || day === undefined || given === undefined || !local.includes('+')) return undefined;
  const expected = macs.map((mac) => Buffer.from(macOf(inboxId, thread, day, mac)));
  if (!expected.some((one) => timingSafeEqual(one, Buffer.from(given)))) return undefined;
  const age = (dayOf(now) - dayNumber(day) + DAYS_ROUND) % DAYS_ROUND;
  return age > REPLY_ADDRESS_DAYS ? undefined : uuidOf(thread);
}

/** The address of the inbox that a reply address stands for; any other address as it is. */
export function withoutReplyToken(address: string): string {
  const parts = splitAddress(address);
  const plus = parts?.local.lastIndexOf('+') ?? -1;
  if (!parts || plus < 1 || !TOKEN.test(parts.local.slice(plus + 1).toLowerCase())) return address;
  return `${parts.local.slice(0, plus)}@${parts.domain}`;
}

function macOf(inboxId: string, thread: string, day: string, mac: Mac): string {
  return base32(mac(Buffer.from(`${inboxId} ${thread} ${day}`)), MAC_CHARS);
}

function base32(bytes: Buffer, chars: number): string {
  let text = '';
  for (let index = 0; index < chars; index += 1) {
    const bit = index * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    text += ALPHABET.charAt((pair >> (11 - (bit & 7))) & 31);
  }
  return text;
}

function uuidOf(text: string): string {
  let bits = 0n;
  for (const char of text) bits = (bits << 5n) | BigInt(ALPHABET.indexOf(char));
  const hex = (bits >> 2n).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const dayOf = (now: number): number => Math.floor(now / DAY_MS) % DAYS_ROUND;
const dayNumber = (day: string): number => ALPHABET.indexOf(day.charAt(0)) * 32 + ALPHABET.indexOf(day.charAt(1));
