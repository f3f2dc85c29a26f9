import { formatMailbox, parseMailbox, quoteString, type Mailbox } from '../address/index.ts';

const encodedWordCharsMax = 75;
// "=?UTF-8?B?" and "?=".
const frameChars = 12;
const frameQ = '=?UTF-8?Q?';
const frameB = '=?UTF-8?B?';

// RFC 2047 §5 (3): characters that may be unencoded in a phrase, the strictest context.
const bareInQ = /[A-Za-z0-9!*+/-]/;

/**
 * Cuts text into encoded-words (RFC 2047), Q or B, whichever is shorter. The first may have `firstMax` characters,
 * the others 75. A code point is never split: each word must decode on its own (§5).
 */
function encodeWords(text: string, firstMax: number = encodedWordCharsMax): string[] {
  const wellFormed = text.toWellFormed();
  const bytes = Buffer.byteLength(wellFormed);
  let bare = 0;
  for (const char of wellFormed) if (char === ' ' || bareInQ.test(char)) bare += 1;
  const charsInQ = bare + (bytes - bare) * 3;
  const charsInB = Math.ceil(bytes / 3) * 4;
  return charsInQ <= charsInB ? encodeQ(wellFormed, firstMax) : encodeB(wellFormed, firstMax);
}

function encodeQ(text: string, firstMax: number): string[] {
  const words: string[] = [];
  let room = firstMax - frameChars;
  let word = '';
  for (const char of text) {
    const written = encodeCharQ(char);
    if (word.length + written.length > room) {
      words.push(`${frameQ}${word}?=`);
      word = '';
      room = encodedWordCharsMax - frameChars;
    }
    word += written;
  }
  words.push(`${frameQ}${word}?=`);
  return words;
}

function encodeCharQ(char: string): string {
  if (char === ' ') return '_';
  if (char.length === 1 && bareInQ.test(char)) return char;
  let written = '';
  for (const byte of Buffer.from(char)) written += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return written;
}

function encodeB(text: string, firstMax: number): string[] {
  const words: string[] = [];
  let bytesMax = Math.floor((firstMax - frameChars) / 4) * 3;
  let part = '';
  let bytes = 0;
  for (const char of text) {
    const size = Buffer.byteLength(char);
    if (bytes + size > bytesMax) {
      words.push(`${frameB}${Buffer.from(part).toString('base64')}?=`);
      part = '';
      bytes = 0;
      bytesMax = Math.floor((encodedWordCharsMax - frameChars) / 4) * 3;
    }
    part += char;
    bytes += size;
  }
  words.push(`${frameB}${Buffer.from(part).toString('base64')}?=`);
  return words;
}

const columnsMax = 78;
// RFC 2047 §2: a line that holds an encoded-word has at most 76 characters.
const columnsWithWordMax = 76;

/** Collects the value of one header field and breaks the line before a piece that would not fit. */
class FieldLine {
  text = '';
  private column: number;

  constructor(name: string) {
    this.column = name.length + 2;
  }

  /** Reports whether a piece of that length fits in one line, here or after a break. */
  takesWhole(chars: number): boolean {
    return chars + (this.text === '' ? this.column : 1) <= columnsMax;
  }

  /**
   * Returns the maximum length of an encoded-word on the current line, or that of a full line if the remaining room is
   * too small to be useful.
   */
  roomForWord(): number {
    const room = columnsWithWordMax - this.column - (this.text === '' ? 0 : 1);
    return room < 24 ? encodedWordCharsMax : Math.min(room, encodedWordCharsMax);
  }

  /** Adds a piece that begins with its own white space, or is separated by one space. */
  add(piece: string, columns = columnsMax): void {
    const spaced = this.text === '' || piece.startsWith(' ') || piece.startsWith('\t') ? piece : ` ${piece}`;
    if (this.text !== '' && this.column + spaced.length > columns) {
      this.text += '\r\n';
      this.column = 0;
    }
    this.text += spaced;
    this.column += spaced.length;
  }

  addWord(word: string): void {
    // A field name so long that no word fits on its line gets a line of its own.
    if (this.text === '' && this.column + word.length > columnsWithWordMax) {
      this.text = `\r\n ${word}`;
      this.column = word.length + 1;
    } else this.add(word, columnsWithWordMax);
  }
}

/** Cuts before each run of white space; a run stays with the text after it, so no folded line is ever blank. */
function pieces(text: string): string[] {
  return text.split(/(?<=[^ \t])(?=[ \t]+[^ \t])/);
}

/** A field name and its folded value, as written after `name: `. */
export type HeaderField = [name: string, value: string];

const addressHeaders: ReadonlySet<string> = new Set(['sender', 'reply-to']);

const plain = /^[\t\x20-\x7e]*$/;
const lineCharsMax = 998;
// A longer word can only be kept within 78 columns by encoding it.
const plainWordCharsMax = 76;
const longWord = new RegExp(`[^ \\t]{${plainWordCharsMax + 1}}`);
const breaking = /[\r\n\0]/;

export function serializeHeaders(headers: readonly HeaderField[]): Buffer {
  let text = '';
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return Buffer.from(text, 'utf8');
}

/** Formats Subject. A person wrote the text, so anything that could be misread in transit is encoded. */
export function subjectField(text: string): HeaderField {
  mustBeOneLine('Subject', text);
  const mustEncode = !plain.test(text) || text.includes('=?') || /^[ \t]|[ \t]$/.test(text) || longWord.test(text);
  return ['Subject', mustEncode ? encodeWhole('Subject', text) : fold('Subject', text)];
}

/** Formats a caller's header. ASCII is not changed, because a program may read it back. */
export function extraField(name: string, value: string): HeaderField {
  mustBeOneLine(name, value);
  if (!/^[!-9;-~]+$/.test(name))
    throw new Error(`the header name ${JSON.stringify(name)} is not printable ASCII without a colon`);
  const trimmed = value.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '');
  if (plain.test(trimmed)) {
    const field: HeaderField = [name, fold(name, trimmed)];
    if (field[1].split('\r\n').every((line) => line.length < lineCharsMax - name.length - 2)) return field;
    return [name, encodeWhole(name, trimmed)];
  }
  const mailbox = addressHeaders.has(name.toLowerCase()) ? parseMailbox(trimmed) : undefined;
  return mailbox?.ok === true ? addressField(name, [mailbox.mailbox]) : [name, encodeWhole(name, trimmed)];
}

/** Formats From, To, Cc or Reply-To: an address list, folded between mailboxes first. */
export function addressField(name: string, mailboxes: readonly Mailbox[]): HeaderField {
  const line = new FieldLine(name);
  const last = mailboxes.length - 1;
  mailboxes.forEach((mailbox, index) => {
    mustBeOneLine(name, mailbox.name);
    mustBeOneLine(name, mailbox.address);
    const comma = index < last ? ',' : '';
    const whole = plainMailbox(mailbox);
    if (whole !== undefined && line.takesWhole(whole.length + comma.length)) return line.add(`${whole}${comma}`);
    if (mailbox.name === '') return line.add(`${mailbox.address}${comma}`);
    if (whole !== undefined) pieces(formatQuotedName(mailbox.name)).forEach((piece) => line.add(piece));
    else encodeWords(mailbox.name, line.roomForWord()).forEach((word) => line.addWord(word));
    line.add(`<${mailbox.address}>${comma}`);
  });
  return [name, line.text];
}

export function mustBeOneLine(what: string, text: string): void {
  if (breaking.test(text)) throw new Error(`the header ${what} has a line break or NUL`);
}

/** Folds ASCII text before its white space (RFC 5322 §2.2.3), so that unfolding returns exactly the same text. */
function fold(name: string, text: string): string {
  if (name.length + 2 + text.length <= 78) return text;
  const line = new FieldLine(name);
  for (const piece of pieces(text)) line.add(piece);
  return line.text;
}

function encodeWhole(name: string, text: string): string {
  const line = new FieldLine(name);
  for (const word of encodeWords(text, line.roomForWord())) line.addWord(word);
  return line.text;
}

/** Returns the mailbox as ASCII; undefined if its name needs encoded-words. */
function plainMailbox(mailbox: Mailbox): string | undefined {
  const { name } = mailbox;
  if (name === '') return mailbox.address;
  if (!plain.test(name) || name.includes('=?') || longWord.test(name) || name !== name.trim()) return undefined;
  return formatMailbox(mailbox);
}

function formatQuotedName(name: string): string {
  return /^[\w ]+$/.test(name) ? name : quoteString(name);
}

const nameCharsMax = 76;
const valueBytesMax = 998;

// RFC 5322 §2.2: printable ASCII without the colon.
const fieldName = /^[!-9;-~]+$/;
// Tab is the only control character allowed in a value.
const forbiddenInValue = /[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029]|\p{Cs}/u;

const reserved = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  // Recipients named here received the mail hidden from the others.
  'resent-bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'dkim-signature',
  'domainkey-signature',
  // Trace fields (RFC 5322 §3.6.7, RFC 8601, RFC 7208 §9.1, RFC 9228): only a server that handled the mail may add them.
  'return-path',
  'received',
  'received-spf',
  'authentication-results',
  'delivered-to',
]);
const reservedFamilies = ['content-', 'arc-', 'list-unsubscribe'];

/**
 * Reports whether the composer, the signer or a receiving server writes this header, so that a caller must not.
 * Reply-To and Sender are free.
 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reserved.has(lower) || reservedFamilies.some((family) => lower.startsWith(family));
}

const INSTEAD_OF_LIST_UNSUBSCRIBE =
  ' The service writes it in broadcasts and in automation emails with a topic_id; for a link of your own send the message by SMTP, which keeps the header.';

/** Describes what is wrong with a header that a caller wants to add; undefined if it is allowed. */
export function headerFault(name: string, value: string): string | undefined {
  const shown = JSON.stringify(name.slice(0, 80));
  if (name === '') return 'A header has an empty name; write one such as X-Entity-Ref-ID.';
  if (name.length > nameCharsMax) {
    return `The header name ${shown} has ${name.length} characters; at most ${nameCharsMax} are allowed.`;
  }
  if (!fieldName.test(name))
    return `The header name ${shown} may hold only printable ASCII characters other than the colon and the space.`;
  if (isReservedHeader(name)) {
    const instead = name.toLowerCase().startsWith('list-unsubscribe') ? INSTEAD_OF_LIST_UNSUBSCRIBE : '';
    return `The header ${shown} is written by the service and cannot be set; remove it.${instead}`;
  }
  const bytes = Buffer.byteLength(value);
  if (bytes > valueBytesMax)
    return `The value of the header ${shown} has ${bytes} bytes; at most ${valueBytesMax} are allowed.`;
  if (forbiddenInValue.test(value)) {
    return `The value of the header ${shown} contains a line break or another control character; write it on one line.`;
  }
  if (addressHeaders.has(name.toLowerCase()) && /[^\0-\x7f]/.test(value) && !parseMailbox(value).ok) {
    return `The value of the header ${shown} is not one mailbox; write Name <local@example.com>.`;
  }
  return undefined;
}

// Many readers decode an encoded word (RFC 2047) anywhere, and would show a name other than the one written.
const plainFilename = /^(?!.*=\?)[\x20-\x7e]{1,60}$/;
const unreserved = /[A-Za-z0-9._~-]/;
const segmentCharsMax = 60;

/**
 * Returns the `filename` parameters of a Content-Disposition, each for a line of its own. A name that is not short
 * ASCII is written twice: in full by RFC 2231, and as an ASCII approximation for readers that know only the plain
 * parameter.
 */
export function filenameParameters(filename: string): string[] {
  mustBeOneLine('Content-Disposition', filename);
  const name = filename.toWellFormed();
  if (plainFilename.test(name)) return [`filename=${quote(name)}`];
  return [`filename=${quote(asciiLikeness(name))}`, ...extendedParameters(name)];
}

function extendedParameters(name: string): string[] {
  const segments: string[] = [];
  let segment = "UTF-8''";
  for (const char of name) {
    const written = percentEncode(char);
    if (segment.length + written.length > segmentCharsMax) {
      segments.push(segment);
      segment = '';
    }
    segment += written;
  }
  segments.push(segment);
  if (segments.length === 1) return [`filename*=${segment}`];
  return segments.map((part, index) => `filename*${index}*=${part}`);
}

function percentEncode(char: string): string {
  if (char.length === 1 && unreserved.test(char)) return char;
  let written = '';
  for (const byte of Buffer.from(char)) written += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return written;
}

function asciiLikeness(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\x20-\x7e]|(?<==)\?/gu, '_');
  if (ascii.length <= segmentCharsMax) return ascii;
  const dot = ascii.lastIndexOf('.');
  const extension = dot > 0 && ascii.length - dot <= 12 ? ascii.slice(dot) : '';
  return ascii.slice(0, segmentCharsMax - extension.length) + extension;
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats an RFC 5322 §3.3 date-time, always in UTC, because the sender's zone is private. */
export function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new Error('the date of the message is invalid');
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  const day = `${days[date.getUTCDay()]}, ${pad(date.getUTCDate())} ${months[date.getUTCMonth()]}`;
  return `${day} ${String(date.getUTCFullYear()).padStart(4, '0')} ${time} +0000`;
}

function pad(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

/** RFC 2919 §2. */
const LIST_ID_CHARS_MAX = 255;

/**
 * Formats the value of List-Id for a list that has an id of its own at a domain (RFC 2919); undefined if the domain's name
 * leaves no room for it.
 */
export function formatListId(id: string, domain: string): string | undefined {
  const value = `${id.toLowerCase()}.${domain}`;
  return value.length > LIST_ID_CHARS_MAX ? undefined : `<${value}>`;
}

/** One hop of a message, as the Received field records it (RFC 5321 §4.4). */
export interface Hop {
  /** The client's EHLO name and address; omitted if they are private. */
  from?: { helo: string; address: string };
  by: string;
  /** A protocol of RFC 3848: ESMTP, ESMTPS, ESMTPSA … */
  protocol: string;
  id: string;
  /** The only recipient; omitted if there are several, who would learn of each other. */
  recipient?: string | undefined;
  at: Date;
}

/** Returns the field with its CRLF. */
export function receivedField({ from, by, protocol, id, recipient, at }: Hop): string {
  const parts = [
    ...(from ? [`from ${nameIn(from.helo)} (${literal(from.address)})`] : []),
    `by ${by} with ${protocol} id ${id}`,
    ...(recipient === undefined ? [] : [`for <${recipient}>`]),
  ];
  return `Received: ${parts.join('\r\n ')};\r\n ${formatDate(at)}\r\n`;
}

/** A client may send any name. */
const nameIn = (helo: string): string => (/^\[?[\w.:-]{1,253}\]?$/.test(helo) ? helo : 'unknown');

const literal = (address: string): string => (address.includes(':') ? `[IPv6:${address}]` : `[${address}]`);
