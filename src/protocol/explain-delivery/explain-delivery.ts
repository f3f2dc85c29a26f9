import { byReason } from './by-reason.ts';
import { byReply } from './by-reply.ts';
import type { Ended, Explanation } from './ended.ts';

/** A reply says more than our own word for it; where neither is known, that is what is said. */
export function explainDelivery(ended: Ended): Explanation {
  const isReply = ended.reason === null || ended.reason === 'refused' || ended.reason === 'refused_for_now';
  const fromReply = isReply && ended.reply !== null ? byReply(ended.reply, ended.outcome === 'deferred') : undefined;
  return fromReply ?? byReason(ended);
}
