import { createHash, hash } from 'node:crypto';

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const crlf = Buffer.from('\r\n');

// After so many bytes without white space the next one is looked for natively: base64 has none for pages.
const strideBytes = 64;

/**
 * The `bh=` value: base64 of the SHA-256 of the body in relaxed canonical form (RFC 6376 §3.4.4). Only CRLF ends a
 * line; a CR or LF alone is content. A body without anything but line ends hashes as the empty string.
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
function reduceWhitespace(body: Buffer): Buffer {
  const end = body.length;
  let out: Buffer | undefined;
  let written = 0;
  // Start of the bytes that are not copied yet because they stay as they are.
  let kept = 0;
  let quiet = 0;
  let at = 0;
  while (at < end) {
    const first = body[at]!;
    if (first !== space && first !== tab) {
      at += 1;
      quiet += 1;
      if (quiet < strideBytes) continue;
      quiet = 0;
      at = farWhitespace(body, at);
      continue;
    }
    quiet = 0;
    let after = at + 1;
    while (after < end && (body[after] === space || body[after] === tab)) after += 1;
    const endsLine = after === end || (body[after] === cr && body[after + 1] === lf);
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

function farWhitespace(body: Buffer, from: number): number {
  const nextSpace = body.indexOf(space, from);
  const before = nextSpace < 0 ? body.length : nextSpace;
  // Looking for a tab only up to that space keeps the whole scan linear.
  const nextTab = body.subarray(from, before).indexOf(tab);
  return nextTab < 0 ? before : from + nextTab;
}

function endsWithCrlf(bytes: Buffer, end: number): boolean {
  return end >= 2 && bytes[end - 2] === cr && bytes[end - 1] === lf;
}
