import type { OutboundMessage } from './delivery-job.ts';
import type { Failure, SmtpConnection } from './smtp-connection.ts';
import type { SmtpSession } from './smtp-session.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import { dotStuff } from '../../protocol/smtp-reply/index.ts';

const CRLF = Buffer.from('\r\n');

/**
 * The message as it stands on the wire before the final dot: dot-stuffed (RFC 5321 §4.5.2) and ending in CRLF. Chunks
 * may be cut anywhere; what follows a chunk's last line end is stuffed together with the next chunk, because only the
 * start of a line tells whether a dot is doubled.
 */
class MessageBlocks {
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

/** Returns the blocks of a message in memory. */
export function messageBlocks(chunks: readonly Buffer[]): Buffer[] {
  const blocks = new MessageBlocks();
  return [...chunks.flatMap((chunk) => blocks.push(chunk)), ...blocks.end()];
}

/** Returns where the chunk's last complete line ends; a CR that closed the previous chunk belongs to a leading LF. */
function lastLineEnd(chunk: Buffer, unfinished: Buffer[]): number {
  const at = chunk.lastIndexOf(CRLF);
  if (at !== -1) return at + 2;
  const before = unfinished[unfinished.length - 1];
  return chunk[0] === 10 && before?.[before.length - 1] === 13 ? 1 : 0;
}

const WRITE_BYTES = 64 * 1024;

/**
 * Resolves when all content has left this process. The dot comes after that, so a broken connection during the content
 * is not ambiguous.
 */
export async function sendContent({ connection, timeouts }: SmtpSession, message: OutboundMessage): Promise<void> {
  const blocks = new MessageBlocks();
  let callOff: (() => void) | undefined;
  const isTaken = (content: Buffer[]): Promise<boolean> => sendBlocks(connection, content, timeouts.dataBlockMs);
  try {
    for await (const chunk of message.content) {
      // The limit starts with the first chunk: waiting for our own memory is not the peer's fault.
      callOff ??= connection.failAfter(...contentLimit(timeouts, message.size));
      if (!(await isTaken(blocks.push(chunk)))) return;
    }
    await isTaken(blocks.end());
    await connection.flushed(timeouts.dataBlockMs);
  } finally {
    callOff?.();
  }
}

function contentLimit(timeouts: SmtpTimeouts, size: number): [limitMs: number, failure: Failure] {
  const { contentMs, contentBytesPerSecond: rate } = timeouts;
  const limitMs = contentMs + (size / rate) * 1000;
  const detail = `the peer accepted less than ${rate} bytes of content a second, and not all ${size} bytes within ${Math.round(limitMs / 1000)} s`;
  return [limitMs, { kind: 'timeout', detail }];
}

/** Returns false when the connection has failed or a reply has arrived, and sending more is of no use. */
async function sendBlocks(connection: SmtpConnection, blocks: Buffer[], blockMs: number): Promise<boolean> {
  for (const block of blocks) {
    for (let at = 0; at < block.length; at += WRITE_BYTES) {
      if (connection.failure || connection.earlyReply) return false;
      if (!connection.write(block.subarray(at, at + WRITE_BYTES))) await connection.flushed(blockMs);
    }
  }
  return true;
}
