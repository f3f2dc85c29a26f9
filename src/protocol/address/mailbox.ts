import { parseAddress, quoteString } from './address.ts';
import type { AddressResult, Mailbox } from './address.ts';
import type { DomainOptions } from './domain-name.ts';
import { quoteValue } from './quote-value.ts';

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
  if (bytes > mailboxBytesMax)
    return refuse(`The mailbox has ${bytes} bytes; at most ${mailboxBytesMax} are possible.`);
  const hidden = unprintable.exec(text);
  if (hidden) {
    const code = (hidden[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return refuse(
      `The mailbox ${quoteValue(text)} contains the control character U+${code}; write it on one line without any.`,
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

/** The header form in plain Unicode; encoding for the wire is the MIME writer's. `parseMailbox` reads it back. */
export function formatMailbox(mailbox: Pick<Mailbox, 'name' | 'address'>): string {
  if (mailbox.name === '') return mailbox.address;
  return `${formatPhrase(mailbox.name)} <${mailbox.address}>`;
}

/** A display name as it stands in a header, quoted where it would be read as something else. */
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
      return `${shown} looks like a list; give one mailbox per entry, and put a name that contains ${quoteValue(mark)} in double quotes.`;
    case ':':
      return `${shown} looks like a group; give one mailbox per entry, and put a name that contains ":" in double quotes.`;
    case '(':
    case ')':
      return `${shown} contains a comment in parentheses; put a name that contains them in double quotes.`;
    case '>':
      return `${shown} closes a > that was never opened; write Name <local@example.com>.`;
    default:
      return `${shown} has ${quoteValue(mark)} where it cannot stand; write Name <local@example.com>, the name in double quotes if it holds punctuation, and nothing after it.`;
  }
}

function hasOpenQuote(text: string): boolean {
  return (text.replace(/\\./gsu, '').split('"').length - 1) % 2 === 1;
}

/** Where `mark` first stands outside quoted strings; an unclosed quote hides the rest. */
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
