/** How a formula begins in one spreadsheet or another; a number may begin with a sign. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
/** What was defused, and what looks as if it had been. */
const APOSTROPHES = /^'+(?:[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]|$)/;

/**
 * A text that no spreadsheet runs: an apostrophe goes before what would be a formula, and `undefused` takes it off again. It
 * also stands for a text without any character, which an empty cell could not be told from.
 */
export function defused(text: string): string {
  if (text === '' || APOSTROPHES.test(text)) return `'${text}`;
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

export const undefused = (text: string): string => (APOSTROPHES.test(text) ? text.slice(1) : text);

/** A cell of a CSV row (RFC 4180). */
export const quoted = (text: string): string =>
  /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
