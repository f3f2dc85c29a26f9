/**
 * Emails: what was asked for and how far it got. The rules of a send are here (`readEmail`), its acceptance is flow's.
 * A row is written once by accept; after that only `last_event` moves, and only forward.
 */
export {
  insertAttempts,
  latestAttempts,
  removeAttemptsOf,
  type AttemptRow,
  type TriedRecipient,
} from './attempts.store.ts';
export { listEmailAttempts, listEmailEvents, storyOf } from './read-history.ts';
export { emailSizes } from './email-sizes.ts';
export { isWithheld, presentEnvelope } from './present.ts';
export { getEmail, listEmails } from './read-emails.ts';
export {
  readEmail,
  RECIPIENTS_MAX,
  type CompleteEmailInput,
  type DraftAttachment,
  type EmailDraft,
} from './read-email-input.ts';
export { openAttachment } from './attachment-content.ts';
export { invalidAttachment, readAttachments, sizeOfFile } from './read-attachments.ts';
export { readMailboxes } from './read-mailboxes.ts';
export {
  createBodyFinder,
  findBody,
  isLargeBody,
  loadBodies,
  type EmailBody,
  type StoredBody,
} from './email-bodies.ts';
export { bodyRow, contentsOf, linksOf, sharedBodyRow, ATTACHMENT_BLOB, type SharedBody } from './email-bodies.ts';
export {
  accountMailAmong,
  advanceLastEvent,
  beginAttempts,
  forgetFirstAttempts,
  attachmentsOf,
  cancelScheduled,
  emailRowsByIds,
  findEmail,
  insertEmails,
  moveScheduled,
  type AttachmentRow,
  type BodyRow,
  type EmailRow,
  type NewEmailRows,
} from './emails.store.ts';
export { findMessage, MESSAGE_BLOB, type MessageRow } from './email-messages.store.ts';
export { EMAILS_A_BLOCK, indexEmails } from './index-emails.ts';
export { addGrams, gramOfTeam, gramsToFind } from './search-grams.ts';
export { stretchesToLookAt, type Searched } from './search-stretches.ts';
export { recordEmailEvents, type EmailEvent, type EventEmail } from './record-email-events.ts';
export { removeEmailRows } from './remove-emails.store.ts';
export { readScheduledAt } from './read-scheduled-at.ts';
export { searchEmails } from './search-emails.ts';
export { readCreatedRange } from './read-created-range.ts';
export { foldForSearch, searchTextOf } from './search-text.ts';
export { tagFault } from './tag-fault.ts';
