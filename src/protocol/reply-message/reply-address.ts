import { timingSafeEqual } from 'node:crypto';
import { base32hex, fromBase32hex, splitAddress, uuidOfBytes, type Mac } from '../address/index.ts';

/** An answer that comes later than that begins a new thread. */
export const REPLY_ADDRESS_DAYS = 400;

/** Whose answers an address of ours takes. Both ids are UUIDs. */
export interface ReplyTarget {
  inboxId: string;
  threadId: string;
}

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
export function replyAddress(
  address: string,
  target: ReplyTarget,
  { now, mac }: { now: number; mac: Mac },
): string | undefined {
  const parts = splitAddress(address);
  if (!parts || !UUID.test(target.threadId)) return undefined;
  const thread = base32hex(Buffer.from(target.threadId.replaceAll('-', ''), 'hex'), ID_CHARS);
  const day = dayText(dayOf(now));
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
  return age > REPLY_ADDRESS_DAYS ? undefined : uuidOfBytes(fromBase32hex(thread));
}

/** The address of the inbox that a reply address stands for; any other address as it is. */
export function withoutReplyToken(address: string): string {
  const parts = splitAddress(address);
  const plus = parts?.local.lastIndexOf('+') ?? -1;
  if (!parts || plus < 1 || !TOKEN.test(parts.local.slice(plus + 1).toLowerCase())) return address;
  return `${parts.local.slice(0, plus)}@${parts.domain}`;
}

function macOf(inboxId: string, thread: string, day: string, mac: Mac): string {
  return base32hex(mac(Buffer.from(`${inboxId} ${thread} ${day}`)), MAC_CHARS);
}

const dayOf = (now: number): number => Math.floor(now / DAY_MS) % DAYS_ROUND;
/** Ten bits: two characters. */
const dayText = (day: number): string => base32hex(Buffer.of(day >> 2, (day & 3) << 6), DAY_CHARS);
const dayNumber = (text: string): number => {
  // Padded to whole bytes.
  const [high = 0, low = 0] = fromBase32hex(`${text}00`);
  return (high << 2) | (low >> 6);
};
