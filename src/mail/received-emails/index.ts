/**
 * Received mail: the list, its parts and its source, and links that download those for fifteen minutes without a key.
 * It is written by mail/receive; here it is read, deleted, and its storage counted.
 */
export {
  type Authentication,
  deleteReceivedEmail,
  readList,
  getReceivedAttachment,
  listReceivedAttachments,
  getReceivedEmail,
  listReceivedEmails,
} from './read-received-emails.ts';
export { downloadReceived, type ReceivedDownload } from './download-received.ts';
export {
  listAttachmentRows as receivedAttachmentsOf,
  expiredReceivedIds,
  insertReceived,
  receivedBefore,
  receivedByIds,
  receivedIdsAmong,
  removeFromInboxes,
  removeReceivedRows,
  type DroppedReason,
  type NotForwarded,
  type NewReceivedEmail,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from './received-emails.store.ts';
export {
  findWholeReceived,
  type WholeReceived,
  loadReceivedBodies,
  RAW_BLOB,
  RECEIVED_ATTACHMENT_BLOB,
  receivedBody,
  type ReceivedContent,
} from './stored-content.ts';
