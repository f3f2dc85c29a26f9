/**
 * Broadcasts: mail to the members of a segment, written as a draft and sent once. It promises that what is sent is fixed at
 * the moment of the send, whatever changes after, and that of several sends, cancels and pages at once each sees the others.
 * The emails are created by `features/campaigns/sending`, through `leases.store.ts`.
 */
export {
  createBroadcast,
  cancelBroadcast,
  deleteBroadcast,
  duplicateBroadcast,
  resumeBroadcast,
  updateBroadcast,
} from './change-broadcast.ts';
export { sendBroadcast, mustBeTestable, inOtherStatus } from './send-broadcast.ts';
export {
  getBroadcast,
  getBroadcastChecklist,
  listBroadcastExclusions,
  listBroadcastLinks,
  listBroadcastRecipients,
  listBroadcasts,
  listPropertyUsers,
} from './read-broadcasts.ts';
export { abTestOf, decide, decisionOf, subjectsOf, variantFor } from './ab-test.ts';
export {
  saveDecision,
  waitForDecision,
  beginBroadcast,
  beginPass,
  claimDueBroadcasts,
  endPausesAfter,
  failBroadcast,
  finishBroadcast,
  holdBroadcast,
  nextBroadcastAt,
  pauseBroadcast,
  saveProgress,
  waitForPass,
  waitForStart,
  type PageDone,
} from './leases.store.ts';
export { contactZones, type ContactZones } from './send-time.ts';
export {
  composeStepMail,
  fallbacksOf,
  freezeBroadcast,
  composeStepBodies,
  countChars,
  textTasks,
} from './freeze-broadcast.ts';
export {
  CHARS_MAX,
  fallbacksIn,
  isTeamKey,
  isTooLarge,
  mailFor,
  mergedMail,
  propertyNamed,
  type Fallbacks,
  type MergedMail,
} from './merge-values.ts';
export { previewBroadcast, renderMail, type RenderedMail } from './preview-broadcast.ts';
export {
  broadcastNames,
  countBroadcasts,
  findBroadcast,
  type BroadcastRow,
  type BroadcastStatus,
  type Obstacle,
  type WaitingReason,
  endedReport,
  forgetReport,
  AUDIENCE_GROWN,
  countRestored,
  holdForOutcome,
  holdRestored,
  judgeable,
  mailHoldsAmong,
  resumeRestored,
  type HeldForOutcome,
  type JudgedRow,
  type MailHold,
} from './broadcasts.store.ts';
export { hasGrown } from './audience-growth.ts';
