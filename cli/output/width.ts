let segmenter: Intl.Segmenter | undefined;

/** Made when a text needs it: that takes a tenth of the time of a short command, and most have none. */
const graphemesOf = (text: string): Iterable<{ segment: string }> =>
  (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })).segment(text);

/** Terminals give two columns to East Asian wide characters and to emoji. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

const WIDE =
  /\p{Emoji_Presentation}|\u{FE0F}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]/u;

export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
