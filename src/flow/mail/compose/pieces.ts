import { BodyHasher } from '../../../protocol/dkim/index.ts';
import type { Piece } from '../../../protocol/mime/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import type { GiveBack } from '../../../platform/fair-share/index.ts';

/** The body of a message, block by block. */
export async function* blocksOf(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) yield piece;
    else yield* piece.read();
  }
}

/** The body hash that DKIM signs. */
export async function hashPieces(
  pieces: readonly Piece[],
  signal: AbortSignal,
): Promise<{ bodyHash: string; bodySize: number }> {
  const hasher = new BodyHasher();
  let bodySize = 0;
  for await (const block of blocksOf(pieces)) {
    signal.throwIfAborted();
    hasher.update(block);
    bodySize += block.length;
  }
  return { bodyHash: hasher.digest(), bodySize };
}

interface Streamed {
  emailId: string;
  head: Buffer;
  bodySize: number;
  /** Lays the body out anew, so that its texts are in memory only while it is read. */
  layOut(): Promise<readonly Piece[]>;
  /** Waits for the memory of one reading of the message. */
  takeMemory(): Promise<GiveBack>;
}

/** Content that is made anew, to the same bytes, at each reading. */
export function streamed({ emailId, head, bodySize, layOut, takeMemory }: Streamed): OutboundMessage['content'] {
  async function* read(): AsyncGenerator<Buffer> {
    const giveBack = await takeMemory();
    try {
      const pieces = await layOut();
      yield head;
      let left = bodySize;
      for await (const block of blocksOf(pieces)) {
        left -= block.length;
        yield block;
      }
      // Thrown before the dot, so that half a message is never accepted.
      if (left !== 0) throw new Error(`the content of email ${emailId} has changed since it was signed`);
    } finally {
      giveBack();
    }
  }
  return { [Symbol.asyncIterator]: read };
}
