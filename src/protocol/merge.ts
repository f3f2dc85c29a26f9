import { decodeAttribute } from './html-references/index.ts';
import { HtmlTokenizer, VOID } from './html/index.ts';
import { escapeHtml } from './safe-html/index.ts';

const KEY_CHARS_MAX = 50;

interface MergeVariable {
  key: string;
  /** The text after the bar; undefined without a bar, and an empty text is a default too. */
  inlineDefault: string | undefined;
  /** The part of a URL for which the text says that the value is percent-encoded. */
  encoding?: UrlPart;
}

type UrlPart = 'path' | 'query';

/** Filters after the last bar. They are never defaults. */
const FILTERS: readonly (readonly [filter: string, encoding: UrlPart])[] = [
  ['urlencode', 'query'],
  ['urlpath', 'path'],
];

/** Text and variables in their order. */
export type MergeText = readonly (string | MergeVariable)[];

// A default contains no brace. So a failed match never reads past the next brace, where the next one may begin, and
// hostile text costs only linear time.
const variable = new RegExp(`\\{\\{\\{ *([A-Za-z0-9_]{1,${KEY_CHARS_MAX}}) *(?:\\|([^{}]*))?\\}\\}\\}`, 'g');

/**
 * Splits a text into literal text and variables. Spaces around a key are ignored: otherwise the variable would be sent
 * out literally.
 */
export function parseMerge(text: string): MergeText {
  const parts: (string | MergeVariable)[] = [];
  let from = 0;
  for (const found of text.matchAll(variable)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(readVariable(found[1] ?? '', found[2]));
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

function readVariable(key: string, afterBar: string | undefined): MergeVariable {
  const bar = afterBar?.lastIndexOf('|') ?? -1;
  const filter = afterBar?.slice(bar + 1).trim();
  const encoding = FILTERS.find(([name]) => name === filter)?.[1];
  if (encoding === undefined) return { key, inlineDefault: afterBar };
  return { key, inlineDefault: bar < 0 ? undefined : afterBar?.slice(0, bar), encoding };
}

/** Writes a parsed text back in the syntax that `parseMerge` reads. */
export function writeMerge(text: MergeText): string {
  let out = '';
  for (const part of text) {
    if (typeof part === 'string') {
      out += part;
      continue;
    }
    const { key, inlineDefault, encoding } = part;
    const filter = FILTERS.find(([, one]) => one === encoding)?.[0];
    out += `{{{${[key, inlineDefault, filter].filter((piece) => piece !== undefined).join('|')}}}}`;
  }
  return out;
}

/** Returns HTML whose variables in URLs name their encoding, so that a text made from it has the same links. */
export function nameEncodings(html: string): string {
  const text = parseMerge(html);
  const found = findMergePlaces(text);
  let variables = 0;
  return writeMerge(
    text.map((part) => {
      if (typeof part === 'string') return part;
      const encoding = part.encoding ?? found[variables]?.urlPart;
      variables++;
      return encoding === undefined ? part : { ...part, encoding };
    }),
  );
}

/**
 * Returns HTML with its defaults escaped, as they are when they are merged: to a reader of HTML, a default is text and never
 * markup.
 */
export const escapeDefaults = (html: string): string =>
  html.replaceAll(variable, (whole, key: string, inlineDefault: string | undefined) =>
    inlineDefault === undefined ? whole : `{{{${key}|${escapeHtml(inlineDefault)}}}}`,
  );

/** Returns HTML of the same length with a letter in place of each character of a variable, to find positions outside of them. */
export const hideVariables = (html: string): string => html.replaceAll(variable, (whole) => VALUE.repeat(whole.length));

export function collectKeys(text: MergeText): Set<string> {
  const keys = new Set<string>();
  for (const part of text) if (typeof part !== 'string') keys.add(part.key);
  return keys;
}

/** The HTML context of a value. */
export interface Place {
  /**
   * `nowhere`: a context in which no escaping keeps a value from becoming code or a name, such as a script, an event
   * handler, a `srcdoc`, or the names of tags and attributes. `resource`: an address that is loaded, followed or submitted to
   * without a choice of the reader, such as that of a script, a frame or a form; a value is left empty.
   */
  is: 'text' | 'comment' | 'link' | 'css' | 'resource' | 'nowhere';
  /** The value is in a comment, conditional or not, which `-->` would end. */
  isInComment: boolean;
  /** The value is in an unquoted attribute, which a space would end. */
  isBare: boolean;
  /** For a link: the text of the attribute between the previous variable, or its beginning, and this one. */
  before: string;
  /** For a link: this is the first variable of its attribute. */
  isFirst: boolean;
  /** The value is in the target of an `<a>`. */
  isAnchor: boolean;
  /**
   * A reader sees the value, or can follow it: displayed text, and the target of a displayed link that has a text or an
   * image.
   */
  isShown: boolean;
  /**
   * The part of a URL, in `href` and similar attributes, that contains the value; undefined if the value begins the
   * URL, names its host, or is not in a URL.
   */
  urlPart: UrlPart | undefined;
}

const places = new WeakMap<object, readonly Place[]>();

/** Returns the places of the variables of an HTML text, in order; cached for a text that is rendered often. */
export function findMergePlaces(text: MergeText): readonly Place[] {
  let found = places.get(text);
  if (!found) {
    found = new PlaceReader(text).readAll();
    places.set(text, found);
  }
  return found;
}

/** Stores places that were found elsewhere, for this very text. */
export const notePlaces = (text: MergeText, found: readonly Place[]): void => void places.set(text, found);

/**
 * Reports whether one of these variables is in an HTML text where a reader sees or follows its value; the letter case
 * of keys is ignored.
 */
export function showsAny(text: MergeText, keys: readonly string[]): boolean {
  const found = findMergePlaces(text);
  let i = 0;
  return text.some((part) => {
    if (typeof part === 'string') return false;
    const place = found[i++];
    return place?.isShown === true && keys.includes(part.key.toUpperCase());
  });
}

const EXCERPTS_MAX = 1000;
/** Limits for the excerpt that is shown of a tag, and of the text after its variable. */
const TAG_CHARS_MAX = 2000;
const AFTER_CHARS = 40;

/**
 * Finds merge variables in unquoted attributes, where a value with a blank would end the attribute and begin another
 * one. Returns each with the text before it in its tag, omitting quoted values.
 */
export const findUnquoted = (html: string): string[] => listExcerpts(html, ({ isBare }) => isBare);

/** Finds merge variables that would name what a mail program loads, in the same form. */
export const findResources = (html: string): string[] => listExcerpts(html, ({ is }) => is === 'resource');

function listExcerpts(html: string, isWanted: (place: Place) => boolean): string[] {
  const reader = new PlaceReader(parseMerge(html));
  const wanted = reader.readAll().flatMap((place, index) => (isWanted(place) ? [index] : []));
  if (wanted.length === 0) return [];
  const offsets = Array.from(html.matchAll(variable), ({ index }) => index);
  const { variables } = reader;
  return wanted.slice(0, EXCERPTS_MAX).map((index) => {
    const { tagStart } = variables[index]!;
    // PlaceReader counts each earlier variable in the tag as one character; up to the first of them the offsets agree.
    let first = index;
    while (first > 0 && variables[first - 1]!.at >= tagStart) first--;
    const start = offsets[first]! - (variables[first]!.at - tagStart);
    const at = offsets[index]!;
    const tag = html.slice(start, Math.min(at, start + TAG_CHARS_MAX)).replaceAll(/"[^"]*"|'[^']*'/g, '""');
    return `${tag}${html.slice(at, at + AFTER_CHARS)}`;
  });
}

/** Only this much of one text of a link is examined; anything longer counts as visible. */
const LINK_CHARS = 4000;
/** Elements whose content no reader sees. */
const HIDDEN = new Set(
  [
    'script style title textarea template iframe noembed noframes select datalist option audio video canvas object',
    'desc metadata defs',
  ].flatMap((line) => line.split(' ')),
);
const NOT_DISPLAYED = /(?:^|[;{])\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))/i;
const PICTURES = new Set(['img', 'picture', 'svg', 'video', 'object', 'input', 'button']);
/** White space and zero-width characters, literal and as character references. */
const BLANK = /[\s\p{Cf}\u034F]|&(?:nbsp|zwnj|zwj|shy|ensp|emsp|thinsp|#0*160|#x0*a0|#x0*200[b-f]|#0*820[3-7]);?/giu;

/** Attributes that are read by people or programs, but lead nowhere. */
const PLAIN = /^(?:(?:title|alt|value|placeholder|label|summary)$|aria-|data-)/;
const CODE = /^(?:on|srcdoc$)/;
/** Attributes whose value is one address. */
const ADDRESS = /^(?:href|src|action|formaction|background|poster|cite|xlink:href)$/;
/** Attributes that, in any element, are loaded, submitted to or notified, or decide what such an address means. */
const RESOURCE = /^(?:action|formaction|ping|manifest|codebase|classid|profile|http-equiv|attributionsrc)$/;
const ANIMATED = /^(?:from|to|by|values|attributename|href|xlink:href)$/;
/** Attributes of single elements of that kind. Images, sound and films are not among them: they run nothing. */
const ELEMENT_RESOURCE = new Map([
  ['script', /^(?:src|href|xlink:href)$/],
  ['link', /^(?:href|imagesrcset)$/],
  ['base', /^href$/],
  ['iframe', /^src$/],
  ['frame', /^src$/],
  ['embed', /^src$/],
  ['object', /^(?:data|archive)$/],
  ['applet', /^(?:code|archive|object)$/],
  ['param', /^value$/],
  ['use', /^(?:href|xlink:href)$/],
  ...['animate', 'animatecolor', 'animatemotion', 'animatetransform', 'set'].map((name) => [name, ANIMATED] as const),
]);
/** The end of a style sheet in which the address of another one is being written, and how much of it is examined. */
const IMPORT = /@import(?![\w-])[^;{}]*$/i;
const IMPORT_CHARS = 200;
/** Placeholder for the value of a variable, which may be a whole URL. */
const VALUE = '\uFFFC';
/**
 * Matches beginnings that a path cannot follow directly: empty, only variables, or a scheme with an unfinished host.
 */
const BEFORE_PATH = /^\s*(?:\uFFFC*|(?:[a-z][a-z0-9+.-]*:|\uFFFC)?\/\/[^/]*)$/i;
/** The beginning of a conditional comment, after its `<!--`. */
const CONDITION = /[\t\n\f\r ]{0,20}\[[\t\n\f\r ]{0,20}if/iy;
/** Number of characters of an address in which its scheme is looked for. */
const BEGINNING_CHARS = 4000;
/** More than any scheme has. */
const SCHEME_CHARS = 40;

/**
 * Reads a text with one placeholder for each variable. Where a value would be code or a name it is omitted when the
 * text is rendered, so the tokenizer skips the placeholder there; elsewhere a value is at least one character and ends
 * nothing.
 */
export class PlaceReader {
  /** Offsets of the variables and their tags, counting each variable as one character. */
  readonly variables: { at: number; tagStart: number }[] = [];
  readonly #text: MergeText;
  readonly #tokens: HtmlTokenizer;
  readonly #places: Place[] = [];
  /**
   * Start of the value that contained the last variable, the offset after that variable, and whether a `?` or `#` was
   * seen.
   */
  #valueStart = -1;
  #valueAt = 0;
  #hasQuery = false;
  /** Targets in the tag that is being read, and those of the open link until it shows something. */
  #targets: Place[] = [];
  #openTargets: Place[] = [];
  /** The element that is not displayed: how many of its name are open in it, and the depth of the SVG that it is in. */
  #hidden: { name: string; open: number; depth: number } | undefined;
  /** Places in the content of the `<meta>` that is being read. */
  #metaContents: Place[] = [];
  /** The conditional comment that is being read: its start, the position up to which its condition is read, and its content. */
  #commentStart = -1;
  #conditionAt = 0;
  #conditional: HtmlTokenizer | undefined;
  /** Number of characters of conditions and of earlier conditional comments that were read. */
  #conditionalChars = 0;

  constructor(text: MergeText) {
    this.#text = text;
    const source = text.map((part) => (typeof part === 'string' ? part.replaceAll(VALUE, '\uFFFD') : VALUE));
    this.#tokens = new HtmlTokenizer(source.join(''));
  }

  /** Number of characters that were read: never more than the length of the text times a small number. */
  get charsRead(): number {
    return this.#tokens.charsRead + this.#conditionalChars + (this.#conditional?.charsRead ?? 0);
  }

  readAll(): Place[] {
    const { length } = this.#tokens.html;
    let at = 0;
    for (const part of this.#text) {
      if (typeof part !== 'string') this.#readVariable(at);
      at += typeof part === 'string' ? part.length : VALUE.length;
    }
    // After the last variable, only its tag and the content of its link matter.
    while ((this.#hasTargets() || this.#metaContents.length > 0) && this.#readToken(length));
    return this.#places;
  }

  #readVariable(at: number): void {
    while (this.#readToken(at));
    const isInComment = this.#tokens.region === 'comment';
    const tokens = (isInComment ? this.#readConditional(at) : undefined) ?? this.#tokens;
    const isInCondition = isInComment && this.#conditionAt > 0 && this.#conditional === undefined;
    const place = this.#findPlace(at, tokens, isInCondition ? 'nowhere' : this.#findKind(tokens));
    place.isInComment = isInComment;
    this.#places.push(place);
    this.variables.push({ at, tagStart: tokens.markStart });
    if (isInCondition) return;
    if (place.is === 'nowhere') tokens.skip();
    else if (isMetaContent(tokens)) {
      if (isInComment) place.is = 'resource';
      else this.#metaContents.push(place);
    } else if (isInComment) return;
    else if (place.isAnchor) this.#targets.push(place);
    else if (this.#hidden) return;
    else if (place.is === 'link' && isMapLink(tokens)) place.isShown = true;
    else if (tokens.region === 'text' && place.is === 'text') {
      place.isShown = true;
      this.#showLink();
    }
  }

  /**
   * Reads the content of a conditional comment (`<!--[if mso]> … <![endif]-->`) up to a variable, because Outlook takes it
   * for HTML. Returns undefined in another comment, and in the condition itself.
   */
  #readConditional(at: number): HtmlTokenizer | undefined {
    const { html, commentStart, markStart } = this.#tokens;
    if (this.#commentStart !== markStart) {
      this.#commentStart = markStart;
      this.#conditionalChars += this.#conditional?.charsRead ?? 0;
      this.#conditional = undefined;
      CONDITION.lastIndex = commentStart;
      this.#conditionAt = CONDITION.test(html) && CONDITION.lastIndex <= at ? CONDITION.lastIndex : 0;
    }
    if (this.#conditionAt === 0) return undefined;
    for (; !this.#conditional && this.#conditionAt < at; this.#conditionAt++) {
      this.#conditionalChars++;
      if (html.startsWith(']>', this.#conditionAt)) this.#conditional = new HtmlTokenizer(html, this.#conditionAt + 2);
    }
    if (this.#conditional) for (let kind = ''; kind !== 'paused'; kind = this.#conditional.next(at));
    return this.#conditional;
  }

  #hasTargets(): boolean {
    return this.#targets.length > 0 || this.#openTargets.length > 0;
  }

  /** Reads a token before the limit; returns false if there is none. */
  #readToken(limit: number): boolean {
    const tokens = this.#tokens;
    const depth = tokens.foreignDepth;
    const kind = tokens.next(limit);
    if (kind === 'paused' || kind === 'end') return false;
    if (kind === 'start tag' && this.#metaContents.length > 0) this.#endMeta();
    const isTag = kind === 'start tag' || kind === 'end tag';
    const isPicture = kind === 'start tag' && PICTURES.has(tokens.name) && !isHidden(tokens);
    if (isPicture && !this.#hidden) this.#showLink();
    if (isTag) this.#followHidden(kind === 'end tag', Math.min(depth, tokens.foreignDepth));
    if (!this.#hasTargets()) return true;
    if (isTag && tokens.name === 'a') {
      this.#openTargets = this.#targets;
      this.#targets = [];
    } else if ((kind === 'text' || kind === 'cdata') && !this.#hidden && isVisible(tokens.text)) this.#showLink();
    return true;
  }

  /** Follows the element that is not displayed, from a tag in SVG of this depth. */
  #followHidden(isEnd: boolean, depth: number): void {
    const tokens = this.#tokens;
    const { name } = tokens;
    // An image that ends, ends everything in it.
    if (this.#hidden && depth < this.#hidden.depth) this.#hidden = undefined;
    // A paragraph ends where the next one begins.
    if (!isEnd && name === 'p' && this.#hidden?.name === 'p') this.#hidden = undefined;
    const isEmpty = VOID.has(name) || (tokens.isSelfClosing && (depth > 0 || name === 'svg' || name === 'math'));
    if (this.#hidden) {
      if (name !== this.#hidden.name) return;
      if (isEnd) this.#hidden.open--;
      else if (!isEmpty) this.#hidden.open++;
      if (this.#hidden.open === 0) this.#hidden = undefined;
    } else if (!isEnd && !isEmpty && (HIDDEN.has(name) || isHidden(tokens))) this.#hidden = { name, open: 1, depth };
  }

  /** An address in the content of a `<meta>` is followed if another attribute says so, which may come last. */
  #endMeta(): void {
    const isFollowed = this.#tokens.findAttribute('http-equiv') !== undefined;
    for (const place of this.#metaContents) if (isFollowed) place.is = 'resource';
    this.#metaContents = [];
  }

  /** Notes that the open link has visible content. */
  #showLink(): void {
    for (const place of this.#openTargets) place.isShown = true;
    this.#openTargets = [];
  }

  #findPlace(at: number, tokens: HtmlTokenizer, is: Place['is']): Place {
    const { region, isUnquoted } = tokens;
    const place: Place = {
      is,
      isInComment: false,
      isBare: isUnquoted || region === 'before value',
      before: '',
      isFirst: true,
      isAnchor: false,
      isShown: false,
      urlPart: undefined,
    };
    if (is === 'css' && region === 'text' && IMPORT.test(tokens.html.slice(Math.max(0, at - IMPORT_CHARS), at)))
      place.is = 'resource';
    if (region !== 'value' && region !== 'before value') return place;
    const attribute = tokens.openAttribute;
    place.isAnchor = !tokens.isEndTag && tokens.name === 'a' && attribute === 'href';
    const source = tokens.html;
    const valueStart = region === 'value' ? tokens.valueStart : at;
    place.isFirst = valueStart !== this.#valueStart;
    if (place.isFirst) {
      this.#valueStart = valueStart;
      this.#valueAt = valueStart;
      this.#hasQuery = false;
    }
    place.before = source.slice(this.#valueAt, Math.min(at, this.#valueAt + BEGINNING_CHARS + 1));
    // The `#` of a character reference, such as `&#38;`, starts no fragment.
    this.#hasQuery ||= /\?|(?<!&)#/.test(source.slice(this.#valueAt, at));
    this.#valueAt = at + VALUE.length;
    if (region === 'value' && ADDRESS.test(attribute)) {
      const address = source.slice(valueStart, Math.min(at, valueStart + BEGINNING_CHARS));
      if (this.#hasQuery) place.urlPart = 'query';
      else if (!BEFORE_PATH.test(address)) place.urlPart = 'path';
    }
    // A value in the query of the author's address is data, and is percent-encoded.
    if (is !== 'nowhere' && place.urlPart !== 'query' && isResource(tokens.name, attribute)) place.is = 'resource';
    return place;
  }

  #findKind(tokens: HtmlTokenizer): Place['is'] {
    switch (tokens.region) {
      case 'text':
        if (tokens.rawElement === 'script' || tokens.isInForeignScript) return 'nowhere';
        return tokens.rawElement === 'style' || tokens.isInForeignStyle ? 'css' : 'text';
      case 'comment':
        return 'comment';
      case 'value':
      case 'before value':
        return findValueKind(tokens.openAttribute);
      default:
        return 'nowhere';
    }
  }
}

const isVisible = (text: string): boolean => text.length > LINK_CHARS || text.replaceAll(BLANK, '') !== '';

const isResource = (element: string, attribute: string): boolean =>
  RESOURCE.test(attribute) || ELEMENT_RESOURCE.get(element)?.test(attribute) === true;

/** Reports whether the last start tag says that its element is not displayed. */
function isHidden(tokens: HtmlTokenizer): boolean {
  if (tokens.findAttribute('hidden') || (tokens.name === 'dialog' && !tokens.findAttribute('open'))) return true;
  const style = tokens.readAttribute('style');
  return style !== '' && NOT_DISPLAYED.test(decodeAttribute(style));
}

/** Reports whether the value is the target of a link in an image map. */
const isMapLink = ({ isEndTag, name, openAttribute }: HtmlTokenizer): boolean =>
  !isEndTag && name === 'area' && openAttribute === 'href';

const isMetaContent = (tokens: HtmlTokenizer): boolean =>
  (tokens.region === 'value' || tokens.region === 'before value') &&
  tokens.name === 'meta' &&
  tokens.openAttribute === 'content';

function findValueKind(attribute: string): Place['is'] {
  if (CODE.test(attribute)) return 'nowhere';
  if (attribute === 'style') return 'css';
  return PLAIN.test(attribute) ? 'text' : 'link';
}

/** Maps rather than objects: `constructor` is a possible key. */
export interface MergeValues {
  given: ReadonlyMap<string, string>;
  /** Declared outside the text; an inline default takes precedence. */
  fallbacks?: ReadonlyMap<string, string>;
}

/** `html` escapes a value for text and quoted attributes; `none` is for plain text and subjects. */
type Escaping = 'html' | 'none';

interface RenderOptions {
  escape: Escaping;
  /**
   * For HTML with values that untrusted senders may have written: omits a value where it would be code or a name, and
   * percent-encodes it in the path and query of a URL.
   */
  areForeign?: boolean;
}

/** Replaces every variable: by the given value, its inline default, its fallback, or nothing. */
export function renderMerge(
  text: string | MergeText,
  values: MergeValues,
  { escape, areForeign = false }: RenderOptions,
): string {
  const parts = parsed(text);
  if (areForeign && escape === 'html') return renderForeign(parts, values);
  const findValue = reader(values, escape);
  let out = '';
  for (const part of parts) out += typeof part === 'string' ? part : findValue(part);
  return out;
}

/**
 * Renders HTML with values that untrusted senders may have written: each is shown literally and cannot leave its
 * context.
 */
function renderForeign(parts: MergeText, values: MergeValues): string {
  const places = findMergePlaces(parts);
  const findValue = reader(values, 'none');
  let out = '';
  /** The last character of `out`, which would be copied if it were asked for one. */
  let last: string | undefined;
  let begun = '';
  let isHarmless = false;
  let isUnbegun = false;
  let variables = 0;
  for (const [n, part] of parts.entries()) {
    if (typeof part === 'string') {
      out += part;
      last = part.at(-1) ?? last;
      isUnbegun = false;
      continue;
    }
    const place = places[variables++];
    if (!place) continue;
    // An empty value would join the surrounding text, which could then end the comment.
    const mayEndComment = place.isInComment && (last === '-' || last === '!');
    if (place.is === 'nowhere') {
      if (mayEndComment) out += last = '_';
      continue;
    }
    let value = place.is === 'resource' ? '' : findValue(part);
    if (place.is === 'link') {
      // Several variables may make a scheme together.
      if (place.isFirst) {
        begun = '';
        isHarmless = false;
      }
      if (!isHarmless) {
        begun += place.before;
        const scheme = findScheme(begun + escapeHtml(value));
        if (scheme === 'code') value = '';
        isHarmless = scheme === 'harmless';
        begun += escapeHtml(value);
      }
      if (place.urlPart && part.encoding === undefined) value = percentEncode(value, place.urlPart);
    }
    // An unquoted attribute begins with the first non-empty value in it.
    const isFirst: boolean = place.isFirst || isUnbegun;
    const text = writtenAt(place, value, isFirst, parts[n + 1]);
    isUnbegun = place.isBare && isFirst && text === '';
    out += text === '' && mayEndComment ? ' ' : text;
    last = text.at(-1) ?? (mayEndComment ? ' ' : last);
  }
  return out;
}

const encode = (value: string, encoding: UrlPart | undefined): string =>
  encoding === undefined ? value : percentEncode(value, encoding);

/** Encodes a value as one part of a URL: a path keeps its slashes, and a query is a single value (RFC 3986 §2.1). */
function percentEncode(value: string, part: UrlPart): string {
  const text = value.toWellFormed();
  if (part === 'query') return encodeURIComponent(text);
  return encodeURI(text).replaceAll(/[?#]/g, encodeURIComponent);
}

function writtenAt(place: Place, value: string, isFirst: boolean, next: string | MergeVariable | undefined): string {
  const css = (): string => escapeCss(value, place.isInComment);
  const text = escapeHtml(place.is === 'css' ? css() : value);
  const written = place.isBare ? writtenBare(text, isFirst, next) : text;
  return place.isInComment && place.is !== 'css' ? written.replaceAll('-', '&#45;') : written;
}

function writtenBare(text: string, isFirst: boolean, next: string | MergeVariable | undefined): string {
  if (text !== '')
    return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[\t\n\f =`]/g, (char) => `&#${char.charCodeAt(0)};`);
  if (!isFirst || typeof next === 'object') return '';
  // An empty value would turn the next word into the attribute's value, and a quote would begin a value that continues
  // after it.
  if (next === undefined || /^[\s>]/.test(next)) return '""';
  return /^["']/.test(next) ? '&#32;' : '';
}

/**
 * Words, numbers and colours stay as they are; characters that could end a value or begin a function are escaped (CSS
 * Syntax §4.3.7), and so is a dash that could be part of the end of a comment.
 */
function escapeCss(value: string, isInComment: boolean): string {
  const text = value.replaceAll(/[^\w\-#%., \u0080-\u{10ffff}]/gu, (char) => `\\${char.charCodeAt(0).toString(16)} `);
  return isInComment ? text.replaceAll(/(?<!\w)-|-(?!\w)/g, '\\2d ') : text;
}

/**
 * Finds out whether an address, as it is written in HTML, begins with a scheme that runs code. Browsers decode references and
 * pass over white space and control characters, however many there are, and letter case means nothing. Pictures as data run
 * nothing. A beginning that is longer than anybody writes one and still has no scheme counts as code. `open` means that what
 * follows decides.
 */
function findScheme(html: string): 'code' | 'harmless' | 'open' {
  const compact = decodeAttribute(html.slice(0, BEGINNING_CHARS))
    .replaceAll(/[\p{Cc}\s]/gu, '')
    .slice(0, SCHEME_CHARS)
    .toLowerCase();
  if (/^(?:javascript|vbscript|data(?!:image\/(?:png|gif|jpe?g|webp)\b)):/.test(compact)) return 'code';
  if (compact.length >= SCHEME_CHARS) return 'harmless';
  return html.length > BEGINNING_CHARS ? 'code' : 'open';
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
  const places = kind === 'foreign html' ? findMergePlaces(text) : [];
  let variables = 0;
  for (const part of text) {
    if (typeof part === 'string') {
      found.plain += part.length;
      continue;
    }
    const { key, inlineDefault } = part;
    const own = found.keys.get(key) ?? { bare: 0, withDefault: 0, defaultChars: 0 };
    found.keys.set(key, own);
    const place = places[variables++];
    const weight = (place === undefined ? 1 : weigh(place)) * (part.encoding === undefined ? 1 : ENCODED_CHARS);
    if (place !== undefined && (place.isBare || place.isInComment)) found.plain += EMPTY_CHARS;
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
  const findValue = reader(values, escape);
  const { plain, keys } = measure(parsed(text), areForeign && escape === 'html' ? 'foreign html' : escape);
  let chars = plain;
  for (const [key, { bare, withDefault, defaultChars }] of keys) {
    const isGiven = values.given.has(key);
    const filled = isGiven ? bare + withDefault : bare;
    if (filled > 0) chars += filled * findValue({ key, inlineDefault: undefined }).length;
    if (!isGiven) chars += defaultChars;
  }
  return chars;
}

/** A character beyond ASCII is up to three bytes, each of which becomes three characters. */
const ENCODED_CHARS = 9;
/** A character becomes `\3c ` in CSS, `&#45;` in a comment and `&#32;` in an attribute without quotes. */
const CSS_CHARS = 4;
const REFERENCE_CHARS = 5;
/** Written for an empty value in such places. */
const EMPTY_CHARS = '&#32;'.length;

/** Returns the maximum number of characters to which one character of a value expands in a place. */
function weigh(place: Place): number {
  if (place.urlPart !== undefined) return ENCODED_CHARS;
  const css = place.is === 'css' ? CSS_CHARS : 1;
  return place.isBare || place.isInComment ? css * REFERENCE_CHARS : css;
}

const parsed = (text: string | MergeText): MergeText => (typeof text === 'string' ? parseMerge(text) : text);

function reader({ given, fallbacks }: MergeValues, escape: Escaping): (variable: MergeVariable) => string {
  // A key that occurs in many places is escaped once.
  const escaped = new Map<string, string>();
  const put = escape === 'html' ? escapeHtml : (text: string): string => text;
  return ({ key, inlineDefault, encoding }) => {
    if (inlineDefault !== undefined && !given.has(key)) return put(encode(inlineDefault, encoding));
    const place = encoding === undefined ? key : `${key}|${encoding}`;
    let value = escaped.get(place);
    if (value === undefined) {
      value = put(encode(given.get(key) ?? fallbacks?.get(key) ?? '', encoding));
      escaped.set(place, value);
    }
    return value;
  };
}
