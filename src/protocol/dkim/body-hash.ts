import { createHash, hash } from 'node:crypto';

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const crlf = Buffer.from('\r\n');

// After this many bytes without white space, search for the next one natively: base64 has none for pages.
const strideBytes = 64;

/**
 * Returns the `bh=` value: base64 of the SHA-256 of the body in relaxed canonical form (RFC 6376 §3.4.4). Only CRLF
 * ends a line; a CR or LF alone is content. A body of only line ends hashes as the empty string.
 */
export function bodyHash(body: Buffer): string {
  const reduced = reduceWhitespace(body);
  let end = reduced.length;
  while (end >= 4 && endsWithCrlf(reduced, end) && endsWithCrlf(reduced, end - 2)) end -= 2;
  if (end === 2 && endsWithCrlf(reduced, 2)) end = 0;
  const content = end === reduced.length ? reduced : reduced.subarray(0, end);
  if (end === 0 || endsWithCrlf(reduced, end)) return hash('sha256', content, 'base64');
  return createHash('sha256').update(content).update(crlf).digest('base64');
}

/** Drops white space at line ends and reduces other runs to one space; copies nothing when there is nothing to change. */
export function reduceWhitespace(body: Buffer): Buffer {
  const end = body.length;
  let out: Buffer | undefined;
  let written = 0;
  // Start of the bytes that are not copied yet because they are unchanged.
  let kept = 0;
  let spaceAt = -1;
  let tabAt = -1;
  let at = 0;
  for (;;) {
    const near = Math.min(at + strideBytes, end);
    at = skipContent(body, at, near);
    if (at === near && near < end) {
      // Each search starts where the last one of its kind ended: a body can hold one kind only, in any number.
      spaceAt = indexFrom(body, space, at, spaceAt);
      tabAt = indexFrom(body, tab, at, tabAt);
      at = Math.min(spaceAt, tabAt);
    }
    if (at >= end) break;
    const first = body[at];
    const after = skipWhitespace(body, at + 1, end);
    const endsLine = after === end || (body[after] === cr && after + 1 < end && body[after + 1] === lf);
    if (endsLine || first === tab || after - at > 1) {
      out ??= Buffer.allocUnsafe(end);
      written += body.copy(out, written, kept, at);
      if (!endsLine) out[written++] = space;
      kept = after;
    }
    at = after;
  }
  if (out === undefined) return body;
  written += body.copy(out, written, kept, end);
  return out.subarray(0, written);
}

function skipContent(body: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = body[at]!;
    if (byte === space || byte === tab) break;
    at += 1;
  }
  return at;
}

function skipWhitespace(body: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = body[at]!;
    if (byte !== space && byte !== tab) break;
    at += 1;
  }
  return at;
}

/** Returns the next position of `byte` at or after `from`, or the end of the body; `known` is the previous result. */
function indexFrom(body: Buffer, byte: number, from: number, known: number): number {
  if (known >= from) return known;
  const found = body.indexOf(byte, from);
  return found < 0 ? body.length : found;
}

export function endsWithCrlf(bytes: Buffer, end: number): boolean {
  return end >= 2 && bytes[end - 2] === cr && bytes[end - 1] === lf;
}
