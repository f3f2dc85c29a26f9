import PostalMime, { decodeWords, type Attachment, type Email } from 'postal-mime';
import { plainLines } from './body-lines.ts';
import { countParts } from './count-parts.ts';
import { fileNameLine, oneLine } from '../mime-read/index.ts';
import { headOf } from './head-of.ts';
import { withoutLargeFiles } from './large-files.ts';
import { mailboxesOf } from './mailboxes.ts';
import { MessageParser } from './message-parser.ts';

export interface ReadLimits {
  /** Parts within parts. */
  depthMax: number;
  /** Headers of all parts together. */
  headerBytesMax: number;
  partsMax: number;
}

/** What stands at the top of a message; of one that cannot be read, as much of it as can. */
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
  /** Without angle brackets, as a `cid:` URL names it. */
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
  // Parts within parts are delimited as well, so that some more are no abuse yet.
  if (countParts(raw, limits.partsMax * 2) > limits.partsMax * 2) {
    return unread(raw, `it has more than ${limits.partsMax} parts`);
  }
  try {
    const email = await new MessageParser({
      // A message inside a message is a file of it: its text is not what the sender of the outer one says.
      forceRfc822Attachments: true,
      maxNestingDepth: limits.depthMax,
      maxHeadersSize: limits.headerBytesMax,
    }).parse(isWhole(raw) ? raw.buffer : raw);
    if (email.attachments.length > limits.partsMax) {
      return await unread(raw, `it has more than ${limits.partsMax} parts`);
    }
    const text = email.text ?? (email.html === undefined && email.attachments.length === 0 ? bodyOf(raw) : null);
    return {
      isRead: true,
      ...headFrom(email),
      headers: headersOf(email),
      html: email.html === undefined ? null : storable(email.html),
      text: text === null ? null : storable(text),
      parts: email.attachments.map(partOf),
    };
  } catch (error) {
    return unread(raw, error instanceof Error ? error.message : String(error));
  }
}

/** Of a part of a buffer the parser makes a copy. */
const isWhole = (raw: Uint8Array): raw is Uint8Array<ArrayBuffer> =>
  raw.buffer instanceof ArrayBuffer && raw.length === raw.buffer.byteLength;

/** As it stands: where no part is found, as behind a boundary that never comes, somebody has still written something. */
function bodyOf(raw: Uint8Array): string | null {
  const all = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const starts = ['\r\n\r\n', '\n\n'].map((blank) => ({ blank, at: all.indexOf(blank) })).filter(({ at }) => at >= 0);
  const first = starts.sort((a, b) => a.at - b.at)[0];
  if (!first) return null;
  // Line ends are changed in bytes: in a string, each of millions would be an object.
  const lines = plainLines(all, first.at + first.blank.length, all.length);
  const body = Buffer.from(lines.buffer, lines.byteOffset, lines.length).toString('utf8');
  return body.trim() === '' ? null : body;
}

async function unread(raw: Uint8Array, because: string): Promise<MessageReading> {
  const head = await PostalMime.parse(headOf(raw))
    .then(headFrom)
    .catch(() => NO_HEAD);
  return { isRead: false, because, ...head };
}

const NO_HEAD: MessageHead = { from: '', to: [], cc: [], bcc: [], replyTo: [], subject: '', messageId: '' };

const headFrom = (email: Email): MessageHead => ({
  from: mailboxesOf(email.from ? [email.from] : [])[0] ?? '',
  to: mailboxesOf(email.to),
  cc: mailboxesOf(email.cc),
  bcc: mailboxesOf(email.bcc),
  replyTo: mailboxesOf(email.replyTo),
  subject: oneLine(email.subject ?? ''),
  messageId: oneLine(email.messageId ?? ''),
});

/** Null-prototype, or a header called `__proto__` would be none. */
function headersOf(email: Email): Record<string, string> {
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

function partOf(part: Attachment): MessagePart {
  const { filename, mimeType, disposition, contentId, content } = part;
  const type = mimeType.toLowerCase();
  const name = bounded(fileNameLine(filename ?? ''));
  const id = contentId === undefined ? '' : bounded(oneLine(decodeWords(contentId)).replace(/^<|>$/g, ''));
  return {
    filename: name === '' ? null : name,
    contentType: TYPE_FORM.test(type) ? type : 'application/octet-stream',
    disposition: disposition === 'inline' || disposition === 'attachment' ? disposition : null,
    ...(id === '' ? {} : { contentId: id }),
    content: bytesOf(content),
  };
}

const bytesOf = (content: Attachment['content']): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content);

const bounded = (text: string): string => text.slice(0, NAME_CHARS_MAX).toWellFormed();

/** PostgreSQL takes no NUL in a text, and UTF-8 no half of a surrogate pair. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
