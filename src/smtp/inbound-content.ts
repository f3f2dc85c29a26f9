import type { Clock } from '../platform/clock/index.ts';
import { createBareLineEnds } from '../protocol/line-ends/index.ts';
import type { Content } from './door.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface ContentLimits {
  clock: Clock;
  /** Beyond this time, content has to come at `bytesPerSecond`. */
  timeoutMs: number;
  bytesPerSecond: number;
  bytesMax: number;
}

/** The memory that messages take while they are in hand, all connections together. */
export interface ContentMemory {
  /** Answers false where there is no more. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

export function createContentMemory(bytesMax: number): ContentMemory {
  let taken = 0;
  return {
    take(bytes) {
      if (taken + bytes > bytesMax) return false;
      taken += bytes;
      return true;
    },
    giveBack: (bytes) => void (taken -= bytes),
  };
}

/**
 * Reads the content of a message to its end and answers it byte for byte; whoever gets it gives its memory back. Content
 * that is refused is read to its end as well, because the client hears nothing before; content that does not come is not
 * waited for.
 */
export async function readContent(
  content: Content,
  { clock, timeoutMs, bytesPerSecond, bytesMax }: ContentLimits,
  memory: ContentMemory,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const lineEnds = createBareLineEnds();
  let [size, held] = [0, 0];
  let refusal: SmtpReply | undefined;
  const refuse = (reply: SmtpReply): void => {
    refusal ??= reply;
    pieces.length = 0;
    memory.giveBack(held);
    held = 0;
  };
  const stopWatching = watchRate(
    clock,
    { timeoutMs, bytesPerSecond },
    () => size,
    () => content.destroy(),
  );
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      size += piece.length;
      lineEnds.see(piece);
      if (refusal) continue;
      if (size > bytesMax) refuse(tooLarge(bytesMax));
      else if (!memory.take(piece.length))
        refuse(new SmtpReply(452, '4.3.1', 'Too much mail is coming in; try again in a minute'));
      else {
        held += piece.length;
        pieces.push(piece);
      }
    }
  } catch {
    refuse(new SmtpReply(421, '4.4.2', 'The content came too slowly, or not to its end; send it again'));
  } finally {
    stopWatching();
  }
  const bare = lineEnds.found();
  if (!refusal && bare)
    refuse(
      new SmtpReply(
        550,
        '5.6.11',
        `The content has a ${bare} without its ${bare === 'LF' ? 'CR' : 'LF'}; end lines with CRLF`,
      ),
    );
  if (refusal) throw refusal;
  return Buffer.concat(pieces);
}

const tooLarge = (bytesMax: number): SmtpReply =>
  new SmtpReply(552, '5.3.4', `The message is larger than the ${bytesMax} bytes that are taken; send less, or a link`);

/** Calls `tooSlow` once when fewer bytes have come than should have by then. */
function watchRate(
  clock: Clock,
  { timeoutMs, bytesPerSecond }: { timeoutMs: number; bytesPerSecond: number },
  size: () => number,
  tooSlow: () => void,
): () => void {
  const start = clock.now();
  let cancel = (): void => undefined;
  const look = (): void => {
    const left = start + timeoutMs + (size() / bytesPerSecond) * 1000 - clock.now();
    if (left <= 0) tooSlow();
    else cancel = clock.timer(left, look);
  };
  look();
  return () => cancel();
}
