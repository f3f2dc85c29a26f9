import type { HeaderField } from '../mime/index.ts';
import { shortLine } from '../mime-read/index.ts';
import { SUBJECT_PREFIXES } from './base-subject.ts';
import {
  formatMailbox,
  normalizeAddress,
  parseMailbox,
  base32hex,
  fromBase32hex,
  splitAddress,
  uuidOfBytes,
  type Mailbox,
  type Mac,
} from '../address/index.ts';
import { timingSafeEqual } from 'node:crypto';
import { decodeWords } from 'postal-mime';

/** Characters read from the start of a field. A sender who writes more ids than fit is trying to cause work. */
const FRONT_CHARS = 4 * 1024;
/** Characters read from its end, where RFC 5322 §3.6.4 puts the messages that are closest to the reply. */
const END_CHARS = 32 * 1024;
const ID_CHARS_MAX = 500;

/**
 * A quoted string, a comment without a nested one, or an id, in the innermost of several brackets. White space is
 * stripped later: matching it here could split a thousand blanks in a million ways.
 */
const PIECE = /<([^<>]{1,1000})>|"(?:[^"\\]|\\[^]){0,1000}"|\((?:[^()\\]|\\[^]){0,1000}\)/g;
const BARE_ID = /^[^\s<>(),;:"@]+@[^\s<>(),;:"@]+$/;
const ID = /^[!-~\u{80}-\u{10ffff}]+$/u;

/** Number of ids to take from the start and from the end of a field. */
export interface IdsTaken {
  first: number;
  last: number;
}

/**
 * Returns the distinct ids in Message-ID, In-Reply-To or References (RFC 5322 §3.6.4), without brackets, in order. It
 * accepts what programs write: ids without brackets or in two pairs of them, folded in the middle, between comments and
 * phrases, as encoded words, as HTML. Of a very long field it reads the start and the end.
 */
export function messageIdsIn(field: string, { first, last }: IdsTaken): string[] {
  const isWhole = field.length <= FRONT_CHARS + END_CHARS;
  if (isWhole) return ends(extractIds(field), first, last);
  // Omit an id that the cut goes through, on both sides.
  const front = extractIds(field.slice(0, FRONT_CHARS).replace(/\S+$/, ''));
  const end = extractIds(field.slice(-END_CHARS).replace(/^\S+/, ''));
  return [...new Set([...front.slice(0, first), ...(last === 0 ? [] : end.slice(-last))])];
}

/** The last ids are needed more often than the first, so if the two ranges overlap, none is taken twice. */
const ends = (ids: readonly string[], first: number, last: number): string[] =>
  ids.length <= first + last ? [...ids] : [...ids.slice(0, first), ...ids.slice(ids.length - last)];

function extractIds(text: string): string[] {
  const plain = text.includes('=?') ? decodeWords(text) : text;
  const readable = plain.replaceAll(/&lt;/gi, '<').replaceAll(/&gt;/gi, '>').replaceAll(/<+/g, '<');
  const found: string[] = [];
  for (const [, inside] of readable.matchAll(PIECE)) if (inside !== undefined) found.push(inside);
  if (found.length === 0) found.push(...bareIds(readable));
  return [...new Set(found.map(trimmed).filter((id) => id !== undefined))];
}

/** An id has no white space; any inside one came from folding. */
function trimmed(inside: string): string | undefined {
  const id = inside.replaceAll(/\s+/g, '');
  return id.length <= ID_CHARS_MAX && ID.test(id) && /[^.@]/.test(id) ? id : undefined;
}

/** Finds ids without brackets; only a word that looks like an id counts. */
const bareIds = (text: string): string[] =>
  text
    .replaceAll(/\((?:[^()\\]|\\[^]){0,1000}\)/g, ' ')
    .split(/[\s,;<>]+/)
    .filter((word) => BARE_ID.test(word));

/**
 * [MS-OXOMSG] 2.2.1.3: one reserved byte, five bytes of time, sixteen of the conversation, then five for each reply.
 */
const ROOT_BYTES = 22;
const GUID_AT = 6;
const CHILD_BYTES = 5;
/** Maximum depth of replies to replies; Outlook itself stops when the field gets too long. */
const CHILDREN_MAX = 200;
const FIELD_CHARS_MAX = 2000;
const BASE64 = /^[A-Za-z0-9+/]{28,}={0,2}$/;

/** Ticks of 100 ns from 1601, the epoch of Windows, to 1970. */
const EPOCH_TICKS = 116_444_736_000_000_000n;
const TICKS_PER_MS = 10_000n;
/** The time difference between two replies is stored without its lowest bits: 18 of them below 1.7 years, 23 above. */
const SHORT_SHIFT = 18n;
const LONG_SHIFT = 23n;
const DELTA_BITS = 31n;
const LONG_FLAG = 0x8000_0000n;

export interface ThreadIndex {
  bytes: Buffer;
  /** The part that all messages of a conversation share, in hexadecimal. */
  conversation: string;
}

/** Parses Outlook's Thread-Index; undefined if the field is not valid. */
export function readThreadIndex(field: string): ThreadIndex | undefined {
  const text = field.slice(0, FIELD_CHARS_MAX).replaceAll(/\s+/g, '');
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const children = (bytes.length - ROOT_BYTES) / CHILD_BYTES;
  if (!Number.isInteger(children) || children < 0 || children > CHILDREN_MAX || bytes[0] !== 1) return undefined;
  const guid = bytes.subarray(GUID_AT, ROOT_BYTES);
  return guid.every((byte) => byte === 0) ? undefined : { bytes, conversation: guid.toString('hex') };
}

/** Returns the Thread-Index of a reply: that of the parent message, and a block with the time elapsed since. */
export function childThreadIndex({ bytes }: ThreadIndex, { now, random }: { now: number; random: number }): string {
  if (bytes.length >= ROOT_BYTES + CHILDREN_MAX * CHILD_BYTES) return bytes.toString('base64');
  const root = bytes.readUIntBE(0, GUID_AT);
  const begun = BigInt(root) << 16n;
  const later = BigInt(Math.trunc(now)) * TICKS_PER_MS + EPOCH_TICKS - begun;
  const ticks = later < 0n ? 0n : later;
  const isLong = ticks >> (SHORT_SHIFT + DELTA_BITS) !== 0n;
  const delta = (ticks >> (isLong ? LONG_SHIFT : SHORT_SHIFT)) & (LONG_FLAG - 1n);
  const child = Buffer.alloc(CHILD_BYTES);
  child.writeUInt32BE(Number(delta | (isLong ? LONG_FLAG : 0n)), 0);
  child[CHILD_BYTES - 1] = random & 0xff;
  return Buffer.concat([bytes, child]).toString('base64');
}

/** A received message; headers are keyed by name in lower case. */
export interface AnsweredMessage {
  /** With or without its brackets; null if it has none. */
  messageId: string | null;
  headers: Readonly<Record<string, string>>;
  subject: string;
}

/** One line of a header (RFC 5322 §2.1.1), as callers may set it. */
const REFERENCES_BYTES_MAX = 900;
const IN_REPLY_TO_BYTES_MAX = 700;
const SUBJECT_BYTES_MAX = 800;
const TOPIC_BYTES_MAX = 300;
const PARENT_REFERENCES = { first: 5, last: 30 };
/** A non-ASCII id would be encoded, and then it is not an id any more. */
const WRITABLE = /^[!-;=?-~]+$/;

/**
 * Returns the fields that link a reply to its parent: In-Reply-To and References (RFC 5322 §3.6.4), and for Outlook
 * Thread-Index and Thread-Topic, if the parent has them.
 */
export function replyFields(
  answered: AnsweredMessage,
  { now, random }: { now: number; random: number },
): HeaderField[] {
  const [messageId] = messageIdsIn(answered.messageId ?? '', { first: 1, last: 0 }).filter(isWritable);
  const fields: HeaderField[] = [];
  if (messageId !== undefined) {
    fields.push(['In-Reply-To', `<${messageId}>`], ['References', buildReferences(answered, messageId)]);
  }
  const index = readThreadIndex(answered.headers['thread-index'] ?? '');
  if (!index) return fields;
  const topic = shortLine(answered.headers['thread-topic'] ?? '', TOPIC_BYTES_MAX);
  fields.push(['Thread-Index', childThreadIndex(index, { now, random })]);
  if (topic !== '') fields.push(['Thread-Topic', topic]);
  return fields;
}

const isWritable = (id: string): boolean => WRITABLE.test(id) && id.length <= IN_REPLY_TO_BYTES_MAX;

/** Keeps the first id, where the conversation began, and as many of the last ones as fit in one line. */
function buildReferences({ headers }: AnsweredMessage, messageId: string): string {
  const named = messageIdsIn(headers['references'] ?? '', PARENT_REFERENCES);
  const answered = messageIdsIn(headers['in-reply-to'] ?? '', { first: 2, last: 0 });
  // RFC 5322 §3.6.4: without References, use In-Reply-To if it names exactly one message.
  const before = (named.length > 0 ? named : answered.length === 1 ? answered : []).filter(
    (id) => isWritable(id) && id !== messageId,
  );
  const written = [`<${messageId}>`];
  let bytes = written[0]!.length;
  const takes = (id: string | undefined): boolean => {
    if (id === undefined || bytes + id.length + 3 > REFERENCES_BYTES_MAX) return false;
    bytes += id.length + 3;
    return true;
  };
  const [first, ...later] = before;
  const hasFirst = takes(first);
  while (takes(later.at(-1))) written.unshift(`<${later.pop()}>`);
  return [...(hasFirst ? [`<${first}>`] : []), ...written].join(' ');
}

/**
 * Prefixes a subject with one `Re:`, in place of reply prefixes in any language; a `Fwd:` after them stays, because it
 * describes the parent.
 */
export const replySubject = (subject: string): string =>
  shortLine(`Re: ${withoutPrefixes(subject, [SUBJECT_PREFIXES.automatic, SUBJECT_PREFIXES.reply])}`, SUBJECT_BYTES_MAX);

/** Prefixes a subject with one `Fwd:` and no `Re:`, because for its recipient it is not a reply. */
export const forwardSubject = (subject: string): string =>
  shortLine(`Fwd: ${withoutPrefixes(subject, Object.values(SUBJECT_PREFIXES))}`, SUBJECT_BYTES_MAX);

function withoutPrefixes(subject: string, prefixes: readonly RegExp[]): string {
  let rest = shortLine(subject, SUBJECT_BYTES_MAX);
  for (let length = -1; rest.length !== length;) {
    length = rest.length;
    for (const prefix of prefixes) rest = rest.replace(prefix, '').trimStart();
  }
  return rest;
}

/** A reply that arrives later begins a new thread. */
export const REPLY_ADDRESS_DAYS = 400;

/** The thread that replies to an address belong to. Both ids are UUIDs. */
export interface ReplyTarget {
  inboxId: string;
  threadId: string;
}

const ID_CHARS = 26;
const DAY_CHARS = 2;
/** 70 bits; an attacker needs one mail for each guess. */
const MAC_CHARS = 14;
const LOCAL_CHARS_MAX = 64;
const DAY_MS = 86_400_000;
const DAYS_ROUND = 1024;
const TOKEN = new RegExp(`^r([0-9a-v]{${ID_CHARS}})([0-9a-v]{${DAY_CHARS}})([0-9a-v]{${MAC_CHARS}})$`);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns `support+r….@example.com`: the inbox's address with a signed thread id, by which replies are matched if a
 * program omits In-Reply-To and References. Undefined if the local part would be longer than RFC 5321 allows.
 */
export function replyAddress(
  address: string,
  target: ReplyTarget,
  { now, mac }: { now: number; mac: Mac },
): string | undefined {
  const parts = splitAddress(address);
  if (!parts || !UUID.test(target.threadId)) return undefined;
  const thread = base32hex(Buffer.from(target.threadId.replaceAll('-', ''), 'hex'), ID_CHARS);
  const day = dayText(toDay(now));
  const local = `${parts.local}+r${thread}${day}${computeMac(target.inboxId, thread, day, mac)}`;
  const isFit = Buffer.byteLength(local) <= LOCAL_CHARS_MAX && !parts.local.includes('"');
  return isFit ? `${local}@${parts.domain}` : undefined;
}

/**
 * Returns the thread that an address names, if we signed it for this inbox and it has not expired. The caller checks
 * the domain.
 */
export function threadOfReplyAddress(
  address: string,
  inboxId: string,
  { now, macs }: { now: number; macs: readonly Mac[] },
): string | undefined {
  const local = splitAddress(address)?.local.toLowerCase() ?? '';
  const [, thread, day, given] = TOKEN.exec(local.slice(local.lastIndexOf('+') + 1)) ?? [];
  if (thread === undefined || day === undefined || given === undefined || !local.includes('+')) return undefined;
  const expected = macs.map((mac) => Buffer.from(computeMac(inboxId, thread, day, mac)));
  if (!expected.some((one) => timingSafeEqual(one, Buffer.from(given)))) return undefined;
  const age = (toDay(now) - dayNumber(day) + DAYS_ROUND) % DAYS_ROUND;
  return age > REPLY_ADDRESS_DAYS ? undefined : uuidOfBytes(fromBase32hex(thread));
}

/** Returns the inbox's address for a reply address, and any other address unchanged. */
export function withoutReplyToken(address: string): string {
  const parts = splitAddress(address);
  const plus = parts?.local.lastIndexOf('+') ?? -1;
  if (!parts || plus < 1 || !TOKEN.test(parts.local.slice(plus + 1).toLowerCase())) return address;
  return `${parts.local.slice(0, plus)}@${parts.domain}`;
}

function computeMac(inboxId: string, thread: string, day: string, mac: Mac): string {
  return base32hex(mac(Buffer.from(`${inboxId} ${thread} ${day}`)), MAC_CHARS);
}

const toDay = (now: number): number => Math.floor(now / DAY_MS) % DAYS_ROUND;
/** Ten bits: two characters. */
const dayText = (day: number): string => base32hex(Buffer.of(day >> 2, (day & 3) << 6), DAY_CHARS);
const dayNumber = (text: string): number => {
  // Pad to whole bytes.
  const [high = 0, low = 0] = fromBase32hex(`${text}00`);
  return (high << 2) | (low >> 6);
};

/** The mailboxes of a message that is being replied to, as they are shown. */
export interface Correspondents {
  from: string;
  replyTo: readonly string[];
  to: readonly string[];
  cc: readonly string[];
}

/**
 * Returns the recipients of a reply: Reply-To, or else From; for a message of our own, its recipients. With `all`, the
 * others get a copy. The addresses of the inbox (normalized) are omitted, also with a reply token, so that it does not
 * write to itself, not even if an untrusted sender names it in Reply-To. Mail-Followup-To is ignored: it is not a
 * standard, nobody sees it, and it would let an untrusted sender choose to whom a company writes.
 */
export function replyRecipients(
  answered: Correspondents,
  { own, all }: { own: ReadonlySet<string>; all: boolean },
): { to: string[]; cc: string[] } {
  const seen = new Set<string>();
  const take = (written: readonly string[]): string[] => written.flatMap((one) => taken(one, own, seen));
  const candidates = [answered.replyTo, [answered.from], answered.to];
  let to: string[] = [];
  for (const written of candidates) if (to.length === 0) to = take(written);
  return { to, cc: all ? take([...answered.to, ...answered.cc]) : [] };
}

function taken(written: string, own: ReadonlySet<string>, seen: Set<string>): string[] {
  const parsed = parseMailbox(written);
  if (!parsed.ok) return [];
  const key = normalizeAddress(parsed.mailbox.address);
  if (seen.has(key) || own.has(key) || own.has(withoutReplyToken(key))) return [];
  seen.add(key);
  return [formatMailbox(plainName(parsed.mailbox))];
}

/**
 * A name that is an address would suggest another recipient than the actual one; bidirectional marks would reorder a
 * name.
 */
function plainName(mailbox: Mailbox): Mailbox {
  const name = mailbox.name.replaceAll(/\p{Bidi_Control}+/gu, '').trim();
  return { ...mailbox, name: name.includes('@') ? '' : name };
}
