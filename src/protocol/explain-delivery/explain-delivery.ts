import { byReason } from './by-reason.ts';
import { byReply } from './by-reply.ts';
import { PLAYGROUND, SIMULATED, type Ended, type Explanation, type Peer } from './ended.ts';

/** A reply says more than our own word for it; where neither is known, that is what is said. */
export function explainDelivery(ended: Ended, { mx, address }: Peer = { mx: null, address: null }): Explanation {
  if (ended.outcome === 'delivered' && mx !== null && address === null) {
    if (mx === PLAYGROUND) return CAUGHT;
    if (ended.reply?.endsWith(SIMULATED)) return ANSWERED;
  }
  const isReply = ended.reason === null || ended.reason === 'refused' || ended.reason === 'refused_for_now';
  const fromReply = isReply && ended.reply !== null ? byReply(ended.reply, ended.outcome === 'deferred') : undefined;
  return fromReply ?? byReason(ended);
}

const CAUGHT: Explanation = {
  sentence: 'It was kept in the playground of this server, and went nowhere.',
  advice: 'The playground shows what there is.',
};

const ANSWERED: Explanation = {
  sentence: 'The mailbox simulator of this server answered for the recipient; nothing left this server.',
  advice: null,
};
