import { base64Lines } from './base64-lines.ts';
import { lineBytesMax } from './seven-bit.ts';

export type TransferEncoding = '7bit' | 'quoted-printable' | 'base64';
export type EncodedBody = { encoding: TransferEncoding; content: Buffer };

// RFC 2045 §6.7 (5): includes the "=" of a soft break.
const quotedLineCharsMax = 76;

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const dot = 46;
const equals = 61;
const hex = Buffer.from('0123456789ABCDEF');

/** Encodes text for a 7-bit transport and ends every line with CRLF, whatever its line end was. */
export function encodeText(text: string): EncodedBody {
  const bytes = Buffer.from(text, 'utf8');
  const found = survey(bytes);
  if (!found.needsEncoding) {
    return { encoding: '7bit', content: found.strayBreaks === 0 ? bytes : normalizeBreaks(bytes, found.strayBreaks) };
  }
  // Quoted-printable triples each special byte, base64 adds about three eighths to the whole text.
  if (found.specials * 16 > bytes.length * 3)
    return { encoding: 'base64', content: base64Lines(withCrlf(bytes, found)) };
  return { encoding: 'quoted-printable', content: quotedPrintable(bytes) };
}

type Survey = { needsEncoding: boolean; specials: number; strayBreaks: number };

/** Finds in one pass what forbids 7bit, how many bytes quoted-printable would have to encode, and stray CR or LF. */
function survey(bytes: Buffer): Survey {
  let specials = 0;
  let strayBreaks = 0;
  let lineStart = 0;
  let needsEncoding = false;
  const end = bytes.length;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte >= space && byte < 127) continue;
    if (byte === lf || byte === cr) {
      if (at - lineStart > lineBytesMax || isFromLine(bytes, lineStart)) needsEncoding = true;
      // A CR or LF alone ends no line, but some peers treat it as a line end and read what follows as commands (RFC
      // 5321 §2.3.8).
      if (byte === cr && at + 1 < end && bytes[at + 1] === lf) at += 1;
      else strayBreaks += 1;
      lineStart = at + 1;
    } else if (byte !== tab) specials += 1;
  }
  if (end - lineStart > lineBytesMax || isFromLine(bytes, lineStart)) needsEncoding = true;
  return { needsEncoding: needsEncoding || specials > 0, specials, strayBreaks };
}

/** "From " at the start of a line becomes ">From " when the message is written to an mbox, which breaks signatures. */
function isFromLine(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === 70 &&
    bytes[at + 1] === 114 &&
    bytes[at + 2] === 111 &&
    bytes[at + 3] === 109 &&
    bytes[at + 4] === space
  );
}

function withCrlf(bytes: Buffer, found: Survey): Buffer {
  return found.strayBreaks === 0 ? bytes : normalizeBreaks(bytes, found.strayBreaks);
}

function normalizeBreaks(bytes: Buffer, strayBreaks: number): Buffer {
  const out = Buffer.allocUnsafe(bytes.length + strayBreaks);
  const end = bytes.length;
  let to = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === lf || byte === cr) {
      if (byte === cr && at + 1 < end && bytes[at + 1] === lf) at += 1;
      out[to] = cr;
      out[to + 1] = lf;
      to += 2;
    } else out[to++] = byte;
  }
  return out;
}

/**
 * Encodes as quoted-printable (RFC 2045 §6.7). Also hides a leading dot and a leading "From " from relays that would
 * change them.
 */
function quotedPrintable(bytes: Buffer): Buffer {
  const end = bytes.length;
  // Worst case: every byte as "=XX", a soft break after each 25 of them, or every byte a line break of its own.
  const out = Buffer.allocUnsafeSlow(Math.ceil(end * 3.13) + 16);
  let to = 0;
  let column = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === lf || byte === cr) {
      if (byte === cr && bytes[at + 1] === lf) at += 1;
      out[to] = cr;
      out[to + 1] = lf;
      to += 2;
      column = 0;
      continue;
    }
    let literal = byte > space && byte < 127 && byte !== equals;
    if (byte === space || byte === tab) literal = !endsLine(bytes, at + 1);
    // The last character of a line may use the column that a soft break would need.
    if (column + (literal ? 1 : 3) > quotedLineCharsMax - (endsLine(bytes, at + 1) ? 0 : 1)) {
      out[to] = equals;
      out[to + 1] = cr;
      out[to + 2] = lf;
      to += 3;
      column = 0;
    }
    if (column === 0 && (byte === dot || isFromLine(bytes, at))) literal = false;
    if (literal) {
      out[to++] = byte;
      column += 1;
    } else {
      out[to] = equals;
      out[to + 1] = hex[byte >> 4]!;
      out[to + 2] = hex[byte & 15]!;
      to += 3;
      column += 3;
    }
  }
  return out.subarray(0, to);
}

function endsLine(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  return byte === undefined || byte === lf || byte === cr;
}
