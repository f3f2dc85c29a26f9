import { createHash } from 'node:crypto';
import { nextTurn } from '../clock/index.ts';
import type { BlobDigest } from './blobs.ts';

/** Hashes content that comes piece by piece. */
export interface Digester {
  update(piece: Uint8Array): void;
  /** Passes `content` on, and hashes it on its way. */
  watch(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  /** Returns the digest of what came so far. */
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

/** Takes about a millisecond to hash. */
const SLICE_BYTES = 256 * 1024;

/** Hashes content that is in memory, with turns of the event loop for others in between. */
export async function digestOfBytes(content: Uint8Array): Promise<BlobDigest> {
  const digester = createDigester();
  for (let at = 0; at < content.length; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    digester.update(content.subarray(at, at + SLICE_BYTES));
  }
  return digester.end();
}
