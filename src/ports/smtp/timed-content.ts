import { watchRate, type ContentLimits } from './content-rate.ts';
import type { Content } from './door.ts';
import { tooLarge } from './library-replies.ts';
import { SmtpReply } from './smtp-reply.ts';

/**
 * Passes the content on, as long as it comes fast enough. Content that is too large is read to its end, because clients
 * do not listen before, but only up to twice the limit; then the connection is ended.
 */
export async function* timedContent(content: Content, { bytesMax, ...pace }: ContentLimits): AsyncGenerator<Buffer> {
  const slow = new SmtpReply(421, '4.4.2', `Content comes too slowly; at least ${pace.bytesPerSecond} bytes a second`);
  const rate = watchRate(pace, () => content.destroy(slow));
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      rate.came(piece.length);
      if (content.byteLength > bytesMax * 2) throw new SmtpReply(421, '4.3.4', 'The message is far too large');
      if (!content.sizeExceeded) yield piece;
    }
  } catch (error) {
    throw hasHungUp(error) ? new SmtpReply(421, '4.4.2', 'The client hung up before the end of its message') : error;
  } finally {
    rate.stop();
  }
  if (content.sizeExceeded) throw new SmtpReply(552, '5.3.4', tooLarge({ messageBytesMax: bytesMax }).slice(6));
}

/** The error with which the library ends content when the client hangs up. */
const hasHungUp = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNECTION';
