import { byReason } from './by-reason.ts';
import { byReply } from './by-reply.ts';
import { PLAYGROUND, SIMULATED, type Ended, type Explanation, type Peer } from './ended.ts';

/** A reply says more than our own word for it; where neither is known, that is what is said. */
export function explainDelivery(ended: Ended, { mx, address, relay }: Peer = { mx: null, address: null }): Explanation {
  if (ended.outcome === 'delivered' && mx !== null && address === null) {
    if (mx === PLAYGROUND) return CAUGHT;
    if (ended.reply?.endsWith(SIMULATED)) return ANSWERED;
  }
  if (relay) {
    const throughRelay = explainRelay(ended, relay);
    if (throughRelay) return throughRelay;
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

const RETRIED = 'Nothing to do: it is tried again by itself.';

/** What the end of a delivery means where a relay stands in the place of the recipient's mail server; undefined where it is the same. */
function explainRelay({ outcome, reason }: Ended, relay: string): Explanation | undefined {
  if (outcome === 'delivered')
    return {
      sentence: `The relay ${relay} took the message and passes it on to the recipient’s mail server.`,
      advice: null,
    };
  switch (reason) {
    case 'relay_misconfigured':
      return {
        sentence: `The relay ${relay} does not accept mail from this server: its login, its certificate or its settings are wrong.`,
        advice: `The operator of this server has to mend it, which rasket relays test ${relay} examines; then it is sent by itself.`,
      };
    case 'unreachable':
      return {
        sentence: `The relay ${relay} could not be connected to.`,
        advice: `${RETRIED} If it lasts, the operator of this server finds out why with rasket relays test ${relay}.`,
      };
    case 'destination_down':
      return {
        sentence: `It was not tried, because the relay ${relay} had failed a moment before.`,
        advice: RETRIED,
      };
    default:
      return undefined;
  }
}
