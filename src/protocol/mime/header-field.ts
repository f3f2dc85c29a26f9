import { formatMailbox, parseMailbox, quoteString } from '../address/index.ts';
import type { Mailbox } from '../address/index.ts';
import { encodeWords } from './encoded-word.ts';
import { FieldLine, pieces } from './field-line.ts';

/** A field name and its value as it stands after `name: `, folded. */
export type HeaderField = [name: string, value: string];

export const addressHeaders: ReadonlySet<string> = new Set(['sender', 'reply-to']);

const plain = /^[\t\x20-\x7e]*$/;
const lineCharsMax = 998;
// Beyond this a word can only be kept within 78 columns by encoding it.
const plainWordCharsMax = 76;
const longWord = new RegExp(`[^ \\t]{${plainWordCharsMax + 1}}`);
const breaking = /[\r\n\0]/;

export function serializeHeaders(headers: readonly HeaderField[]): Buffer {
  let text = '';
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return Buffer.from(text, 'utf8');
}

/** Subject: text that a person wrote, so anything that could be misread on the way is encoded. */
export function subjectField(text: string): HeaderField {
  mustBeOneLine('Subject', text);
  const mustEncode = !plain.test(text) || text.includes('=?') || /^[ \t]|[ \t]$/.test(text) || longWord.test(text);
  return ['Subject', mustEncode ? encodeWhole('Subject', text) : fold('Subject', text)];
}

/** A caller's header: ASCII stays as it was written, because a program may read it back. */
export function extraField(name: string, value: string): HeaderField {
  mustBeOneLine(name, value);
  if (!/^[!-9;-~]+$/.test(name))
    throw new Error(`a header name is printable ASCII without a colon, not ${JSON.stringify(name)}`);
  const trimmed = value.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, '');
  if (plain.test(trimmed)) {
    const field: HeaderField = [name, fold(name, trimmed)];
    if (field[1].split('\r\n').every((line) => line.length < lineCharsMax - name.length - 2)) return field;
    return [name, encodeWhole(name, trimmed)];
  }
  const mailbox = addressHeaders.has(name.toLowerCase()) ? parseMailbox(trimmed) : undefined;
  return mailbox?.ok === true ? addressField(name, [mailbox.mailbox]) : [name, encodeWhole(name, trimmed)];
}

/** From, To, Cc, Reply-To: an address list folded between mailboxes first. */
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
  if (breaking.test(text)) throw new Error(`a line break or NUL never reaches the header ${what}: callers refuse it`);
}

/** Folds ASCII text before its white space (RFC 5322 §2.2.3), so that unfolding gives back exactly the same text. */
export function fold(name: string, text: string): string {
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

/** The mailbox as ASCII, undefined where only encoded-words can carry its name. */
function plainMailbox(mailbox: Mailbox): string | undefined {
  const { name } = mailbox;
  if (name === '') return mailbox.address;
  if (!plain.test(name) || name.includes('=?') || longWord.test(name) || name !== name.trim()) return undefined;
  return formatMailbox(mailbox);
}

function formatQuotedName(name: string): string {
  return /^[\w ]+$/.test(name) ? name : quoteString(name);
}
