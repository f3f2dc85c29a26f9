/**
 * Whom a broadcast went to and what came of it: one row an address, so that an address gets a broadcast once, whatever
 * becomes of its contact. It does not know the broadcasts.
 */
export {
  contactsOfEmails,
  insertRecipients,
  exclusionsPage,
  recipientsAmong,
  walkedAmong,
  recipientsPage,
  variantCounts,
  type ExclusionReason,
  type NewRecipientRow,
  type RecipientRow,
  type RecipientType,
  type VariantCount,
  eraseRecipient,
  removeLinks,
  removeRecipients,
} from './broadcast-recipients.store.ts';
export { findLeftEmails } from './left-contacts.ts';
export { reportEmailEvents } from './report-events.ts';
export { clicksOf, linksPage, type LinkClicks, type LinkRow } from './links.store.ts';
export { countClicks } from './links.store.ts';
export { countOutcomes, countsOf, judgedCountsOf, type BroadcastCounts, type JudgedCounts } from './outcomes.store.ts';
export type { BounceType, BroadcastOutcome } from './outcome.ts';
