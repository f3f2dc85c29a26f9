import { replyText, type Reply } from '../../protocol/smtp-reply/index.ts';
import { cutText, PEER_TEXT_CHARS_MAX } from '../deliver/index.ts';
import type { Outcome } from '../queue/index.ts';
import { causeFor } from './conclude.ts';

/**
 * Cuts the replies of mail servers to the length that events, attempts, notices and the log keep. The cause of a reply
 * is determined before that, from all of it. Outcomes that share a reply still share it afterwards.
 */
export function boundOutcomes(outcomes: readonly Outcome[]): Outcome[] {
  const cut = new Map<Reply, Reply>();
  return outcomes.map((outcome) => {
    const bounded = { ...outcome };
    if ('detail' in bounded) bounded.detail = cutText(bounded.detail);
    if (!('reply' in bounded) || bounded.reply === undefined) return bounded;
    const reply = cut.get(bounded.reply) ?? cutReply(bounded.reply);
    cut.set(bounded.reply, reply);
    if (reply === bounded.reply) return bounded;
    if (bounded.kind !== 'delivered') bounded.cause = causeFor(bounded);
    bounded.reply = reply;
    return bounded;
  });
}

function cutReply(reply: Reply): Reply {
  const text = replyText(reply);
  if (text.length <= PEER_TEXT_CHARS_MAX) return reply;
  const status = replyText({ ...reply, lines: [] });
  const words = text.slice(status.length + 1);
  return { ...reply, lines: [cutText(words, PEER_TEXT_CHARS_MAX - status.length - 1)] };
}
