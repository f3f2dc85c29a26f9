const SHOWN_MAX = 20;
const CHARS_MAX = 200;

/** The first of a list, each once and cut to a length that can be read. */
export const shownSome = (texts: readonly string[]): string[] =>
  [...new Set(texts)]
    .slice(0, SHOWN_MAX)
    .map((text) => (text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text));
