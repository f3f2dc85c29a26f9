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
  /** In HTML, values that strangers may have written: what would be code or a name where it stands is left out. */
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
    }
    out += writtenAt(place, value, parts[n + 1]);
  }
  return out;
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

/** What a text is made of, as far as its length goes, so that its values can be counted without going through it. */
interface Lengths {
  /** Characters outside of variables. */
  plain: number;
  keys: Map<string, { bare: number; withDefault: number; defaultChars: number }>;
}

const lengths = { html: new WeakMap<object, Lengths>(), none: new WeakMap<object, Lengths>() };

/** Measured once for a text that is rendered often. */
function measure(text: MergeText, escape: Escaping): Lengths {
  let found = lengths[escape].get(text);
  if (found) return found;
  found = { plain: 0, keys: new Map() };
  for (const part of text) {
    if (typeof part === 'string') {
      found.plain += part.length;
      continue;
    }
    const { key, inlineDefault } = part;
    const own = found.keys.get(key) ?? { bare: 0, withDefault: 0, defaultChars: 0 };
    found.keys.set(key, own);
    if (inlineDefault === undefined) own.bare++;
    else {
      own.withDefault++;
      own.defaultChars += (escape === 'html' ? escapeHtml(inlineDefault) : inlineDefault).length;
    }
  }
  lengths[escape].set(text, found);
  return found;
}

/** How long `renderMerge` would be, found without making it: a short text can ask for gigabytes. */
export function mergedChars(text: string | MergeText, values: MergeValues, { escape }: RenderOptions): number {
  const valueOf = reader(values, escape);
  const { plain, keys } = measure(parsed(text), escape);
  let chars = plain;
  for (const [key, { bare, withDefault, defaultChars }] of keys) {
    const isGiven = values.given.has(key);
    const filled = isGiven ? bare + withDefault : bare;
    if (filled > 0) chars += filled * valueOf({ key, inlineDefault: undefined }).length;
    if (!isGiven) chars += defaultChars;
  }
  return chars;
}

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
