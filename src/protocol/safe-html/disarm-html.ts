import { HtmlTokenizer } from '../html/index.ts';
import { decodeAttribute } from '../html-references/index.ts';

const ASCII = 128;
const LOWER_CASE_BIT = 0x20;

type NameTree = (bytes: Buffer, from: number) => number;

/**
 * Returns a function that finds the longest of a few lower-case names at a position of a text, in any letter case,
 * reading each letter once: it returns the end of the name, or -1. A set of names would need a string for each
 * position, and there may be a million of them.
 */
function createNameTree(names: readonly string[]): NameTree {
  // Node 0 is the root; 0 as the next node means that there is none.
  const next: number[] = Array<number>(ASCII).fill(0);
  const isWhole: boolean[] = [false];
  for (const name of names) {
    let node = 0;
    for (const letter of Buffer.from(name)) {
      const place = node * ASCII + letter;
      if (next[place] === 0) {
        next[place] = isWhole.push(false) - 1;
        for (let i = 0; i < ASCII; i++) next.push(0);
      }
      node = next[place]!;
    }
    isWhole[node] = true;
  }
  const nodes = Int16Array.from(next);

  return (bytes, from) => {
    let node = 0;
    let end = -1;
    for (let at = from; at < bytes.length; at++) {
      const letter = bytes[at]! | LOWER_CASE_BIT;
      if (letter >= ASCII) break;
      node = nodes[node * ASCII + letter]!;
      if (node === 0) break;
      if (isWhole[node]) end = at + 1;
    }
    return end;
  };
}

/** Elements used in email. None of them fetches anything but images, and none navigates without `href`. */
const KEPT = [
  'html head body title style article section nav aside header footer main address hgroup h1 h2 h3 h4 h5 h6',
  'p pre blockquote ol ul li dl dt dd menu dir figure figcaption div center hr br wbr',
  'a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr picture q rp rt ruby s',
  'samp small source span strike strong sub sup time tt u var',
  'table caption colgroup col tbody thead tfoot tr th td details summary map area',
].flatMap((line) => line.split(' '));

/** Elements without content: renamed, they would swallow what follows, so they become a tag that parsers ignore. */
const VOID_ELEMENTS = 'base basefont bgsound command embed frame input isindex keygen link meta param track'.split(' ');

const keptEnd = createNameTree(KEPT);
const voidEnd = createNameTree(VOID_ELEMENTS);

const TAG_START = 0x3c;
const TAG_END = 0x3e;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const DASH = 0x2d;
const LETTER_A = 0x61;
const LETTER_H = 0x68;
const LETTER_Z = 0x7a;
const isLetter = (byte: number): boolean => (byte | LOWER_CASE_BIT) >= LETTER_A && (byte | LOWER_CASE_BIT) <= LETTER_Z;
/** The characters are those of the HTML standard (13.2.5.8), not those of JavaScript's \s. */
const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0d || byte === 0x0c;
/** Reports whether the name of a tag ends here; the end of the text counts too. */
function isNameEnd(bytes: Buffer, at: number): boolean {
  if (at >= bytes.length) return true;
  const byte = bytes[at]!;
  return byte === TAG_END || byte === SLASH || isSpace(byte);
}

// Clicks, pings and SVG follow these attributes.
const HREF = Buffer.from('href');
const ATTRIBUTION_SRC = Buffer.from('attributionsrc');

const PREFIX = Buffer.from('x-');
const ATTRIBUTE_PREFIX = Buffer.from('data-');
const IGNORED_TAG = Buffer.from('<head');

/**
 * Neither a sandbox nor a content policy keeps a browser from `<link rel=preconnect>`, which shows its target that
 * somebody reads the mail: that element must be removed, and whatever could contain it. This works on the text and not
 * on a parse of it: a parser can only take an element's name from the text after a `<`, and an attribute's name from
 * the text before a `=`. If every such place is harmless, no trick of quoting, nesting or unfinished markup can make it
 * harmful. Prose that looks like a tag is renamed as well.
 *
 * One pass over bytes: a text of two megabytes that is nothing but tags takes some ten milliseconds, where regular
 * expressions take hundreds. Each byte is read a fixed number of times, however broken the text is.
 */
export function disarmHtml(html: string): string {
  const bytes = Buffer.from(html);
  // "<href" grows most, from 5 to 12 bytes.
  const out = Buffer.allocUnsafe(bytes.length * 3);
  let written = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === TAG_START) {
      const afterVoid = wholeNameEnd(voidEnd, bytes, at + 1);
      if (afterVoid > 0) {
        // The parser drops a second head wherever it is (13.2.6.4).
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
    const lower = byte | LOWER_CASE_BIT;
    if ((lower === LETTER_H || lower === LETTER_A) && leads(bytes, at))
      written = append(out, written, ATTRIBUTE_PREFIX);
    out[written++] = byte;
  }
  return out.toString('utf8', 0, written);
}

/**
 * Closes SVG and MathML where a browser leaves them, so that text after an image without an end tag is still displayed when
 * `disarmHtml` has renamed the image: the content of the renamed element is hidden. An image that nothing ends is closed at
 * its beginning. It only inserts end tags.
 */
export function closeDrawings(html: string): string {
  if (!/<(?:svg|math)/i.test(html)) return html;
  const tokens = new HtmlTokenizer(html);
  const edits: { at: number; text: string }[] = [];
  const open: { name: string; end: number }[] = [];
  /** The element in an image whose content becomes text, whatever it looks like, once the image is renamed. */
  let raw = '';
  let depth = 0;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const outer = depth;
    depth = tokens.foreignDepth;
    const wasIn = outer > 0;
    if (kind !== 'start tag' && kind !== 'end tag') continue;
    const { name } = tokens;
    const isStart = kind === 'start tag';
    if (!isStart && name === raw) raw = '';
    if (!isStart && depth < outer && open.at(-1)?.name === name) {
      open.pop();
      if (raw !== '') edits.push({ at: tokens.start, text: `</${raw}>` });
      raw = '';
    }
    if (wasIn && depth === 0) {
      const ends = open.splice(0).toReversed();
      edits.push({
        at: tokens.start,
        text: [raw, ...ends.map((one) => one.name)].map((one) => one && `</${one}>`).join(''),
      });
      raw = '';
    }
    if (!isStart) continue;
    const isDrawing = DRAWINGS.has(name);
    const isRaw = wasIn && tokens.isForeign && (name === 'style' || name === 'title');
    if (tokens.isSelfClosing && (isDrawing || isRaw)) edits.push({ at: tokens.end, text: `</${name}>` });
    else if (isDrawing) open.push({ name, end: tokens.end });
    else if (wasIn && depth > 0 && raw === '' && (name === 'style' || name === 'title')) raw = name;
  }
  // An element that never ends was begun before anything that ended after it.
  for (const { name, end } of open) edits.push({ at: end, text: `</${name}>` });
  edits.sort((a, b) => a.at - b.at);
  const parts: string[] = [];
  let at = 0;
  for (const edit of edits) {
    parts.push(html.slice(at, edit.at), edit.text);
    at = edit.at;
  }
  return parts.join('') + html.slice(at);
}

/** Returns the end of the name that begins here, if the tree contains the whole name; otherwise -1. */
function wholeNameEnd(find: NameTree, bytes: Buffer, from: number): number {
  const end = find(bytes, from);
  return end > 0 && isNameEnd(bytes, end) ? end : -1;
}

/** Not a closure, because a million calls would take ten times as long. */
function append(out: Buffer, at: number, text: Buffer): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text[i]!;
  return at + text.length;
}

/** Reports whether an attribute that leads outside begins here. */
function leads(bytes: Buffer, at: number): boolean {
  const name = (bytes[at]! | LOWER_CASE_BIT) === LETTER_H ? HREF : ATTRIBUTION_SRC;
  if (at + name.length >= bytes.length) return false;
  for (let i = 1; i < name.length; i++) if ((bytes[at + i]! | LOWER_CASE_BIT) !== name[i]) return false;
  return hasValue(bytes, at + name.length);
}

/**
 * Reports whether the text after an attribute's name may be parsed as its value, here or after one more name: an empty
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

/** Elements that only format a text, and load nothing. */
const PLAIN_KEPT = new Set(
  [
    'p div blockquote pre code b strong i em u s sub sup h1 h2 h3 h4 h5 h6',
    'ul ol li dl dt dd table thead tbody tr td th br hr',
  ].flatMap((line) => line.split(' ')),
);
const VOID_KEPT = new Set(['br', 'hr']);
/** Elements whose content is not text of the message, or is text to a browser whatever it looks like. */
const LEFT_OUT = new Set(
  'script style title textarea xmp iframe noembed noframes template object svg math select noscript'.split(' '),
);
const DRAWINGS: ReadonlySet<string> = new Set(['svg', 'math']);
const DEPTH_MAX = 100;
const ADDRESS_CHARS_MAX = 2048;
const ALT_CHARS_MAX = 200;
const LINKED = /^(?:https?:\/\/|mailto:)[^\s"'<>]+$/i;

/**
 * Converts untrusted HTML so that it can be embedded in ours: elements without any attribute, each of them closed, so
 * that nothing in it is fetched, runs, covers the surrounding page, or closes the enclosing element. Links become their
 * text followed by the address, images their alt text. Of a text longer than `charsMax` only the beginning is used.
 */
export function plainHtml(html: string, charsMax: number): string {
  const writer = new PlainWriter(html.slice(0, charsMax).toWellFormed().replaceAll('\0', ''));
  writer.readAll();
  return writer.finish();
}

/** Entities stay as they are: in a text none of them creates an element. */
const asText = (text: string): string => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;');

class PlainWriter {
  #tokens: HtmlTokenizer;
  /** The element that is being omitted, up to its end tag if there is one. */
  #leftOut: string | undefined;
  #leftOutAt = 0;
  /** SVG and MathML that never end are not omitted, because the text after them would be lost. */
  #hasDrawings = false;
  readonly #out: string[] = [];
  readonly #open: string[] = [];
  #link: { address: string; outAt: number } | undefined;

  constructor(html: string) {
    this.#tokens = new HtmlTokenizer(html);
  }

  readAll(): void {
    this.#readTokens();
    if (this.#leftOut === undefined || !DRAWINGS.has(this.#leftOut)) return;
    this.#hasDrawings = true;
    this.#leftOut = undefined;
    this.#tokens = new HtmlTokenizer(this.#tokens.html, this.#leftOutAt);
    this.#readTokens();
  }

  #readTokens(): void {
    const tokens = this.#tokens;
    for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
      if (this.#leftOut !== undefined && DRAWINGS.has(this.#leftOut)) {
        // Its end tag ends it, and so do the tags of HTML at which a browser leaves it.
        if (tokens.foreignDepth > 0) continue;
        this.#leftOut = undefined;
      }
      if (this.#leftOut !== undefined) {
        if (kind === 'end tag' && tokens.name === this.#leftOut) this.#leftOut = undefined;
      } else if (kind === 'text' || kind === 'cdata') this.#out.push(asText(tokens.text));
      else if (kind === 'start tag') this.#readStartTag(tokens.name);
      else if (kind === 'end tag') this.#readEndTag(tokens.name);
    }
  }

  finish(): string {
    this.#endLink();
    for (const name of this.#open.toReversed()) this.#out.push(`</${name}>`);
    return this.#out.join('');
  }

  #readStartTag(name: string): void {
    if (LEFT_OUT.has(name)) {
      const isDrawing = DRAWINGS.has(name);
      const isEmpty = this.#tokens.isSelfClosing && (isDrawing || this.#tokens.isForeign);
      if (isEmpty || (isDrawing && this.#hasDrawings)) return;
      this.#leftOut = name;
      this.#leftOutAt = this.#tokens.start;
      return;
    }
    if (name === 'img') {
      const alt = this.#tokens.readAttribute('alt').slice(0, ALT_CHARS_MAX).trim();
      if (alt !== '') this.#out.push(`[${asText(alt)}]`);
    }
    if (name === 'a') this.#beginLink();
    if (!PLAIN_KEPT.has(name) || this.#open.length >= DEPTH_MAX) return;
    this.#out.push(`<${name}>`);
    if (!VOID_KEPT.has(name)) this.#open.push(name);
  }

  #readEndTag(name: string): void {
    if (name === 'a') this.#endLink();
    const at = this.#open.lastIndexOf(name);
    if (at < 0) return;
    this.#endLink();
    for (const inner of this.#open.splice(at).toReversed()) this.#out.push(`</${inner}>`);
  }

  #beginLink(): void {
    this.#endLink();
    const address = decodeAttribute(this.#tokens.readAttribute('href')).trim();
    if (address.length <= ADDRESS_CHARS_MAX && LINKED.test(address))
      this.#link = { address: address.replaceAll('&', '&amp;'), outAt: this.#out.length };
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link && this.#out.slice(link.outAt).join('').trim() !== link.address) this.#out.push(` (${link.address})`);
  }
}
