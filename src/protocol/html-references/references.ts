import { NAMED_REFERENCES, NAMES_WITHOUT_SEMICOLON } from './names.ts';

const REFERENCE = /&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([A-Za-z][A-Za-z0-9]*)([;=]?))/g;
const CHARS_WITHOUT_SEMICOLON_MAX = Math.max(...[...NAMES_WITHOUT_SEMICOLON].map((name) => name.length));

/** Decodes the references of text between tags. A name that HTML does not know stays as it is written. */
export function decodeText(html: string): string {
  if (!html.includes('&')) return html;
  return html.replace(REFERENCE, (whole, hex?: string, decimal?: string, name?: string, next?: string) => {
    if (name === undefined) return decodeNumber(hex, decimal);
    const named = next === ';' ? NAMED_REFERENCES.get(name) : undefined;
    if (named !== undefined) return named;
    const start = findStartWithoutSemicolon(name);
    return start === undefined ? whole : `${NAMED_REFERENCES.get(start)}${whole.slice(1 + start.length)}`;
  });
}

/** Returns the longest beginning that is read without a semicolon, such as `copy` in `copying`. */
function findStartWithoutSemicolon(name: string): string | undefined {
  for (let length = Math.min(name.length, CHARS_WITHOUT_SEMICOLON_MAX); length > 1; length--) {
    const start = name.slice(0, length);
    if (NAMES_WITHOUT_SEMICOLON.has(start)) return start;
  }
  return undefined;
}

/**
 * Decodes the references of an attribute's value, or returns undefined where one ends with a semicolon and has a name
 * that HTML does not know: a link that was mistyped is better left alone.
 */
export function decodeAttributeIfKnown(value: string): string | undefined {
  const { text, isWhole } = decode(value);
  return isWhole ? text : undefined;
}

/** Decodes the references of an attribute's value. A name that HTML does not know stays as it is written. */
export const decodeAttribute = (value: string): string => decode(value).text;

function decode(value: string): { text: string; isWhole: boolean } {
  if (!value.includes('&')) return { text: value, isWhole: true };
  let isWhole = true;
  const text = value.replace(REFERENCE, (whole, hex?: string, decimal?: string, name?: string, next?: string) => {
    if (name === undefined) return decodeNumber(hex, decimal);
    if (next === ';') {
      isWhole &&= NAMED_REFERENCES.has(name);
      return NAMED_REFERENCES.get(name) ?? whole;
    }
    // HTML §13.2.5.73: before "=" it is the name of a parameter, as in "?a=1&copy=2".
    if (next === '=' || !NAMES_WITHOUT_SEMICOLON.has(name)) return whole;
    return NAMED_REFERENCES.get(name) ?? whole;
  });
  return { text, isWhole };
}

const windows1252 = new TextDecoder('windows-1252');

/** Decodes a numeric reference (HTML §13.2.5.80); 128 to 159 are read as windows-1252. */
function decodeNumber(hex: string | undefined, decimal: string | undefined): string {
  const code = hex === undefined ? Number.parseInt(decimal ?? '', 10) : Number.parseInt(hex, 16);
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (code === 0 || isSurrogate || !(code <= 0x10ffff)) return '\uFFFD';
  if (code >= 0x80 && code <= 0x9f) return windows1252.decode(Uint8Array.of(code));
  return String.fromCodePoint(code);
}

/** Encodes text as an attribute's value, in quotes of either kind or without. */
export const encodeAttribute = (text: string): string =>
  text.replace(/[&"'<>`=\s]/g, (character) => (character === '&' ? '&amp;' : `&#${character.charCodeAt(0)};`));
