/**
 * The queue: the deliveries to make, and when. Work is claimed with a lease; whatever happens to the claimant, a
 * delivery is either settled, offered again, or known to be past its final dot and never sent a second time. The queue
 * knows `deliver(job) -> outcomes` and where to get a message, and nothing of the SMTP dialogue.
 */
export { createQueue, type Queue, type QueueOptions, createContentionGauge } from './queue.ts';
export type { Settle, Tried } from './process-delivery.ts';
export {
  findEmailsOfOptedOut,
  findQuietMail,
  findQuietTimes,
  type Outcome,
  type ClaimedDelivery,
  type DeliveryToContact,
  type QuietDelivery,
  type QuietTime,
} from './rules.ts';
export { openHandOffLog, type HandOffLog } from './hand-off-log.ts';
export { pendingDeliveries } from './pending-deliveries.ts';
export { recoverDeliveries } from './recover.ts';
export { isBulk, laneNumber } from './lanes.ts';
export {
  COVER_MAIL,
  HOLDS_MAIL,
  MAIL_HOLD_REASON,
  findHoldOn,
  holdsById,
  holdPage,
  holdsInForce,
  holdsOnMail,
  insertHold,
  isTeamHeld,
  lockHolds,
  removeHold,
  type HoldRow,
  type Selection,
  type SelectionKind,
  bringBackDeliveries,
  countStates,
  countTouched,
  heldIn,
  releaseThrottled,
  retryNow,
  queuedRows,
  QUEUE_STATES,
  holdsWithDeliveries,
  takeUntouched,
  untouchedIds,
  waitingPage,
  releaseHeld,
  type QueueState,
  type Receiver,
  type StateCount,
  type WaitingFilter,
  type WaitingRow,
} from './waiting.store.ts';
export {
  broadcastsInQueue,
  toEventEmail,
  endDoubt,
  hasDeliveries,
  insertDeliveries,
  moveUnclaimed,
  releaseDeferred,
  removeClaimed,
  removeUnclaimed,
  reschedule,
  untouchedOfBroadcast,
  waitingOfBroadcast,
  type DeliveryRow,
} from './deliveries.store.ts';
