import { decodeWords } from 'postal-mime';

/** What is read of a field from its front: a sender who writes more ids than fit in it wants to cost us work. */
const FRONT_CHARS = 4 * 1024;
/** What is read from its end, where RFC 5322 §3.6.4 puts the messages that are closest to the answer. */
const END_CHARS = 32 * 1024;
const ID_CHARS_MAX = 500;

/**
 * A quoted string, a comment without another inside, or an id, of several brackets in the innermost. White space goes later: told
 * apart here, a thousand blanks could be shared out in a million ways.
 */
const PIECE = /<([^<>]{1,1000})>|"(?:[^"\\]|\\[^]){0,1000}"|\((?:[^()\\]|\\[^]){0,1000}\)/g;
const BARE_ID = /^[^\s<>(),;:"@]+@[^\s<>(),;:"@]+$/;
const ID = /^[!-~\u{80}-\u{10ffff}]+$/u;

/** How many ids of a field are taken, of its front and of its end. */
export interface IdsTaken {
  first: number;
  last: number;
}

/**
 * The ids that stand in Message-ID, In-Reply-To or References (RFC 5322 §3.6.4), without brackets, each once, in their
 * order. It reads what programs make of them: ids without brackets or in two pairs of them, folded in the middle, between
 * comments and phrases, as encoded words, as HTML. Of a field of a megabyte it reads the front and the end.
 */
export function messageIdsIn(field: string, { first, last }: IdsTaken): string[] {
  const isWhole = field.length <= FRONT_CHARS + END_CHARS;
  if (isWhole) return ends(idsOf(field), first, last);
  // An id that the cut goes through is left out on both sides.
  const front = idsOf(field.slice(0, FRONT_CHARS).replace(/\S+$/, ''));
  const end = idsOf(field.slice(-END_CHARS).replace(/^\S+/, ''));
  return [...new Set([...front.slice(0, first), ...(last === 0 ? [] : end.slice(-last))])];
}

/** The last of the ids is asked for more often than the first, so where they meet nothing is taken twice. */
const ends = (ids: readonly string[], first: number, last: number): string[] =>
  ids.length <= first + last ? [...ids] : [...ids.slice(0, first), ...ids.slice(ids.length - last)];

function idsOf(text: string): string[] {
  const plain = text.includes('=?') ? decodeWords(text) : text;
  const readable = plain.replaceAll(/&lt;/gi, '<').replaceAll(/&gt;/gi, '>').replaceAll(/<+/g, '<');
  const found: string[] = [];
  for (const [, inside] of readable.matchAll(PIECE)) if (inside !== undefined) found.push(inside);
  if (found.length === 0) found.push(...bareIds(readable));
  return [...new Set(found.map(trimmed).filter((id) => id !== undefined))];
}

/** An id has no white space: what stands inside of one came from folding. */
function trimmed(inside: string): string | undefined {
  const id = inside.replaceAll(/\s+/g, '');
  return id.length <= ID_CHARS_MAX && ID.test(id) && /[^.@]/.test(id) ? id : undefined;
}

/** Without brackets only what looks like an id is one: a word alone names nothing. */
const bareIds = (text: string): string[] =>
  text
    .replaceAll(/\((?:[^()\\]|\\[^]){0,1000}\)/g, ' ')
    .split(/[\s,;<>]+/)
    .filter((word) => BARE_ID.test(word));
