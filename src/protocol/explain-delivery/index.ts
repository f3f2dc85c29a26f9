/** What the end of a delivery means, for somebody who has never read an RFC: one sentence, and what to do about it. */
export { PLAYGROUND, SIMULATED } from './ended.ts';
export type { Ended, Explanation } from './ended.ts';
export { explainDelivery } from './explain-delivery.ts';
