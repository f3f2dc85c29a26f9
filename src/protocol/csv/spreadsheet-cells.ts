/**
 * Positions at which a program may start a cell, whatever separator it uses. A quote only opens a cell at its start, so
 * it does not protect a semicolon, tab or line end from a program that splits by those.
 */
const CELLS = /(?<=^|[;\t\r\n])[^;\t\r\n]*/g;
/** The beginnings of formulas in various spreadsheets. */
const FORMULA = /^'*[" ]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/**
 * A number may begin with a sign only if it is the whole text: after a separator, the remainder of the row may belong
 * to it.
 */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
/** Matches a whole text that begins with characters a spreadsheet may skip, or that would look like an empty cell. */
const BARE = /^'*(?:[\t\r\n]|$)/;

/**
 * Returns a text that no spreadsheet executes: it puts an apostrophe before what would be a formula, and `undefused`
 * removes it. An apostrophe also marks a text without any characters, which would otherwise look like an empty cell.
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

/** Quotes a cell of a CSV row (RFC 4180). */
export const quoted = (text: string): string =>
  /[",;\t\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
