import type { MergeText } from './parse-merge.ts';

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
export const BEGINNING_CHARS = 200;

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
