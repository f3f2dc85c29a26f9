import PostalMime, { decodeWords, type Attachment, type Email, type Address, type Mailbox } from 'postal-mime';
import { plainLines, MessageParser } from './message-parser.ts';
import { fileNameLine, oneLine, shortLine } from '../mime-read/index.ts';
import { withoutLargeFiles } from './large-files.ts';
import { formatMailbox, formatPhrase, parseAddress, quoteString, splitAddress } from '../address/index.ts';

const BOUNDARY = /boundary\s*=\s*(?:"((?:[^"\\]|\\.){1,256})"|([^\s;"]{1,256}))/gi;
const LF = 10;
const LINE_CHARS_MAX = 300;
/** Searched in windows, because a large message as one string would take as much memory again. */
const WINDOW_BYTES = 1024 * 1024;
/** Windows overlap by more than the length of a parameter. */
const OVERLAP_BYTES = 4096;

/**
 * Counts the delimiters of parts, up to `max`: a parser has built the parts before it can count them. A text with lines
 * of hyphens has no delimiters.
 */
function countParts(raw: Uint8Array, max: number): number {
  const all = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const boundaries = boundariesIn(all);
  if (boundaries.size === 0) return 0;
  let count = 0;
  for (let at = all.indexOf('\n--'); at >= 0 && count <= max; at = all.indexOf('\n--', at + 3)) {
    const lf = all.indexOf(LF, at + 3);
    const end = Math.min(lf < 0 ? all.length : lf, at + 3 + LINE_CHARS_MAX);
    const line = all.toString('latin1', at + 3, end);
    if (boundaries.has(line.trimEnd())) count++;
  }
  return count;
}

function boundariesIn(all: Buffer): Set<string> {
  const boundaries = new Set<string>();
  for (let from = 0; from < all.length; from += WINDOW_BYTES) {
    const text = all.toString('latin1', from, from + WINDOW_BYTES + OVERLAP_BYTES);
    for (const [, quoted, bare = ''] of text.matchAll(BOUNDARY)) {
      boundaries.add((quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1')).trimEnd());
    }
  }
  return boundaries;
}

const HEAD_BYTES_MAX = 64 * 1024;
const FIELDS = new Set(['from', 'to', 'cc', 'bcc', 'reply-to', 'subject', 'message-id']);

/**
 * Keeps the first field of each kind that names the sender, the recipients, the subject or the message id, and no
 * field that says how to parse the body.
 */
function extractHead(raw: Uint8Array): string {
  const top = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, HEAD_BYTES_MAX)).toString('utf8');
  const kept: string[] = [];
  const seen = new Set<string>();
  let isKept = false;
  for (const line of top.split(/\r?\n/)) {
    if (line === '') break;
    if (/^[ \t]/.test(line)) {
      if (isKept) kept.push(line);
      continue;
    }
    const name = line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();
    isKept = FIELDS.has(name) && !seen.has(name);
    if (!isKept) continue;
    seen.add(name);
    kept.push(line);
  }
  return `${kept.join('\r\n')}\r\n\r\n`;
}

/** Maximum for one header field; the source has all of them. */
const ADDRESSES_MAX = 1000;
/**
 * With every character escaped and an address after it, the name still fits in one line of a header (RFC 5322 §2.1.1).
 */
const NAME_BYTES_MAX = 350;

/**
 * Formats each mailbox as RFC 5322 does, so that every program reads exactly one and the same mailbox. Groups (§3.4)
 * are replaced by their members.
 */
function formatMailboxes(addresses: readonly Address[] = []): string[] {
  const mailboxes = addresses.flatMap((entry) => (entry.group === undefined ? [entry] : entry.group));
  return mailboxes
    .filter(({ name, address }) => name !== '' || address !== '')
    .slice(0, ADDRESSES_MAX)
    .map(written)
    .filter((text) => text !== '');
}

function written(mailbox: Mailbox): string {
  const name = shortLine(mailbox.name, NAME_BYTES_MAX);
  const line = oneLine(mailbox.address);
  const address = toReadableAddress(line);
  if (address !== undefined) return formatMailbox({ name, address });
  // An invalid address is shown as part of the display name.
  const words = shortLine([name, line].filter((text) => text !== '').join(' '), NAME_BYTES_MAX);
  return words === '' ? '' : formatPhrase(words);
}

/** The parser removes the quotes around a local part. */
function toReadableAddress(text: string): string | undefined {
  if (parseAddress(text, { allowSingleLabel: true }).ok) return text;
  const split = splitAddress(text);
  if (!split) return undefined;
  const quoted = `${quoteString(split.local)}@${split.domain}`;
  if (parseAddress(quoted, { allowSingleLabel: true }).ok) return quoted;
  // We may not be able to send to it, for example to an address literal, but nothing in it breaks the list.
  return PLAIN_ADDRESS.test(text) ? text : undefined;
}

const PLAIN_ADDRESS = /^[^\s"(),:;<>@[\\\]]+@(?:[^\s"(),:;<>@[\\\]]+|\[[\w.:-]+\])$/;

export interface ReadLimits {
  /** Maximum nesting of parts. */
  depthMax: number;
  /** Maximum size of the headers of all parts together. */
  headerBytesMax: number;
  partsMax: number;
}

/** The fields at the top of a message; for a message that cannot be parsed, those that can be read. */
export interface MessageHead {
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  replyTo: string[];
  subject: string;
  messageId: string;
}

export interface MessagePart {
  filename: string | null;
  contentType: string;
  disposition: string | null;
  /** Without angle brackets, as in a `cid:` URL. */
  contentId?: string;
  content: Uint8Array;
}

export type MessageReading = MessageHead &
  (
    | { isRead: true; headers: Record<string, string>; html: string | null; text: string | null; parts: MessagePart[] }
    | { isRead: false; because: string }
  );

const NAME_CHARS_MAX = 1000;
const TYPE_FORM = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

export async function readMessage(raw: Uint8Array, limits: ReadLimits): Promise<MessageReading> {
  const light = withoutLargeFiles(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  if (!light) return readWhole(raw, limits);
  const reading = await readWhole(light.raw, limits);
  return !reading.isRead || light.restore(reading.parts) ? reading : readWhole(raw, limits);
}

async function readWhole(raw: Uint8Array, limits: ReadLimits): Promise<MessageReading> {
  // Nested multiparts have delimiters as well, so allow for some more.
  if (countParts(raw, limits.partsMax * 2) > limits.partsMax * 2) {
    return unread(raw, `it has more than ${limits.partsMax} parts`);
  }
  try {
    const email = await new MessageParser({
      // An enclosed message is a file: its text is not a statement of the outer message's sender.
      forceRfc822Attachments: true,
      maxNestingDepth: limits.depthMax,
      maxHeadersSize: limits.headerBytesMax,
    }).parse(isWhole(raw) ? raw.buffer : raw);
    if (email.attachments.length > limits.partsMax) {
      return await unread(raw, `it has more than ${limits.partsMax} parts`);
    }
    const text = email.text ?? (email.html === undefined && email.attachments.length === 0 ? readRawBody(raw) : null);
    return {
      isRead: true,
      ...headFrom(email),
      headers: buildHeaders(email),
      html: email.html === undefined ? null : storable(email.html),
      text: text === null ? null : storable(text),
      parts: email.attachments.map(toPart),
    };
  } catch (error) {
    return unread(raw, error instanceof Error ? error.message : String(error));
  }
}

/** The parser copies a view of a buffer, but not a whole buffer. */
const isWhole = (raw: Uint8Array): raw is Uint8Array<ArrayBuffer> =>
  raw.buffer instanceof ArrayBuffer && raw.length === raw.buffer.byteLength;

/**
 * Returns the raw body. If no part is found, for example because the boundary never occurs, there may still be text
 * that somebody wrote.
 */
function readRawBody(raw: Uint8Array): string | null {
  const all = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const starts = ['\r\n\r\n', '\n\n'].map((blank) => ({ blank, at: all.indexOf(blank) })).filter(({ at }) => at >= 0);
  const first = starts.sort((a, b) => a.at - b.at)[0];
  if (!first) return null;
  // Convert line ends in bytes: in a string, each of millions would be an object.
  const lines = plainLines(all, first.at + first.blank.length, all.length);
  const body = Buffer.from(lines.buffer, lines.byteOffset, lines.length).toString('utf8');
  return body.trim() === '' ? null : body;
}

async function unread(raw: Uint8Array, because: string): Promise<MessageReading> {
  const head = await PostalMime.parse(extractHead(raw))
    .then(headFrom)
    .catch(() => NO_HEAD);
  return { isRead: false, because, ...head };
}

const NO_HEAD: MessageHead = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

const headFrom = (email: Email): MessageHead => ({
  from: formatMailboxes(email.from ? [email.from] : [])[0] ?? '',
  to: formatMailboxes(email.to),
  cc: formatMailboxes(email.cc),
  bcc: formatMailboxes(email.bcc),
  replyTo: formatMailboxes(email.replyTo),
  subject: oneLine(email.subject ?? ''),
  messageId: oneLine(email.messageId ?? ''),
});

/** Returns an object without a prototype, so that a header called `__proto__` is kept. */
function buildHeaders(email: Email): Record<string, string> {
  const values = new Map<string, string[]>();
  for (const { key, value } of email.headers) {
    const name = storable(key);
    const among = values.get(name);
    if (among) among.push(storable(value));
    else values.set(name, [storable(value)]);
  }
  return Object.assign(
    Object.create(null) as Record<string, string>,
    Object.fromEntries([...values].map(([name, all]) => [name, all.join('\n')])),
  );
}

function toPart(part: Attachment): MessagePart {
  const { filename, mimeType, disposition, contentId, content } = part;
  const type = mimeType.toLowerCase();
  const name = bounded(fileNameLine(filename ?? ''));
  const id = contentId === undefined ? '' : bounded(oneLine(decodeWords(contentId)).replace(/^<|>$/g, ''));
  return {
    filename: name === '' ? null : name,
    contentType: TYPE_FORM.test(type) ? type : 'application/octet-stream',
    disposition: disposition === 'inline' || disposition === 'attachment' ? disposition : null,
    ...(id === '' ? {} : { contentId: id }),
    content: toBytes(content),
  };
}

const toBytes = (content: Attachment['content']): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);

const bounded = (text: string): string => text.slice(0, NAME_CHARS_MAX).toWellFormed();

/** PostgreSQL accepts no NUL in a text, and UTF-8 has no lone surrogates. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
