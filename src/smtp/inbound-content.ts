import { createBareLineEnds } from '../protocol/line-ends/index.ts';
import { watchRate, type ContentLimits } from './content-rate.ts';
import type { Content } from './door.ts';
import { gatherContent } from './gathered-content.ts';
import { SmtpReply } from './smtp-reply.ts';

/** The memory for messages that are being received, over all connections. */
export interface ContentMemory {
  /** The memory of one message from `party`. */
  begin(party: string): MessageMemory;
}

export interface MessageMemory {
  /** False when there is no more memory. */
  take(bytes: number): boolean;
  giveBack(): void;
}

/** The first bytes of a message, which is the whole of an ordinary one; a quarter of the memory is reserved for them. */
const BEGINNING_BYTES = 128 * 1024;

/**
 * Ordinary messages have a part of the memory to themselves. Of the rest each party may take as much as it leaves to
 * others, so that a party that keeps large messages open blocks only its own.
 */
export function createContentMemory(bytesMax: number): ContentMemory {
  const beginnings = { free: Math.floor(bytesMax / 4) };
  const rest = { free: bytesMax - beginnings.free };
  const restOf = new Map<string, number>();
  return {
    begin(party) {
      let [begun, further] = [0, 0];
      const takeFurther = (bytes: number): boolean => {
        const held = restOf.get(party) ?? 0;
        if (held + bytes > rest.free) return false;
        restOf.set(party, held + bytes);
        rest.free -= bytes;
        further += bytes;
        return true;
      };
      return {
        take(bytes) {
          if (begun + bytes > BEGINNING_BYTES || bytes > beginnings.free) return takeFurther(bytes);
          beginnings.free -= bytes;
          begun += bytes;
          return true;
        },
        giveBack() {
          beginnings.free += begun;
          rest.free += further;
          const left = (restOf.get(party) ?? 0) - further;
          if (left > 0) restOf.set(party, left);
          else restOf.delete(party);
          [begun, further] = [0, 0];
        },
      };
    },
  };
}

/**
 * Reads the content of a message to its end and returns it byte for byte; the caller gives its memory back. Refused
 * content is read to its end too, because the client does not listen before; content that stops coming is given up.
 */
export async function readContent(
  content: Content,
  { bytesMax, ...pace }: ContentLimits,
  memory: MessageMemory,
): Promise<Buffer> {
  const gathered = gatherContent();
  const lineEnds = createBareLineEnds();
  let size = 0;
  let refusal: SmtpReply | undefined;
  const refuse = (reply: SmtpReply): void => {
    refusal ??= reply;
    gathered.drop();
    memory.giveBack();
  };
  const rate = watchRate(pace, () => content.destroy());
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      size += piece.length;
      rate.came(piece.length);
      lineEnds.see(piece);
      if (refusal) continue;
      if (size > bytesMax) refuse(tooLarge(bytesMax));
      else if (!memory.take(piece.length))
        refuse(new SmtpReply(452, '4.3.1', 'Too much mail is coming in; try again in a minute'));
      else gathered.add(piece);
    }
  } catch {
    refuse(new SmtpReply(421, '4.4.2', 'The content came too slowly, or not to its end; send it again'));
  } finally {
    rate.stop();
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
  return gathered.join();
}

const tooLarge = (bytesMax: number): SmtpReply =>
  new SmtpReply(552, '5.3.4', `The message is larger than the ${bytesMax} bytes that are taken; send less, or a link`);
