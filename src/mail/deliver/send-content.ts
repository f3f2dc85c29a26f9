import { MessageBlocks } from './message-blocks.ts';
import type { OutboundMessage } from './delivery-job.ts';
import type { Failure, SmtpConnection } from './smtp-connection.ts';
import type { SmtpSession } from './smtp-session.ts';
import type { SmtpTimeouts } from './timeouts.ts';

const WRITE_BYTES = 64 * 1024;

/** Resolves when all content has left this process: the dot comes after that, so no break in the content is ambiguous. */
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
  const detail = `the peer took less than ${rate} bytes of content a second, and not all ${size} in ${Math.round(limitMs / 1000)} s`;
  return [limitMs, { kind: 'timeout', detail }];
}

/** False when the connection has failed or a reply has come: there is no use in sending more. */
async function sendBlocks(connection: SmtpConnection, blocks: Buffer[], blockMs: number): Promise<boolean> {
  for (const block of blocks) {
    for (let at = 0; at < block.length; at += WRITE_BYTES) {
      if (connection.failure || connection.earlyReply) return false;
      if (!connection.write(block.subarray(at, at + WRITE_BYTES))) await connection.flushed(blockMs);
    }
  }
  return true;
}
