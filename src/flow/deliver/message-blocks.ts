import { dotStuff } from '../../protocol/smtp-reply/index.ts';

const CRLF = Buffer.from('\r\n');

/**
 * The message as it stands on the wire before the final dot: dot-stuffed (RFC 5321 §4.5.2) and ending in CRLF. Chunks
 * may be cut anywhere; what follows a chunk's last line end is stuffed together with the next chunk, because only the
 * start of a line tells whether a dot is doubled.
 */
export function* messageBlocks(chunks: Buffer[]): Generator<Buffer> {
  let unfinished: Buffer[] = [];
  for (const chunk of chunks) {
    const lineEnd = lastLineEnd(chunk, unfinished);
    if (lineEnd === 0) {
      if (chunk.length > 0) unfinished.push(chunk);
      continue;
    }
    const lines = lineEnd === chunk.length ? chunk : chunk.subarray(0, lineEnd);
    yield* dotStuff(unfinished.length === 0 ? lines : Buffer.concat([...unfinished, lines]));
    unfinished = lineEnd === chunk.length ? [] : [chunk.subarray(lineEnd)];
  }
  if (unfinished.length > 0) yield* dotStuff(Buffer.concat([...unfinished, CRLF]));
}

/** Where the chunk's last complete line ends; a CR that closed the previous chunk belongs to a leading LF. */
function lastLineEnd(chunk: Buffer, unfinished: Buffer[]): number {
  const at = chunk.lastIndexOf(CRLF);
  if (at !== -1) return at + 2;
  const before = unfinished[unfinished.length - 1];
  return chunk[0] === 10 && before?.[before.length - 1] === 13 ? 1 : 0;
}
