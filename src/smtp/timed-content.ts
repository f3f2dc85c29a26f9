import type { Clock } from '../platform/clock/index.ts';
import type { Content } from './door.ts';
import { tooLarge } from './library-replies.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface ContentLimits {
  clock: Clock;
  bytesMax: number;
  /** Content has this long, and longer by what its bytes take at the lowest rate. */
  patienceMs: number;
  bytesPerSecond: number;
}

/**
 * The content, for as long as it comes fast enough. What is too large is read to its end, because clients do not listen
 * before, but only as much again; then the connection is ended.
 */
export async function* timedContent(content: Content, limits: ContentLimits): AsyncGenerator<Buffer> {
  const { clock, bytesMax, patienceMs, bytesPerSecond } = limits;
  const began = clock.now();
  const slow = new SmtpReply(421, '4.4.2', `Content comes too slowly; at least ${bytesPerSecond} bytes a second`);
  const deadline = (): number => began + patienceMs + (content.byteLength / bytesPerSecond) * 1000;
  let cancel = (): void => undefined;
  const watch = (): void => {
    const left = deadline() - clock.now();
    if (left <= 0) content.destroy(slow);
    else cancel = clock.timer(left, watch);
  };
  watch();
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      if (content.byteLength > bytesMax * 2) throw new SmtpReply(421, '4.3.4', 'The message is far too large');
      if (!content.sizeExceeded) yield piece;
    }
  } finally {
    cancel();
  }
  if (content.sizeExceeded) throw new SmtpReply(552, '5.3.4', tooLarge({ messageBytesMax: bytesMax }).slice(6));
}
