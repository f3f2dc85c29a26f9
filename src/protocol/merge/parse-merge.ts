const KEY_CHARS_MAX = 50;

export interface MergeVariable {
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
