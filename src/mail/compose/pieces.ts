import { BodyHasher } from '../../protocol/dkim/index.ts';
import type { Piece } from '../../protocol/mime/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import type { Release } from '../../platform/limits/index.ts';

/** Yields the body of a message, block by block. */
export async function* readBlocks(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) yield piece;
    else yield* piece.read();
  }
}

/** Computes the body hash that DKIM signs. */
export async function hashPieces(
  pieces: readonly Piece[],
  signal: AbortSignal,
): Promise<{ bodyHash: string; bodySize: number }> {
  const hasher = new BodyHasher();
  let bodySize = 0;
  for await (const block of readBlocks(pieces)) {
    signal.throwIfAborted();
    hasher.update(block);
    bodySize += block.length;
  }
  return { bodyHash: hasher.digest(), bodySize };
}

/** Thrown if the body of a message differs from the one that was signed. */
export class ContentChanged extends Error {
  constructor(emailId: string) {
    super(`the content of email ${emailId} has changed since it was signed`);
  }
}

interface Streamed {
  emailId: string;
  head: Buffer;
  /** The hash that was signed. */
  bodyHash: string;
  bodySize: number;
  /** Lays the body out anew, so that its texts are in memory only while it is read. */
  layOut(): Promise<readonly Piece[]>;
  /** Waits for the memory of one reading of the message. */
  takeMemory(): Promise<Release>;
}

/**
 * Returns content that is made again, with the same bytes, for each reading. Its last block is sent only after the body
 * has matched the signed hash: if it has changed, the reading fails before the final dot, and no receiver accepts it.
 */
export function streamed(message: Streamed): OutboundMessage['content'] {
  const { emailId, head, bodyHash, bodySize, layOut, takeMemory } = message;

  async function* read(): AsyncGenerator<Buffer> {
    const release = await takeMemory();
    try {
      const pieces = await layOut();
      yield head;
      const hasher = new BodyHasher();
      let left = bodySize;
      let last: Buffer | undefined;
      for await (const block of readBlocks(pieces)) {
        if (last) yield last;
        left -= block.length;
        hasher.update(block);
        last = block;
      }
      if (left !== 0 || hasher.digest() !== bodyHash) throw new ContentChanged(emailId);
      if (last) yield last;
    } finally {
      release();
    }
  }
  return { [Symbol.asyncIterator]: read };
}
