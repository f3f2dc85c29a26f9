import { escapeHtml } from '../safe-html/index.ts';
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
  /** Values that strangers may have written: one that would make an attribute a link that runs code is left out. */
  areForeign?: boolean;
}

/** The text with every variable replaced: by the given value, its inline default, its fallback, or nothing. */
export function renderMerge(
  text: string | MergeText,
  values: MergeValues,
  { escape, areForeign = false }: RenderOptions,
): string {
  const valueOf = reader(values, escape);
  let out = '';
  // How the attribute value begins in which the text stands; undefined outside.
  let attribute: string | undefined;
  for (const part of parsed(text)) {
    if (typeof part === 'string') {
      out += part;
      if (areForeign) attribute = attributeAtEnd(part, attribute);
      continue;
    }
    const value = valueOf(part);
    const begun = attribute === undefined ? undefined : attribute + value;
    if (begun !== undefined && runsCode(begun)) continue;
    out += value;
    attribute = begun;
  }
  return out;
}

/** Long enough for any scheme with what browsers pass over in it. */
const BEGINNING_CHARS = 200;
const OPENED = /=[\t\n\f\r ]*["']?([^"'<>]*)$/;

/** What an attribute's value begins with at the end of this text; several variables may make a scheme together. */
function attributeAtEnd(text: string, before: string | undefined): string | undefined {
  const opened = OPENED.exec(text.slice(-BEGINNING_CHARS));
  if (opened) return opened[1];
  return before === undefined || /["'<>]/.test(text) ? undefined : before + text;
}

/** As a browser reads a scheme: without spaces and control characters, in any letter case. Pictures as data run nothing. */
function runsCode(value: string): boolean {
  const compact = value
    .slice(0, BEGINNING_CHARS)
    .replaceAll(/[\p{Cc}\s]/gu, '')
    .toLowerCase();
  return /^(?:javascript|vbscript|data(?!:image\/(?:png|gif|jpe?g|webp)\b)):/.test(compact);
}

/** How long `renderMerge` would be, found without making it: a short text can ask for gigabytes. */
export function mergedChars(text: string | MergeText, values: MergeValues, { escape }: RenderOptions): number {
  const valueOf = reader(values, escape);
  let chars = 0;
  for (const part of parsed(text)) chars += (typeof part === 'string' ? part : valueOf(part)).length;
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
