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
}

/** The text with every variable replaced: by the given value, its inline default, its fallback, or nothing. */
export function renderMerge(text: string | MergeText, values: MergeValues, { escape }: RenderOptions): string {
  const valueOf = reader(values, escape);
  let out = '';
  for (const part of parsed(text)) out += typeof part === 'string' ? part : valueOf(part);
  return out;
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
