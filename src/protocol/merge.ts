import { escapeHtml } from './safe-html/index.ts';

const KEY_CHARS_MAX = 50;

interface MergeVariable {
  key: string;
  /** What stands behind the bar; undefined without a bar, and empty text is a default too. */
  inlineDefault: string | undefined;
}

/** Text and variables in the order in which they stand. */
export type MergeText = readonly (string | MergeVariable)[];

// A default holds no brace. So an attempt that fails never reads past the next brace, where the next one may begin, and
// hostile text costs no more than its length.
const variable = new RegExp(`\\{\\{\\{ *([A-Za-z0-9_]{1,${KEY_CHARS_MAX}}) *(?:\\|([^{}]*))?\\}\\}\\}`, 'g');

/** Spaces around the key are passed over: left standing, the whole variable would go out as it is written. */
export function parseMerge(text: string): MergeText {
  const parts: (string | MergeVariable)[] = [];
  let from = 0;
  for (const found of text.matchAll(variable)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push({ key: found[1] ?? '', inlineDefault: found[2] });
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

export function keysOf(text: MergeText): Set<string> {
  const keys = new Set<string>();
  for (const part of text) if (typeof part !== 'string') keys.add(part.key);
  return keys;
}

/** What a value is to a browser where it stands. */
export interface Place {
  /**
   * `nowhere` is where no escape keeps a value from being code or a name: in a script, in an event handler, in a page within
   * the page, among the names of tags and attributes.
   */
  is: 'text' | 'comment' | 'link' | 'css' | 'nowhere';
  /** Of an attribute without quotes, which a space would end. */
  isBare: boolean;
  /** Of a link: what stands in the attribute between the variable before, or the beginning, and this one. */
  before: string;
  /** Of a link: the first variable of its attribute. */
  isFirst: boolean;
  /** It is where an `<a>` leads to. */
  isAnchor: boolean;
  /**
   * The part of a URL, in `href` and similar attributes, that contains the value; undefined if the value begins the
   * URL, names its host, or is not in a URL.
   */
  urlPart: 'path' | 'query' | undefined;
}

const places = new WeakMap<object, readonly Place[]>();

/** The places of the variables of an HTML text, in their order; found once for a text that is rendered often. */
export function placesOf(text: MergeText): readonly Place[] {
  let found = places.get(text);
  if (!found) {
    const reader = new PlaceReader();
    found = text.flatMap((part) => (typeof part === 'string' ? reader.read(part) : [reader.place()]));
    places.set(text, found);
  }
  return found;
}

/** Stores places that were found elsewhere, for this very text. */
export const notePlaces = (text: MergeText, found: readonly Place[]): void => void places.set(text, found);

/**
 * Whether one of these variables stands in an HTML text where its value is read or followed, in whatever letter case. A link
 * around nothing is followed by no reader.
 */
export function showsAny(text: MergeText, keys: readonly string[]): boolean {
  const found = placesOf(text);
  let i = -1;
  return text.some((part, at) => {
    if (typeof part === 'string') return false;
    const place = found[++i];
    if (!keys.includes(part.key.toUpperCase()) || !place || !['text', 'link'].includes(place.is)) return false;
    return !place.isAnchor || isShown(text, at, found.slice(i + 1, i + 1 + LINK_VARIABLES));
  });
}

/** So much of what stands in a link is looked at: what is longer shows something. */
const LINK_CHARS = 4000;
const LINK_VARIABLES = 100;
/** A link that begins ends the one before. */
const LINK_END = /<\/?a[\s>]/i;
const PICTURE = /<(?:img|picture|svg|video|object|input|button)\b/i;
/** White space, and characters without width, as they are and as HTML writes them. */
const BLANK = /[\s\p{Cf}\u034F]|&(?:nbsp|zwnj|zwj|shy|ensp|emsp|thinsp|#0*160|#x0*a0|#x0*200[b-f]|#0*820[3-7]);?/giu;

/** Whether a link whose target holds the variable at this part has a text or a picture. */
function isShown(text: MergeText, at: number, places: readonly Place[]): boolean {
  let rest = '';
  let i = 0;
  for (const part of text.slice(at + 1, at + 1 + 2 * LINK_VARIABLES)) {
    // What a variable in the text says may be empty, as any value may.
    rest += typeof part === 'string' ? part.slice(0, LINK_CHARS + 1) : places[i++]?.is === 'text' ? 'x' : '';
    if (rest.length > LINK_CHARS || LINK_END.test(rest)) break;
  }
  const end = rest.search(LINK_END);
  if (end === -1 && rest.length > LINK_CHARS) return true;
  const begin = rest.indexOf('>') + 1;
  const inside = begin === 0 ? '' : rest.slice(begin, end === -1 ? undefined : end);
  return PICTURE.test(inside) || inside.replaceAll(/<!--.*?-->|<[^>]*>/gs, '').replaceAll(BLANK, '') !== '';
}

/** Of what a browser would call so (HTML §13.2.5), as far as it decides what a value may do. */
type State =
  | 'text'
  | 'tag open'
  | 'tag name'
  | 'before name'
  | 'name'
  | 'after name'
  | 'before value'
  | 'value'
  | 'declaration'
  | 'comment'
  /** In an element that holds no other: until its end tag. */
  | 'raw';

const SPACE = /[\t\n\f\r ]/;
const RAW = new Set(['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes']);
/** What is read, and leads nowhere. */
const PLAIN = /^(?:title|alt|value|placeholder|label|summary|aria-.*|data-.*)$/;
const CODE = /^(?:on.*|srcdoc)$/;
/** Attributes whose value is one address. */
const ADDRESS = /^(?:href|src|action|formaction|background|poster|cite|xlink:href)$/;
/** Placeholder for the value of a variable, which may be a whole URL. */
const VALUE = '\uFFFC';
/**
 * Matches beginnings that a path cannot follow directly: empty, only variables, or a scheme with an unfinished host.
 */
const BEFORE_PATH = /^\s*(?:\uFFFC*|(?:[a-z][a-z0-9+.-]*:|\uFFFC)?\/\/[^/]*)$/i;
/** Long enough for any scheme with what browsers pass over in it. */
const BEGINNING_CHARS = 200;

class PlaceReader {
  #state: State = 'text';
  /** The name of the tag and of the attribute as they are read, in lower case. */
  #tag = '';
  #attribute = '';
  #quote = '';
  #value = '';
  /** The beginning of the whole attribute, with `VALUE` for each variable. */
  #address = '';
  #hasQuery = false;
  #isFirst = true;
  /** The end of what was read last, by which comments and elements end. */
  #tail = '';

  /** Where a variable stands that comes now; reading goes on behind it. */
  place(): Place {
    if (this.#state === 'before value') {
      const is = this.#kind();
      // A value that begins without quotes has none.
      this.#begin('');
      this.#isFirst = false;
      this.#address = VALUE;
      return { is, isBare: true, before: '', isFirst: true, isAnchor: this.#isAnchor(), urlPart: undefined };
    }
    const own = { isFirst: this.#isFirst, isAnchor: this.#isAnchor() };
    const place: Place = { is: this.#kind(), isBare: false, before: this.#value, ...own, urlPart: this.#urlPart() };
    if (this.#state === 'value') {
      if (this.#address.length < BEGINNING_CHARS) this.#address += VALUE;
      place.isBare = this.#quote === '';
      this.#value = '';
      this.#isFirst = false;
    }
    // What is put in here ends nothing; nothing is put in nowhere.
    if (place.is !== 'nowhere') this.#tail = 'x';
    return place;
  }

  #urlPart(): Place['urlPart'] {
    if (this.#state !== 'value' || !ADDRESS.test(this.#attribute)) return undefined;
    if (this.#hasQuery) return 'query';
    return BEFORE_PATH.test(this.#address) ? undefined : 'path';
  }

  #isAnchor(): boolean {
    const isValue = this.#state === 'value' || this.#state === 'before value';
    return isValue && this.#tag === 'a' && this.#attribute === 'href';
  }

  #kind(): Place['is'] {
    switch (this.#state) {
      case 'text':
        return 'text';
      case 'comment':
        return 'comment';
      case 'raw':
        if (this.#tag === 'script' || /<\/[a-z]*$/i.test(this.#tail)) return 'nowhere';
        return this.#tag === 'style' ? 'css' : 'text';
      case 'value':
      case 'before value':
        if (CODE.test(this.#attribute)) return 'nowhere';
        if (this.#attribute === 'style') return 'css';
        return PLAIN.test(this.#attribute) ? 'text' : 'link';
      default:
        return 'nowhere';
    }
  }

  /** Answers nothing, which is the place of no variable. */
  read(text: string): [] {
    for (const char of text) this.#step(char);
    return [];
  }

  #step(char: string): void {
    switch (this.#state) {
      case 'text':
        if (char === '<') this.#enter('tag open');
        return;
      case 'tag open':
        return this.#afterBracket(char);
      case 'tag name':
        if (SPACE.test(char) || char === '/') this.#enter('before name');
        else if (char === '>') this.#endTag();
        else this.#tag += char.toLowerCase();
        return;
      case 'declaration':
        this.#tail += char;
        if (this.#tail === '--') this.#enter('comment');
        else if (char === '>') this.#enter('text');
        return;
      case 'comment':
        this.#keep(char);
        // "<!-->" and "<!--->" are whole comments, which is read here as their end.
        if (char === '>' && /(?:--!?|^-?)>$/.test(this.#tail)) this.#enter('text');
        return;
      case 'raw':
        this.#keep(char);
        if (/[\t\n\f\r />]/.test(char) && this.#tail.toLowerCase().slice(0, -1).endsWith(`</${this.#tag}`)) {
          this.#tag = '';
          this.#enter(char === '>' ? 'text' : 'before name');
        }
        return;
      default:
        return this.#inTag(char);
    }
  }

  #afterBracket(char: string): void {
    const isEndTag = this.#tag === '/';
    if (/[a-z]/i.test(char)) {
      // An end tag opens no element.
      this.#tag = isEndTag ? `/${char.toLowerCase()}` : char.toLowerCase();
      this.#state = 'tag name';
    } else if (char === '/' && !isEndTag) this.#tag = '/';
    else if (char === '!' && !isEndTag) this.#enter('declaration');
    else if (char === '>' || !(isEndTag || char === '?')) this.#enter(char === '<' ? 'tag open' : 'text');
    else {
      // Whatever follows, it is no comment with dashes.
      this.#enter('declaration');
      this.#tail = 'x';
    }
  }

  #inTag(char: string): void {
    if (this.#state === 'value') return this.#inValue(char);
    if (char === '>') return this.#endTag();
    if (this.#state === 'before value') {
      if (SPACE.test(char)) return;
      const isQuote = char === '"' || char === "'";
      this.#begin(isQuote ? char : '');
      if (!isQuote) this.#keepValue(char);
      return;
    }
    if (char === '=' && this.#state !== 'before name') this.#state = 'before value';
    else if (char === '/') this.#state = 'before name';
    else if (SPACE.test(char)) this.#state = this.#state === 'name' ? 'after name' : this.#state;
    else if (this.#state === 'name') this.#attribute += char.toLowerCase();
    else {
      this.#attribute = char.toLowerCase();
      this.#state = 'name';
    }
  }

  #inValue(char: string): void {
    if (this.#quote === '' ? SPACE.test(char) : char === this.#quote) this.#state = 'before name';
    else if (this.#quote === '' && char === '>') this.#endTag();
    else this.#keepValue(char);
  }

  #keepValue(char: string): void {
    if (this.#value.length < BEGINNING_CHARS) this.#value += char;
    if (this.#address.length < BEGINNING_CHARS) this.#address += char;
    // The `#` of a character reference, such as `&#38;`, starts no fragment.
    if (char === '?' || (char === '#' && !this.#address.endsWith('&#'))) this.#hasQuery = true;
  }

  #begin(quote: string): void {
    this.#state = 'value';
    this.#quote = quote;
    this.#value = '';
    this.#address = '';
    this.#hasQuery = false;
    this.#isFirst = true;
  }

  #endTag(): void {
    const isRaw = RAW.has(this.#tag);
    this.#state = isRaw ? 'raw' : 'text';
    this.#tail = '';
    if (!isRaw) this.#tag = '';
  }

  #enter(state: State): void {
    this.#state = state;
    this.#tail = '';
    if (state === 'tag open') this.#tag = '';
  }

  /** As much as the longest end tag has. */
  #keep(char: string): void {
    this.#tail = (this.#tail + char).slice(-12);
  }
}

/** Maps rather than objects: `constructor` is a possible key. */
export interface MergeValues {
  given: ReadonlyMap<string, string>;
  /** Declared beside the text, and behind a default that stands in it. */
  fallbacks?: ReadonlyMap<string, string>;
}

/** `html` makes a value mean itself as text and inside a quoted attribute; `none` is for plain text and subjects. */
type Escaping = 'html' | 'none';

interface RenderOptions {
  escape: Escaping;
  /**
   * For HTML with values that untrusted senders may have written: omits a value where it would be code or a name, and
   * percent-encodes it in the path and query of a URL.
   */
  areForeign?: boolean;
}

/** The text with every variable replaced: by the given value, its inline default, its fallback, or nothing. */
export function renderMerge(
  text: string | MergeText,
  values: MergeValues,
  { escape, areForeign = false }: RenderOptions,
): string {
  const parts = parsed(text);
  if (areForeign && escape === 'html') return renderForeign(parts, values);
  const valueOf = reader(values, escape);
  let out = '';
  for (const part of parts) out += typeof part === 'string' ? part : valueOf(part);
  return out;
}

/** As HTML, with values that strangers may have written: each means itself, and stays where it was put. */
function renderForeign(parts: MergeText, values: MergeValues): string {
  const places = placesOf(parts);
  const valueOf = reader(values, 'none');
  let out = '';
  let begun = '';
  let variables = 0;
  for (const [n, part] of parts.entries()) {
    if (typeof part === 'string') {
      out += part;
      continue;
    }
    const place = places[variables++];
    if (!place || place.is === 'nowhere') continue;
    let value = valueOf(part);
    if (place.is === 'link') {
      // Several variables may make a scheme together.
      begun = place.isFirst ? place.before : begun + place.before;
      if (runsCode(begun + value)) value = '';
      begun = (begun + value).slice(0, BEGINNING_CHARS);
      if (place.urlPart) value = percentEncode(value, place.urlPart);
    }
    out += writtenAt(place, value, parts[n + 1]);
  }
  return out;
}

/** Encodes a value as one part of a URL: a path keeps its slashes, and a query is a single value (RFC 3986 §2.1). */
function percentEncode(value: string, part: 'path' | 'query'): string {
  const text = value.toWellFormed();
  if (part === 'query') return encodeURIComponent(text);
  return encodeURI(text).replaceAll(/[?#]/g, encodeURIComponent);
}

function writtenAt(place: Place, value: string, next: string | MergeVariable | undefined): string {
  const text = escapeHtml(place.is === 'css' ? escapeCss(value) : value);
  if (place.is === 'comment') return text.replaceAll('-', '&#45;');
  if (!place.isBare) return text;
  // The next word would be the value of an attribute that has none.
  if (text === '') return place.isFirst && (typeof next !== 'string' || /^[\s>]/.test(next)) ? '""' : '';
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[\t\n\f =`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Words, numbers and colours stand as they are; whatever could end a value, or begin a function, means itself (CSS Syntax §4.3.7). */
const escapeCss = (value: string): string =>
  value.replaceAll(/[^\w\-#%., \u0080-\u{10ffff}]/gu, (char) => `\\${char.charCodeAt(0).toString(16)} `);

/** As a browser reads a scheme: without spaces and control characters, in any letter case. Pictures as data run nothing. */
function runsCode(value: string): boolean {
  const compact = value
    .slice(0, BEGINNING_CHARS)
    .replaceAll(/[\p{Cc}\s]/gu, '')
    .toLowerCase();
  return /^(?:javascript|vbscript|data(?!:image\/(?:png|gif|jpe?g|webp)\b)):/.test(compact);
}

/** Describes the parts of a text, so that the length of its values can be computed without parsing it again. */
interface Lengths {
  /** Number of characters outside of variables. */
  plain: number;
  /** Number of uses with and without a default, by key; a percent-encoded use counts several times. */
  keys: Map<string, { bare: number; withDefault: number; defaultChars: number }>;
}

/** The options of rendering that affect the length. */
type Kind = Escaping | 'foreign html';

const lengths: Record<Kind, WeakMap<object, Lengths>> = {
  html: new WeakMap(),
  none: new WeakMap(),
  'foreign html': new WeakMap(),
};

/** Measures a text once, however often it is rendered. */
function measure(text: MergeText, kind: Kind): Lengths {
  let found = lengths[kind].get(text);
  if (found) return found;
  found = { plain: 0, keys: new Map() };
  const places = kind === 'foreign html' ? placesOf(text) : [];
  let variables = 0;
  for (const part of text) {
    if (typeof part === 'string') {
      found.plain += part.length;
      continue;
    }
    const { key, inlineDefault } = part;
    const own = found.keys.get(key) ?? { bare: 0, withDefault: 0, defaultChars: 0 };
    found.keys.set(key, own);
    const weight = places[variables++]?.urlPart === undefined ? 1 : ENCODED_CHARS;
    if (inlineDefault === undefined) own.bare += weight;
    else {
      own.withDefault += weight;
      own.defaultChars += weight * (kind === 'none' ? inlineDefault : escapeHtml(inlineDefault)).length;
    }
  }
  lengths[kind].set(text, found);
  return found;
}

/**
 * Returns an upper bound for the length of `renderMerge`, without rendering: a short text can ask for gigabytes.
 * Untrusted values are never longer than counted here.
 */
export function mergedChars(
  text: string | MergeText,
  values: MergeValues,
  { escape, areForeign = false }: RenderOptions,
): number {
  const valueOf = reader(values, escape);
  const { plain, keys } = measure(parsed(text), areForeign && escape === 'html' ? 'foreign html' : escape);
  let chars = plain;
  for (const [key, { bare, withDefault, defaultChars }] of keys) {
    const isGiven = values.given.has(key);
    const filled = isGiven ? bare + withDefault : bare;
    if (filled > 0) chars += filled * valueOf({ key, inlineDefault: undefined }).length;
    if (!isGiven) chars += defaultChars;
  }
  return chars;
}

/** A character beyond ASCII is up to three bytes, each of which becomes three characters. */
const ENCODED_CHARS = 9;

const parsed = (text: string | MergeText): MergeText => (typeof text === 'string' ? parseMerge(text) : text);

function reader({ given, fallbacks }: MergeValues, escape: Escaping): (variable: MergeVariable) => string {
  // A key that stands in many places is escaped once.
  const escaped = new Map<string, string>();
  const put = escape === 'html' ? escapeHtml : (text: string): string => text;
  return ({ key, inlineDefault }) => {
    if (inlineDefault !== undefined && !given.has(key)) return put(inlineDefault);
    let value = escaped.get(key);
    if (value === undefined) {
      value = put(given.get(key) ?? fallbacks?.get(key) ?? '');
      escaped.set(key, value);
    }
    return value;
  };
}
