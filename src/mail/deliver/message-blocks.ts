import { dotStuff } from '../../protocol/smtp-reply/index.ts';

const CRLF = Buffer.from('\r\n');

/**
 * The message as it stands on the wire before the final dot: dot-stuffed (RFC 5321 §4.5.2) and ending in CRLF. Chunks
 * may be cut anywhere; what follows a chunk's last line end is stuffed together with the next chunk, because only the
 * start of a line tells whether a dot is doubled.
 */
export class MessageBlocks {
  #unfinished: Buffer[] = [];

  push(chunk: Buffer): Buffer[] {
    const unfinished = this.#unfinished;
    const lineEnd = lastLineEnd(chunk, unfinished);
    if (lineEnd === 0) {
      if (chunk.length > 0) unfinished.push(chunk);
      return [];
    }
    const lines = lineEnd === chunk.length ? chunk : chunk.subarray(0, lineEnd);
    this.#unfinished = lineEnd === chunk.length ? [] : [chunk.subarray(lineEnd)];
    return dotStuff(unfinished.length === 0 ? lines : Buffer.concat([...unfinished, lines]));
  }

  end(): Buffer[] {
    return this.#unfinished.length === 0 ? [] : dotStuff(Buffer.concat([...this.#unfinished, CRLF]));
  }
}

/** The same for a message in memory. */
export function messageBlocks(chunks: readonly Buffer[]): Buffer[] {
  const blocks = new MessageBlocks();
  return [...chunks.flatMap((chunk) => blocks.push(chunk)), ...blocks.end()];
}

/** Where the chunk's last complete line ends; a CR that closed the previous chunk belongs to a leading LF. */
function lastLineEnd(chunk: Buffer, unfinished: Buffer[]): number {
  const at = chunk.lastIndexOf(CRLF);
  if (at !== -1) return at + 2;
  const before = unfinished[unfinished.length - 1];
  return chunk[0] === 10 && before?.[before.length - 1] === 13 ? 1 : 0;
}
