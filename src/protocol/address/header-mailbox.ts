import type { Mailbox } from './address.ts';
import { isSameDecodedFirst } from './decoded-first.ts';
import { parseMailbox, type MailboxResult } from './mailbox.ts';
import { quoteValue } from './quote-value.ts';

/** What RFC 2047 §5 has encoded in a phrase and some programs leave as it is; it delimits nothing there. */
const ENCODED_WORD = /=\?[^?\s]{1,80}\?q\?[^?\s"<>@\\]*\?=/gi;
const escaped = (mark: string): string => `=${mark.charCodeAt(0).toString(16).toUpperCase()}`;

/**
 * Reads a header field such as From, folded as it came, that is to name one mailbox: what RFC 5322 §3.4 makes of it and
 * nothing else, because where readers differ each of them shows another sender. Comments may stand in it; one that holds
 * an address, or brackets around one, is taken for the sender by some. The name is left encoded (RFC 2047). The header
 * itself may go on as it is: also its domain is the one that stands there.
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

/** Many programs write the address where its name would be; whichever of the two a reader takes, it is the same sender. */
function withoutEcho(text: string): string {
  const [, name, address] = /^\s*([^\s"<>]+)\s*<([^\s<>]+)>\s*$/.exec(text) ?? [];
  return address !== undefined && name !== undefined && lowered(name) === lowered(address) ? `<${address}>` : text;
}

/** Letters beyond ASCII may become others by it. */
const lowered = (address: string): string => address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Before there were names, they stood in a comment behind the address. */
function named(mailbox: Mailbox, comments: readonly string[]): Mailbox {
  return mailbox.name === '' ? { ...mailbox, name: comments.at(-1)?.trim() ?? '' } : mailbox;
}

/** RFC 5322 §3.2.2; one that is never closed stays where it is. */
function withoutComments(line: string): { text: string; comments: string[] } {
  const comments: string[] = [];
  let [text, comment, depth, isQuoted] = ['', '', 0, false];
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
