// JSON leaves these as they are; on a terminal or in a log they would end the line or reorder it.
const unsafe = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A caller's value as it may appear in a message to that caller: escaped, and short enough to read. */
export function quoteValue(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 77)}...` : text;
  return JSON.stringify(short).replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
