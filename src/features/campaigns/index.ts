/**
 * Recipients of broadcasts and their outcomes: one row per address, so that an address gets a broadcast only once, even
 * if its contact is deleted or changed. This part does not depend on broadcasts.
 */
export {
  countErasedRecipients,
  eraseRecipient,
  insertRecipients,
  removeLinks,
  removeRecipients,
  type NewRecipientRow,
} from './broadcast-recipients/broadcast-recipients.store.ts';
export { findOptedOutEmails } from './broadcast-recipients/opted-out-emails.ts';
export { reportEmailEvents } from './broadcast-recipients/report-events.ts';

/**
 * Broadcasts: mail to the members of a segment, written as a draft and sent once. What is sent is fixed at the moment
 * of sending and does not change later. Concurrent sends, cancels and pages see each other's changes.
 * `features/campaigns/sending` creates the emails, through `leases.store.ts`.
 */
export { listSubjects, readAbTest } from './broadcasts/ab-test.ts';
export {
  findArchivedBroadcast,
  listArchive,
  openArchive,
  renderArchivedMail,
  type Archive,
  type ArchivedBroadcast,
} from './broadcasts/archive.ts';
export {
  countRecipients,
  hasGrown,
  listEarlier,
  loadAudience,
  NOBODY,
  presentAudience,
  readTarget,
  sampleAudience,
  type Target,
} from './broadcasts/audience.ts';
export {
  broadcastNames,
  broadcastsAmong,
  countBroadcasts,
  countRestored,
  endedReport,
  findBroadcast,
  forgetReport,
  holdRestored,
  mailHoldsAmong,
  markReportRemoved,
  resumeRestored,
  type BroadcastRow,
} from './broadcasts/broadcasts.store.ts';
export { createBroadcast } from './broadcasts/change-broadcast.ts';
export {
  completeUtm,
  composeStepBodies,
  composeStepMail,
  countChars,
  readFallbacks,
} from './broadcasts/freeze-broadcast.ts';
export {
  beginBroadcast,
  claimDueBroadcasts,
  endWaitsAfter,
  finishBroadcast,
  saveProgress,
} from './broadcasts/leases.store.ts';
export {
  CHARS_MAX,
  fallbacksIn,
  isTooLarge,
  isViewable,
  mailFor,
  mergedMail,
  propertyNamed,
  type Fallbacks,
  type MergedMail,
} from './broadcasts/merge-values.ts';
export { readBroadcastReport, type BroadcastReport, type ProviderOutcomes } from './broadcasts/broadcast-report.ts';
export {
  renderMail,
  renderStandaloneMail,
  type RenderedMail,
  type StandaloneMail,
} from './broadcasts/preview-broadcast.ts';
export { findQuietEmails, findQuietTime } from './broadcasts/quiet-hours.ts';
export {
  getBroadcast,
  getBroadcastChecklist,
  listBroadcasts,
  listPropertyUsers,
} from './broadcasts/read-broadcasts.ts';
export {
  computeVersion,
  isReviewable,
  listBroadcastReviews,
  reviewBroadcast,
  type ReviewStatus,
} from './broadcasts/reviews.ts';
export { NO_POSTAL_ADDRESS } from './broadcasts/send-broadcast.ts';
export { contactZones, type ContactZones } from './broadcasts/send-time.ts';
export { textTasks } from './broadcasts/freeze-broadcast.ts';
