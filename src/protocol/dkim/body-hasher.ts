import { createHash } from 'node:crypto';
import { endsWithCrlf, reduceWhitespace } from './body-hash.ts';

const tab = 9;
const cr = 13;
const space = 32;
const crlf = Buffer.from('\r\n');
const manyLineEnds = Buffer.alloc(8192, crlf);

/**
 * Computes `bodyHash` of a body that comes in pieces, cut anywhere. It buffers only what the next piece can still
 * change: white space and a CR at the very end, and the number of line ends after the content.
 */
export class BodyHasher {
  #hash = createHash('sha256');
  #heldBack: Buffer = Buffer.alloc(0);
  #lineEnds = 0;
  #isEmpty = true;

  update(piece: Buffer): void {
    const bytes = this.#heldBack.length === 0 ? piece : Buffer.concat([this.#heldBack, piece]);
    const end = decidedEnd(bytes);
    // One space stands for any run of white space, so that a body of nothing but white space is not buffered whole.
    const hasCr = bytes[bytes.length - 1] === cr;
    const hasSpace = end < bytes.length - (hasCr ? 1 : 0);
    this.#heldBack = Buffer.from(`${hasSpace ? ' ' : ''}${hasCr ? '\r' : ''}`);
    this.#take(reduceWhitespace(bytes.subarray(0, end)));
  }

  /** The `bh=` value. */
  digest(): string {
    // A CR alone is content, and so is the white space before it; white space alone ends the body.
    if (this.#heldBack.includes(cr)) this.#take(this.#heldBack);
    if (!this.#isEmpty) this.#hash.update(crlf);
    return this.#hash.digest('base64');
  }

  #take(reduced: Buffer): void {
    let end = reduced.length;
    while (endsWithCrlf(reduced, end)) end -= 2;
    if (end > 0) {
      this.#writeLineEnds();
      this.#hash.update(end === reduced.length ? reduced : reduced.subarray(0, end));
      this.#isEmpty = false;
    }
    this.#lineEnds += (reduced.length - end) / 2;
  }

  #writeLineEnds(): void {
    for (let left = this.#lineEnds * 2; left > 0; left -= manyLineEnds.length) {
      this.#hash.update(left < manyLineEnds.length ? manyLineEnds.subarray(0, left) : manyLineEnds);
    }
    this.#lineEnds = 0;
  }
}

/** Returns the position up to which no later byte can change the result. */
function decidedEnd(bytes: Buffer): number {
  let end = bytes.length;
  if (bytes[end - 1] === cr) end -= 1;
  while (end > 0 && (bytes[end - 1] === space || bytes[end - 1] === tab)) end -= 1;
  return end;
}
