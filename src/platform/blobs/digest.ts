import { createHash } from 'node:crypto';
import { nextTurn } from '../clock/index.ts';
import type { BlobDigest } from './blobs.ts';

/** Hashes content that arrives in pieces. */
export interface Digester {
  update(piece: Uint8Array): void;
  /** Passes `content` on unchanged, and hashes it. */
  watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Returns the digest of what has arrived so far. */
  end(): BlobDigest;
}

export function createDigester(): Digester {
  const hash = createHash('sha256');
  let size = 0;
  const update = (piece: Uint8Array): void => {
    hash.update(piece);
    size += piece.length;
  };
  return {
    update,
    async *watch(content) {
      for await (const piece of content) {
        update(piece);
        yield piece;
      }
    },
    end: () => ({ size, sha256: hash.copy().digest('hex') }),
  };
}

/** Size of a piece that takes about a millisecond to hash. */
const SLICE_BYTES = 256 * 1024;

/** Hashes content in memory, and yields to the event loop in between. */
export async function digestOfBytes(content: Uint8Array): Promise<BlobDigest> {
  const digester = createDigester();
  for (let at = 0; at < content.length; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    digester.update(content.subarray(at, at + SLICE_BYTES));
  }
  return digester.end();
}
