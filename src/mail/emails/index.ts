/**
 * Emails: the accepted sends and their states. The rules of a send are here (`readEmail`), `mail/accept` accepts them.
 * A row is written once by accept; after that only `last_event` moves, and only forward.
 */
export {
  insertAttempts,
  latestAttempts,
  removeEmailAttempts,
  type AttemptRow,
  type TriedRecipient,
} from './attempts.store.ts';
export {
  listEmailAttempts,
  listEmailEvents,
  loadStory,
  recordEmailEvents,
  recordContactEngagement,
  reportBroadcastEvents,
  type EmailEvent,
  type EventEmail,
} from './email-history.ts';
export {
  emailSizes,
  openAttachment,
  createBodyFinder,
  findBody,
  isLargeBody,
  loadBodies,
  type EmailBody,
  type StoredBody,
  bodyRow,
  buildBlobs,
  buildBlobLinks,
  sharedBodyRow,
  ATTACHMENT_BLOB,
  type SharedBody,
} from './email-bodies.ts';
export { isWithheld, presentEnvelope, getEmail, listEmails } from './read-emails.ts';
export {
  readEmail,
  RECIPIENTS_MAX,
  type CompleteEmailInput,
  type EmailDraft,
  invalidAttachment,
  readAttachments,
  sizeOfFile,
  type DraftAttachment,
  readMailboxes,
  readScheduledAt,
  tagFault,
} from './read-email-input.ts';
export {
  accountMailAmong,
  advanceLastEvent,
  beginAttempts,
  forgetFirstAttempts,
  listEmailAttachments,
  cancelScheduled,
  emailRowsByIds,
  findEmail,
  insertEmails,
  moveScheduled,
  type AttachmentRow,
  type BodyRow,
  type EmailRow,
  type NewEmailRows,
  findMessage,
  MESSAGE_BLOB,
  type MessageRow,
  removeEmailRows,
} from './emails.store.ts';
export { EMAILS_A_BLOCK, indexEmails, listStretches, type Searched, searchEmails } from './search-emails.ts';
export { addGrams, gramOfTeam, gramsToFind, foldAccents, foldForSearch, buildSearchText } from './search-text.ts';
