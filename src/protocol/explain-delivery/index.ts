/** What the end of a delivery means, for somebody who has never read an RFC: one sentence, and what to do about it. */
export { PLAYGROUND, SIMULATED, type Ended, type Explanation, explainDelivery } from './explain-delivery.ts';
