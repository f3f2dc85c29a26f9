/**
 * Broadcasts: one mail to the members of a segment. What is sent is fixed when it is sent; how far it has come stands here, and
 * the campaigns of flow move it on.
 */
export {
  beginBroadcast,
  claimDueBroadcasts,
  failBroadcast,
  finishBroadcast,
  holdBroadcast,
  nextBroadcastAt,
  pauseBroadcast,
  releaseAllBroadcasts,
  releaseBroadcast,
  renewLease,
  saveProgress,
} from './leases.store.ts';
export type { BroadcastRow, WaitingReason } from './broadcasts.store.ts';
export { mergeValuesOf, rendered, renderSubject } from './merge-values.ts';
