/**
 * Emails: what was asked for and how far it got. The rules of a send are here (`readEmail`), its acceptance is flow's.
 * A row is written once by accept; after that only `last_event` moves, and only forward.
 */
export { getEmail, listEmails, type EmailFilter } from './read-emails.ts';
export {
  readEmail,
  type CompleteEmailInput,
  type DraftAttachment,
  type EmailDraft,
  type SendEmailInput,
} from './read-email-input.ts';
export { fetchAttachments, fetchAttachmentsOfEach } from './fetch-attachments.ts';
export { loadBodies, type EmailBody } from './email-bodies.ts';
export { blobsOf, bodyRow, ATTACHMENT_BLOB } from './email-bodies.ts';
export {
  advanceLastEvent,
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
export { readScheduledAt } from './read-scheduled-at.ts';
export { readCreatedRange } from './read-created-range.ts';
export { searchTextOf } from './search-text.ts';
