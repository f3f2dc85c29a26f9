const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** A line after a key: what is written is added, the keys of a shell's line take away. */
export function typeInto(text: string, key: string): string {
  if (key === 'backspace' || key === 'delete')
    return [...segments.segment(text)]
      .slice(0, -1)
      .map(({ segment }) => segment)
      .join('');
  if (key === 'ctrl-u') return '';
  if (key === 'ctrl-w') return text.replace(/\S+\s*$/, '');
  // Names of keys have several letters; what is typed has one.
  return [...segments.segment(key)].length === 1 ? text + key : text;
}
