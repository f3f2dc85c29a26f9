/**
 * A body of a few megabytes can contain millions of objects, which take a hundred times its size once parsed. No
 * request needs that many values; lists of plain numbers, such as the bytes of a file, are not counted.
 */
const VALUES_MAX = 200_000;
/** A name costs many times a value: objects of many names are slow to make and check. The largest batch has some 20,000. */
const NAMES_MAX = 40_000;
const DEPTH_MAX = 64;
/** Smaller bodies are not scanned: their objects do no harm. */
const UNREAD_BYTES_MAX = 64 * 1024;

/** Why a JSON text is too complex to parse; undefined if it is not. One pass over the bytes, without any allocation. */
export function complexityFault(bytes: Buffer): string | undefined {
  if (bytes.length <= UNREAD_BYTES_MAX) return undefined;
  let values = 0;
  let names = 0;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i + 1);
    else if (byte === COMMA) values++;
    else if (byte === COLON) names++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values++;
      if (++depth > DEPTH_MAX) return `is nested more than ${DEPTH_MAX} levels deep`;
      if (byte === OPEN_LIST) i = endOfNumbers(bytes, i);
    }
    if (values > VALUES_MAX) return `holds more than ${VALUES_MAX} values`;
    if (names > NAMES_MAX) return `names more than ${NAMES_MAX} fields`;
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes read one by one before the native search takes over: in a text full of quotes it would be called at each. */
const SHORT_TEXT = 256;

function endOfString(bytes: Buffer, from: number): number {
  let i = from;
  while (i < bytes.length) {
    for (const end = Math.min(i + SHORT_TEXT, bytes.length); i < end; i += bytes[i] === BACKSLASH ? 2 : 1) {
      if (bytes[i] === QUOTE) return i;
    }
    const quote = bytes.indexOf(QUOTE, i);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (quote - backslashes > i && bytes[quote - backslashes - 1] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    i = quote + 1;
  }
  return i;
}

/** The last byte before the end of a list that holds nothing but whole numbers; the list's own bracket otherwise. */
function endOfNumbers(bytes: Buffer, bracket: number): number {
  let i = bracket + 1;
  for (let byte = bytes[i]; isDigit(byte) || byte === COMMA || isSpace(byte); byte = bytes[i]) i++;
  return bytes[i] === CLOSE_LIST ? i - 1 : bracket;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
