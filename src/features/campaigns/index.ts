/**
 * Whom a broadcast went to and what came of it: one row an address, so that an address gets a broadcast once, whatever
 * becomes of its contact. It does not know the broadcasts.
 */
export {
  eraseRecipient,
  insertRecipients,
  removeLinks,
  removeRecipients,
  type NewRecipientRow,
} from './broadcast-recipients/broadcast-recipients.store.ts';
export { findLeftEmails } from './broadcast-recipients/left-contacts.ts';
export { reportEmailEvents } from './broadcast-recipients/report-events.ts';

/**
 * Broadcasts: mail to the members of a segment, written as a draft and sent once. It promises that what is sent is fixed at
 * the moment of the send, whatever changes after, and that of several sends, cancels and pages at once each sees the others.
 * The emails are created by `features/campaigns/sending`, through `leases.store.ts`.
 */
export { subjectsOf } from './broadcasts/ab-test.ts';
export { hasGrown } from './broadcasts/audience-growth.ts';
export {
  broadcastNames,
  countBroadcasts,
  countRestored,
  endedReport,
  findBroadcast,
  forgetReport,
  holdRestored,
  mailHoldsAmong,
  resumeRestored,
  type BroadcastRow,
} from './broadcasts/broadcasts.store.ts';
export { createBroadcast } from './broadcasts/change-broadcast.ts';
export { composeStepBodies, composeStepMail, countChars, fallbacksOf } from './broadcasts/freeze-broadcast.ts';
export {
  beginBroadcast,
  claimDueBroadcasts,
  endPausesAfter,
  finishBroadcast,
  saveProgress,
} from './broadcasts/leases.store.ts';
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
} from './broadcasts/merge-values.ts';
export { getBroadcast, listBroadcasts, listPropertyUsers } from './broadcasts/read-broadcasts.ts';
export { textTasks } from './broadcasts/freeze-broadcast.ts';
