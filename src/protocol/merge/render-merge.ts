import { escapeHtml } from '../safe-html/index.ts';
import { BEGINNING_CHARS, placesOf, type Place } from './html-places.ts';
import { parseMerge, type MergeText, type MergeVariable } from './parse-merge.ts';

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
  let [out, begun, variables] = ['', '', 0];
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
