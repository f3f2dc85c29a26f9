import { normalizeAddress, parseDomainName, parseMailbox, splitAddress } from '../../protocol/address/index.ts';

/** Stands for an erased address; the name can never get mail (RFC 6761). */
export const ERASED = 'erased@erased.invalid';

/** Longest part of an address that is read from a text; an address is at most 254 bytes. */
const PART_MAX = 260;
/** Every character that may be in a local part without quotes. */
const LOCAL_END = /[^\0-\x20"(),:;<>@[\\\]\x7f\p{C}\p{Z}]+$/u;
/** A domain with everything that would make it another address if it followed. */
const DOMAIN_START = /^[\p{L}\p{M}\p{N}._+-]+/u;
const WORD = /[\p{L}\p{M}\p{N}]/u;
const PLAIN = /[\p{L}\p{M}\p{N}._+-]/u;

/** Reports whether a mailbox, with or without a name, has the address, in any of its spellings. */
export function isAddress(text: string, emailKey: string): boolean {
  const parsed = parseMailbox(text, { allowSingleLabel: true });
  return normalizeAddress(parsed.ok ? parsed.mailbox.address : text) === emailKey;
}

/**
 * Replaces an address in a text, in any of its spellings, where it is the whole address: `al@example.org` is not
 * replaced in `hal@example.org`, `al@example.org.uk` or `an-al@example.org`.
 */
export function replaceAddress(text: string, emailKey: string): string {
  const domain = splitAddress(emailKey)?.domain;
  let replaced = '';
  let copied = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const after = readDomain(text.slice(at + 1, at + 1 + PART_MAX));
    const parsed = parseDomainName(after, { allowSingleLabel: true });
    if (!parsed.ok || parsed.domain !== domain) continue;
    const before = text.slice(Math.max(copied, at - PART_MAX), at);
    const local = listLocals(before).find((one) => isAddress(`${one}@${after}`, emailKey));
    if (local === undefined) continue;
    replaced += text.slice(copied, at - local.length) + ERASED;
    copied = at + 1 + after.length;
  }
  return replaced + text.slice(copied);
}

/** Returns the domain at the start of a text, without the dots and hyphens of the sentence around it. */
const readDomain = (text: string): string => (DOMAIN_START.exec(text)?.[0] ?? '').replace(/[.-]+$/, '');

/** Returns what may be the local part at the end of a text. */
function listLocals(text: string): string[] {
  if (text.endsWith('"')) return listQuoted(text);
  const run = LOCAL_END.exec(text)?.[0] ?? '';
  return [...run].flatMap((_, at, chars) => (beginsAt(chars, at) ? [chars.slice(at).join('')] : []));
}

/** Signs such as `=` and `*` may belong to an address or stand before it; an apostrophe within a word is part of it. */
function beginsAt(chars: readonly string[], at: number): boolean {
  const before = chars[at - 1];
  if (before === undefined) return true;
  if (PLAIN.test(before)) return false;
  return !/['’]/.test(before) || !WORD.test(chars[at - 2] ?? '');
}

/** Returns the quoted local part at the end of a text, from its opening quote. */
function listQuoted(text: string): string[] {
  for (let at = text.lastIndexOf('"', text.length - 2); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('"', at - 1)) {
    const escapes = /\\*$/.exec(text.slice(0, at))?.[0].length ?? 0;
    if (escapes % 2 === 0) return [text.slice(at)];
  }
  return [];
}

/** A part of a text that no delimiter of URLs, quotes or space divides. */
const PART_OF_URL = /[^\s"'<>\\/?&=#]+/g;

/** Replaces an address in a text that may be a URL or contain some, percent-encoded or not. */
export function replaceInUrls(text: string, emailKey: string): string {
  const plain = replaceAddress(text, emailKey);
  if (!plain.includes('%')) return plain;
  return plain.replace(PART_OF_URL, (part) => {
    const decoded = decodePart(part);
    const replaced = replaceAddress(decoded, emailKey);
    return replaced === decoded ? part : encodeURIComponent(replaced);
  });
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Replaces an address in a text, and the whole text if it is a mailbox with the address, so that its name goes too. */
export const replaceMailbox = (text: string, emailKey: string): string =>
  isAddress(text, emailKey) ? ERASED : replaceInUrls(text, emailKey);

/** Replaces mailboxes with the address in every text of a JSON document. */
export const replaceInJson = (json: string, emailKey: string): string =>
  JSON.stringify(
    JSON.parse(json, (_, value: unknown) => (typeof value === 'string' ? replaceMailbox(value, emailKey) : value)),
  );

/** Replaces an address in a text that may be JSON. */
export function replaceInText(text: string, emailKey: string): string {
  try {
    return replaceInJson(text, emailKey);
  } catch {
    return replaceInUrls(text, emailKey);
  }
}

/** Reports whether a text has the address in any of its spellings, also percent-encoded or escaped in JSON. */
export const hasAddress = (text: string, emailKey: string): boolean =>
  replaceInUrls(text, emailKey) !== text || (text.includes('\\') && hasEscaped(text, emailKey));

function hasEscaped(json: string, emailKey: string): boolean {
  try {
    return replaceInJson(json, emailKey) !== JSON.stringify(JSON.parse(json));
  } catch {
    return false;
  }
}

/**
 * Returns a text that all spellings of an address contain, for databases that only know the letter case of ASCII; empty
 * if there is none. The letters `i` and `k` are also the lower case of others, and a letter with a mark may be written
 * as one character; a domain has several spellings.
 */
export function findCommonPart(emailKey: string): string {
  const local = splitAddress(emailKey)?.local ?? '';
  const parts = local.match(/(?:[a-hjl-z0-9](?!\p{M}))+/gu) ?? [];
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), '');
}

/** Fields that contain a list of mailboxes (RFC 5322 §3.6). */
const MAILBOX_FIELDS = /^(?:resent-)?(?:to|cc|bcc|from|sender|reply-to)$/i;

/**
 * Removes an address from the header of a message, with its display name where the field is a list of mailboxes; such a
 * field is removed if it has no other one.
 */
export function eraseFromHead(head: string, emailKey: string): string {
  return head
    .split(/(?<=\n)(?![ \t])/)
    .map((field) => {
      const colon = field.indexOf(':');
      if (!MAILBOX_FIELDS.test(field.slice(0, colon).trim())) return replaceAddress(field, emailKey);
      const end = /[\r\n]*$/.exec(field)?.[0] ?? '';
      const value = field.slice(colon + 1, field.length - end.length);
      const kept = removeMailbox(value, emailKey);
      if (kept === value) return field;
      return kept.trim() === '' ? '' : `${field.slice(0, colon)}: ${kept.trimStart()}${end}`;
    })
    .join('');
}

function removeMailbox(list: string, emailKey: string): string {
  const kept: { text: string; mark: string }[] = [];
  for (const { text, mark } of splitList(list)) {
    const spec = /<([^<>]*)>[^<>]*$/.exec(text)?.[1];
    const isIt = spec === undefined ? replaceAddress(text, emailKey) !== text : isAddress(spec.trim(), emailKey);
    if (!isIt || mark === ':') {
      kept.push({ text: replaceAddress(text, emailKey), mark });
      continue;
    }
    const previous = kept.at(-1);
    // The mark that ends the list or its group moves to the previous mailbox.
    if (mark !== ',' && previous?.mark === ',') previous.mark = mark;
    else if (mark !== ',') kept.push({ text: '', mark });
  }
  return kept.map(({ text, mark }) => text + mark).join('');
}

/** Splits a list at the commas between mailboxes, and at the marks of groups. */
function splitList(list: string): { text: string; mark: string }[] {
  const pieces = list.matchAll(/((?:"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|<[^<>]*>|[^,:;])*)([,:;]|$)/gs);
  return [...pieces].map(([, text = '', mark = '']) => ({ text, mark })).filter(({ text, mark }) => text + mark !== '');
}
