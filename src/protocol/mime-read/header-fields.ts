import { decodeText } from './decode-text.ts';

/** A header field as it is in the message. */
export interface RawField {
  name: string;
  lower: string;
  /** Everything after the colon, still folded, without the last line end. */
  value: string;
  /** The whole field, including its last line end. */
  raw: string;
}

const FIELD_NAME = /^[!-9;-~]+$/;

/**
 * Splits a head, which ends before the empty line, into fields. Returns a fault if a line is not a field. Only CRLF
 * ends a line.
 */
export function readFields(head: Buffer): RawField[] | { fault: string } {
  const text = head.toString('utf8');
  if (!Buffer.from(text).equals(head)) return { fault: 'a header has bytes that are not UTF-8; encode it (RFC 2047)' };
  const fields: RawField[] = [];
  let at = 0;
  while (at < text.length) {
    const end = endOfField(text, at);
    const raw = text.slice(at, end);
    const colon = raw.indexOf(':');
    const name = raw.slice(0, Math.max(0, colon));
    if (colon <= 0 || !FIELD_NAME.test(name)) {
      const shown = JSON.stringify(raw.slice(0, 60).trimEnd());
      return { fault: `the line ${shown} is no header; an empty line ends the headers` };
    }
    const value = raw.slice(colon + 1).replace(/\r\n$/, '');
    if (CONTROL.test(value.replaceAll('\r\n', ''))) return { fault: `the header ${name} has a control character` };
    fields.push({ name, lower: name.toLowerCase(), value, raw });
    at = end;
  }
  return fields;
}

/** Tab is the only control character allowed in a value. */
const CONTROL = /[\0-\x08\n-\x1f\x7f]/;

/** A line that begins with white space continues the previous field (RFC 5322 §2.2.3). */
function endOfField(text: string, from: number): number {
  for (let at = from; ;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return text.length;
    at = end + 2;
    if (text[at] !== ' ' && text[at] !== '\t') return at;
  }
}

/** A value such as `text/html; charset="utf-8"`. */
export interface Structured {
  /** In lower case. */
  value: string;
  /** Names in lower case; continuations and charsets (RFC 2231) are left as they are. */
  parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gsu;

export function readStructured(text: string): Structured {
  const unfolded = text.replaceAll('\r\n', '').replace(/\([^()]*\)/g, ' ');
  const end = unfolded.indexOf(';');
  const value = (end < 0 ? unfolded : unfolded.slice(0, end)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of unfolded.matchAll(PARAMETER)) {
    const lower = name.toLowerCase();
    if (!parameters.has(lower)) parameters.set(lower, quoted?.replace(/\\(.)/gsu, '$1') ?? plain ?? '');
  }
  return { value, parameters };
}

const BYTES_MAX = 255;

/**
 * Returns the file name of a part, encoded by RFC 2231, as an encoded word (as many programs do) or plain; null if it
 * has none.
 */
export function fileName(disposition: string, type: string, decodeWords: (text: string) => string): string | null {
  const name = parameter(disposition, 'filename', decodeWords) ?? parameter(type, 'name', decodeWords);
  const line = shortLine(fileNameLine(name ?? ''), BYTES_MAX);
  return line === '' ? null : line;
}

function parameter(field: string, name: string, decodeWords: (text: string) => string): string | undefined {
  const { parameters } = readStructured(field);
  const extended = parameters.get(`${name}*`);
  if (extended !== undefined) return decodeExtended(extended);
  const pieces: string[] = [];
  let isExtended = false;
  for (let i = 0; ; i++) {
    const encoded = parameters.get(`${name}*${i}*`);
    const piece = encoded ?? parameters.get(`${name}*${i}`);
    if (piece === undefined) break;
    isExtended ||= encoded !== undefined;
    pieces.push(encoded === undefined ? encodeURIComponent(piece.toWellFormed()) : piece);
  }
  if (pieces.length > 0) {
    const text = pieces.join('');
    return isExtended ? decodeExtended(text) : decodeExtended(`utf-8''${text}`);
  }
  const plain = parameters.get(name);
  return plain === undefined ? undefined : decodeWords(plain);
}

/** `charset'language'percent-encoded`. */
function decodeExtended(text: string): string {
  const [, charset = '', encoded = text] = /^([^']*)'[^']*'(.*)$/s.exec(text) ?? [];
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return decodeText(bytes, { encoding: '', charset: charset.toLowerCase() });
}

/**
 * Returns a text on one line that is safe to show, store and put into other messages: without line ends and characters
 * that affect a terminal.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim();

/** Returns one line of at most `bytesMax` bytes, cut between characters. */
export function shortLine(text: string, bytesMax: number): string {
  const line = oneLine(text);
  if (Buffer.byteLength(line) <= bytesMax) return line;
  return Buffer.from(line)
    .subarray(0, bytesMax)
    .toString('utf8')
    .replace(/\ufffd+$/u, '');
}

/**
 * Returns a file name without characters that change the reading direction (which would show `fdp.exe` as `exe.pdf`).
 */
export const fileNameLine = (name: string): string => oneLine(name.replace(/\p{Bidi_Control}+/gu, ' '));
