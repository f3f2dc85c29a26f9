import { createNameTree, type NameTree } from './name-tree.ts';

/** What email is made of. Nothing here fetches anything but images, and nothing here navigates without `href`. */
const KEPT = [
  'html head body title style article section nav aside header footer main address hgroup h1 h2 h3 h4 h5 h6',
  'p pre blockquote ol ul li dl dt dd menu dir figure figcaption div center hr br wbr',
  'a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr picture q rp rt ruby s',
  'samp small source span strike strong sub sup time tt u var',
  'table caption colgroup col tbody thead tfoot tr th td details summary map area',
].flatMap((line) => line.split(' '));

/** Elements without content: under another name they would swallow what follows, so they become a tag parsers ignore. */
const VOID = 'base basefont bgsound command embed frame input isindex keygen link meta param track'.split(' ');

const keptEnd = createNameTree(KEPT);
const voidEnd = createNameTree(VOID);

const [TAG_START, TAG_END, SLASH, EQUALS, DASH] = [0x3c, 0x3e, 0x2f, 0x3d, 0x2d];
const LOWER_CASE = 0x20;
const [LETTER_A, LETTER_H, LETTER_Z] = [0x61, 0x68, 0x7a];
const isLetter = (byte: number): boolean => (byte | LOWER_CASE) >= LETTER_A && (byte | LOWER_CASE) <= LETTER_Z;
/** The characters are those of the HTML standard (13.2.5.8), not those of JavaScript's \s. */
const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0d || byte === 0x0c;
/** What ends the name of a tag; the end of the text does too. */
function isNameEnd(bytes: Buffer, at: number): boolean {
  if (at >= bytes.length) return true;
  const byte = bytes[at]!;
  return byte === TAG_END || byte === SLASH || isSpace(byte);
}

// Clicks, pings and SVG lead outside through these.
const HREF = Buffer.from('href');
const ATTRIBUTION_SRC = Buffer.from('attributionsrc');

const PREFIX = Buffer.from('x-');
const ATTRIBUTE_PREFIX = Buffer.from('data-');
const IGNORED_TAG = Buffer.from('<head');

/**
 * Neither a sandbox nor a content policy keeps a browser from `<link rel=preconnect>`, which tells its target that
 * somebody reads: that element has to go, and whatever could hold it. This works on the text and not on a parse of it:
 * a parser can name an element only what stands behind a `<`, and an attribute only what stands before a `=`. Where
 * every such place says something harmless, no trick of quoting, nesting or unfinished markup makes it say something
 * else. Prose that looks like a tag is renamed with the rest.
 *
 * One pass over bytes: a text of two megabytes that is nothing but tags takes some ten milliseconds, where regular
 * expressions take hundreds. Each byte is looked at a fixed number of times, however broken the text is.
 */
export function disarmHtml(html: string): string {
  const bytes = Buffer.from(html);
  // Nothing grows more than "<href" does, to 12 bytes of 5.
  const out = Buffer.allocUnsafe(bytes.length * 3);
  let written = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === TAG_START) {
      const afterVoid = wholeNameEnd(voidEnd, bytes, at + 1);
      if (afterVoid > 0) {
        // A second head is dropped by the parser wherever it stands (13.2.6.4).
        written = append(out, written, IGNORED_TAG);
        at = afterVoid - 1;
        continue;
      }
      out[written++] = byte;
      if (bytes[at + 1] === SLASH) out[written++] = bytes[++at]!;
      const isName = at + 1 < bytes.length && isLetter(bytes[at + 1]!);
      if (isName && wholeNameEnd(keptEnd, bytes, at + 1) < 0) written = append(out, written, PREFIX);
      continue;
    }
    const lower = byte | LOWER_CASE;
    if ((lower === LETTER_H || lower === LETTER_A) && leads(bytes, at))
      written = append(out, written, ATTRIBUTE_PREFIX);
    out[written++] = byte;
  }
  return out.toString('utf8', 0, written);
}

/** Where the name that begins here ends, if the tree has all of it; otherwise -1. */
function wholeNameEnd(find: NameTree, bytes: Buffer, from: number): number {
  const end = find(bytes, from);
  return end > 0 && isNameEnd(bytes, end) ? end : -1;
}

/** Without a closure around it, or a million calls would take ten times as long. */
function append(out: Buffer, at: number, text: Buffer): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text[i]!;
  return at + text.length;
}

/** Whether an attribute that leads outside begins here. */
function leads(bytes: Buffer, at: number): boolean {
  const name = (bytes[at]! | LOWER_CASE) === LETTER_H ? HREF : ATTRIBUTION_SRC;
  if (at + name.length >= bytes.length) return false;
  for (let i = 1; i < name.length; i++) if ((bytes[at + i]! | LOWER_CASE) !== name[i]) return false;
  return hasValue(bytes, at + name.length);
}

/**
 * Whether what stands behind an attribute's name may be taken for its value, here or behind one more name: an empty
 * address leads to the page itself and has no `=`.
 */
function hasValue(bytes: Buffer, from: number): boolean {
  const { length } = bytes;
  let at = from;
  while (at < length && isSpace(bytes[at]!)) at++;
  if (at === length) return false;
  if (bytes[at] === EQUALS || bytes[at] === TAG_END) return true;
  if (at === from) return false;
  const nameAt = at;
  while (at < length && (isLetter(bytes[at]!) || bytes[at] === DASH)) at++;
  if (at === nameAt) return false;
  while (at < length && isSpace(bytes[at]!)) at++;
  return at < length && bytes[at] === EQUALS;
}
