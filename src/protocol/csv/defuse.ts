/**
 * Where a program may begin a cell, whatever it splits a file by. A quote opens a cell at its start alone, so it guards no
 * semicolon, tab or line end from a program that splits by those.
 */
const CELLS = /(?<=^|[;\t\r\n])[^;\t\r\n]*/g;
/** How a formula begins in one spreadsheet or another. */
const FORMULA = /^'*[" ]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/** May begin with a sign where it is all of a text: behind a separator the rest of the row may belong to it. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
/** Of a whole text: it begins with what a spreadsheet may skip, or has no character that could be told from an empty cell. */
const BARE = /^'*(?:[\t\r\n]|$)/;

/**
 * A text that no spreadsheet runs: an apostrophe goes before what would be a formula, and `undefused` takes it off again. It
 * also stands for a text without any character, which an empty cell could not be told from.
 */
export function defused(text: string): string {
  if (NUMBER.test(text)) return text;
  return (BARE.test(text) ? "'" : '') + text.replaceAll(CELLS, (cell) => (FORMULA.test(cell) ? `'${cell}` : cell));
}

export function undefused(text: string): string {
  if (!text.includes("'")) return text;
  const own = text.startsWith("'") && BARE.test(text) ? text.slice(1) : text;
  return own.replaceAll(CELLS, (cell) => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell));
}

/** A cell of a CSV row (RFC 4180). */
export const quoted = (text: string): string =>
  /[",;\t\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
