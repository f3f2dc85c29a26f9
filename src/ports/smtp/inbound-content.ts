import type { ContentGatherer, MessageContent } from '../../mail/receive/index.ts';
import { createBareLineEnds } from '../../protocol/line-ends/index.ts';
import { watchRate, type ContentLimits } from './content-rate.ts';
import type { MessageSpace } from './content-space.ts';
import type { Content } from './door.ts';
import { SmtpReply, temporaryTrouble } from './smtp-reply.ts';

/** Where a message goes as it comes in. */
export interface ContentGoal {
  space: MessageSpace;
  gathered: ContentGatherer;
}

/**
 * Reads the content of a message to its end and returns it byte for byte; the caller discards what was gathered and gives its space back.
 * Refused content is read to its end too, because the client does not listen before, and is not kept; content that stops
 * coming is given up.
 */
export async function readContent(
  content: Content,
  { bytesMax, ...pace }: ContentLimits,
  { space, gathered }: ContentGoal,
): Promise<MessageContent> {
  const lineEnds = createBareLineEnds();
  let size = 0;
  let hasNul = false;
  let refusal: SmtpReply | undefined;
  const refuse = async (reply: SmtpReply): Promise<void> => {
    refusal ??= reply;
    await gathered.discard();
    space.giveBack();
  };
  let fault: { error: unknown } | undefined;
  const rate = watchRate(pace, () => content.destroy());
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      size += piece.length;
      rate.came(piece.length);
      lineEnds.see(piece);
      hasNul ||= piece.includes(0);
      if (refusal) continue;
      const to = size > bytesMax ? undefined : space.take(piece.length);
      if (to === undefined) await refuse(size > bytesMax ? tooLarge(bytesMax) : tooMuch());
      else {
        await gathered.add(piece, to).catch((error: unknown) => {
          fault = { error };
          return refuse(temporaryTrouble(error));
        });
      }
    }
  } catch {
    await refuse(new SmtpReply(421, '4.4.2', 'The content came too slowly, or not to its end; send it again'));
  } finally {
    rate.stop();
  }
  if (fault) throw fault.error;
  const bare = lineEnds.found();
  if (!refusal && bare)
    await refuse(
      new SmtpReply(
        550,
        '5.6.11',
        `The content has a ${bare} without its ${bare === 'LF' ? 'CR' : 'LF'}; end lines with CRLF`,
      ),
    );
  if (!refusal && hasNul) {
    await refuse(
      new SmtpReply(550, '5.6.0', 'The content has a NUL byte, which mail cannot contain; encode it as base64'),
    );
  }
  if (refusal) throw refusal;
  return gathered.finish();
}

export const tooMuch = (): SmtpReply =>
  new SmtpReply(452, '4.3.1', 'Too much mail is coming in; try again in a minute');

const tooLarge = (bytesMax: number): SmtpReply =>
  new SmtpReply(552, '5.3.4', `The message is larger than the ${bytesMax} bytes that are taken; send less, or a link`);
