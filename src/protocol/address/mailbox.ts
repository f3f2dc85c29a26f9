import {
  parseAddress,
  quoteString,
  quoteValue,
  type AddressResult,
  type Mailbox,
  type DomainOptions,
} from './address.ts';

export type MailboxResult = AddressResult;

// One header line (RFC 5322 §2.1.1).
const mailboxBytesMax = 998;

// U+2028 and U+2029 end a line in many programs; a lone surrogate cannot be written as UTF-8.
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;
const phraseWord = / +|"((?:[^"\\]|\\.)*)"|([^ "()<>[\]:;@\\,]+)/y;
const plainPhrase = /^(?:[\w!#$%&'*+/=?^`{|}~-]|[^\0-\x7f])+(?: (?:[\w!#$%&'*+/=?^`{|}~-]|[^\0-\x7f])+)*$/;

/** Reads `local@domain`, `Name <local@domain>` or `"Quoted, Name" <local@domain>`: exactly one mailbox. */
export function parseMailbox(text: string, options: DomainOptions = {}): MailboxResult {
  const bytes = text.length > mailboxBytesMax ? text.length : Buffer.byteLength(text);
  if (bytes > mailboxBytesMax) return refuse(`The mailbox has ${bytes} bytes; at most ${mailboxBytesMax} are allowed.`);
  const hidden = unprintable.exec(text);
  if (hidden) {
    const code = (hidden[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return refuse(
      `The mailbox ${quoteValue(text)} contains the control character U+${code}; write it on one line without control characters.`,
    );
  }
  const trimmed = text.trim();
  if (trimmed === '') return refuse('The mailbox is empty; write local@example.com or Name <local@example.com>.');
  if (trimmed.includes('"') && hasOpenQuote(trimmed)) {
    return refuse(
      `The mailbox ${quoteValue(text)} opens a double quote that is never closed; write "Name" <local@example.com>.`,
    );
  }
  const open = indexOutsideQuotes(trimmed, '<', 0);
  return open < 0 ? parseBare(trimmed, options) : parseNamed(trimmed, open, options);
}

/**
 * Formats a mailbox for a header, in plain Unicode; the MIME writer encodes it for the wire. `parseMailbox` reads it
 * back.
 */
export function formatMailbox(mailbox: Pick<Mailbox, 'name' | 'address'>): string {
  if (mailbox.name === '') return mailbox.address;
  return `${formatPhrase(mailbox.name)} <${mailbox.address}>`;
}

/** Formats a display name for a header, quoted if it would otherwise be read as something else. */
export const formatPhrase = (name: string): string => (plainPhrase.test(name) ? name : quoteString(name));

function parseBare(text: string, options: DomainOptions): MailboxResult {
  for (const mark of ',;:(>') {
    if (indexOutsideQuotes(text, mark, 0) >= 0) return refuse(strayFault(text, mark));
  }
  return parseAddress(text, options);
}

function parseNamed(text: string, open: number, options: DomainOptions): MailboxResult {
  const name = parsePhrase(text.slice(0, open));
  if (typeof name !== 'string') return refuse(name.fault);
  const close = indexOutsideQuotes(text, '>', open + 1);
  if (close < 0)
    return refuse(`The mailbox ${quoteValue(text)} opens a < that is never closed; write Name <local@example.com>.`);
  const rest = text.slice(close + 1).trimStart();
  if (rest !== '') return refuse(strayFault(text, rest.charAt(0)));
  const result = parseAddress(text.slice(open + 1, close).trim(), options);
  if (result.ok) result.mailbox.name = name;
  return result;
}

function parsePhrase(text: string): string | { fault: string } {
  const words: string[] = [];
  phraseWord.lastIndex = 0;
  while (phraseWord.lastIndex < text.length) {
    const at = phraseWord.lastIndex;
    const match = phraseWord.exec(text);
    if (!match) return { fault: strayFault(text, text.charAt(at)) };
    const word = match[2] ?? match[1]?.replace(/\\(.)/gsu, '$1');
    if (word !== undefined) words.push(word);
  }
  return words.join(' ');
}

function strayFault(text: string, mark: string): string {
  const shown = quoteValue(text);
  switch (mark) {
    case ',':
    case ';':
      return `${shown} looks like a list; write one mailbox per entry, and put a name that contains ${quoteValue(mark)} in double quotes.`;
    case ':':
      return `${shown} looks like a group; write one mailbox per entry, and put a name that contains ":" in double quotes.`;
    case '(':
    case ')':
      return `${shown} contains a comment in parentheses; put a name that contains them in double quotes.`;
    case '>':
      return `${shown} closes a > that was never opened; write Name <local@example.com>.`;
    default:
      return `${shown} has ${quoteValue(mark)} where it is not allowed; write Name <local@example.com>, with the name in double quotes if it contains punctuation, and nothing after it.`;
  }
}

function hasOpenQuote(text: string): boolean {
  return (text.replace(/\\./gsu, '').split('"').length - 1) % 2 === 1;
}

/** Returns the position of the first `mark` outside quoted strings; an unclosed quote hides everything after it. */
function indexOutsideQuotes(text: string, mark: string, from: number): number {
  let quoted = false;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (quoted && char === '\\') at += 1;
    else if (char === '"') quoted = !quoted;
    else if (!quoted && char === mark) return at;
  }
  return -1;
}

function refuse(fault: string): MailboxResult {
  return { ok: false, fault };
}

/** Wider than RFC 2047 §2 allows, because some programs decode words that contain spaces, quotes and question marks. */
const ANY_ENCODED_WORD = /=\?([^?]{1,80})\?([bq])\?(.{0,998}?)\?=(?:\s+(?==\?))?/gi;
const QUOTED_STRING = /"(?:[^"\\]|\\.)*"/gs;
const QUOTED_BRACKETS = /<[^<>]*@[^<>]*>/;
const BRACKETED = /<([^<>]*@[^<>]*)>/g;
const BARE = /[^\s,;:<>()"]+@[^\s,;:<>()"]+/g;

/**
 * RFC 2047 §6.2 parses quoted strings and brackets before encoded words. Reports whether a reader that decodes first,
 * and takes a word either for its content or for plain text, finds the same address. `line` has no comments.
 */
function isSameDecodedFirst(line: string): boolean {
  if (!line.includes('=?')) return true;
  if (line.match(QUOTED_STRING)?.some((quoted) => QUOTED_BRACKETS.test(quoted))) return false;
  const own = addressesIn(line);
  const isOwn = (text: string): boolean => addressesIn(text).join() === own.join();
  return isOwn(line.replace(ANY_ENCODED_WORD, 'word')) && isOwn(line.replace(ANY_ENCODED_WORD, decoded));
}

/** Finds addresses as the most lenient reader would. */
function addressesIn(line: string): string[] {
  const pieces = line.replace(QUOTED_STRING, 'word').split(/[,;]/);
  return pieces.flatMap((piece) => {
    const bracketed = [...piece.matchAll(BRACKETED)].map(([, address = '']) => address.trim());
    return bracketed.length > 0 ? bracketed : (piece.match(BARE) ?? []);
  });
}

function decoded(_: string, charset: string, encoding: string, text: string): string {
  const bytes = encoding.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : quotedBytes(text);
  try {
    return new TextDecoder(charset.replace(/\*.*/s, '')).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

function quotedBytes(text: string): Buffer {
  const plain = Buffer.from(text.replaceAll('_', ' ')).toString('latin1');
  const byte = (_: string, hex: string): string => String.fromCharCode(parseInt(hex, 16));
  return Buffer.from(plain.replace(/=([\dA-F]{2})/gi, byte), 'latin1');
}

/** A Q-encoded word in a phrase (RFC 2047 §5). Some programs leave it encoded; it delimits nothing there. */
const ENCODED_WORD = /=\?[^?\s]{1,80}\?q\?[^?\s"<>@\\]*\?=/gi;
const escaped = (mark: string): string => `=${mark.charCodeAt(0).toString(16).toUpperCase()}`;

/**
 * Parses a header field such as From, folded as received, that must name exactly one mailbox. It accepts only what RFC
 * 5322 §3.4 defines, because where readers differ each of them shows another sender. Comments are allowed, except those
 * that contain an address or surround one with brackets, which some readers take for the sender. The name stays encoded
 * (RFC 2047). The header may be forwarded unchanged: the domain returned is the one it contains.
 */
export function parseHeaderMailbox(value: string): MailboxResult {
  const line = value
    .replaceAll('\r\n', '')
    .replaceAll('\t', ' ')
    .replace(ENCODED_WORD, (word) => word.replace(/[,:;()[\]]/g, escaped));
  const { text, comments } = withoutComments(line);
  const spoken = comments.find((comment) => /[@<>]/.test(comment));
  if (spoken !== undefined) {
    const fault = `The comment ${quoteValue(spoken)} looks like an address; leave it out.`;
    return { ok: false, fault };
  }
  const parsed = parseMailbox(withoutEcho(text), { mustStandAsWritten: true });
  if (!parsed.ok) return parsed;
  if (isSameDecodedFirst(text)) return { ok: true, mailbox: named(parsed.mailbox, comments) };
  const fault =
    'A reader that decodes its encoded words (=?…?=) first would see another address; leave addresses out of the name.';
  return { ok: false, fault };
}

/**
 * Many programs repeat the address as the display name; whichever of the two a reader takes, the sender is the same.
 */
function withoutEcho(text: string): string {
  const [, name, address] = /^\s*([^\s"<>]+)\s*<([^\s<>]+)>\s*$/.exec(text) ?? [];
  return address !== undefined && name !== undefined && lowered(name) === lowered(address) ? `<${address}>` : text;
}

/** Lower-casing other letters could turn them into different ones. */
const lowered = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Old mail has the name in a comment after the address. */
function named(mailbox: Mailbox, comments: readonly string[]): Mailbox {
  return mailbox.name === '' ? { ...mailbox, name: comments.at(-1)?.trim() ?? '' } : mailbox;
}

/** RFC 5322 §3.2.2. An unclosed comment is left in place. */
function withoutComments(line: string): { text: string; comments: string[] } {
  const comments: string[] = [];
  let text = '';
  let comment = '';
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const mark = line.charAt(at);
    const isEscape = mark === '\\' && (isQuoted || depth > 0);
    const piece = isEscape ? line.slice(at, ++at + 1) : mark;
    if (depth === 0) {
      if (piece === '"') isQuoted = !isQuoted;
      if (piece === '(' && !isQuoted) depth = 1;
      else text += piece;
      continue;
    }
    if (piece === '(') depth++;
    if (piece === ')' && --depth === 0) {
      comments.push(comment);
      [text, comment] = [`${text} `, ''];
    } else comment += isEscape ? piece.slice(1) : piece;
  }
  return depth === 0 ? { text, comments } : { text: line, comments: [] };
}
