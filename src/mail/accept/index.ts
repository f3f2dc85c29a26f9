/**
 * Accept: the first stage. It checks that a team may send what it asks for and writes the email, its queue rows and its
 * first event in one commit; the id is returned only after that commit is synced. It uses the network only to fetch
 * files that a send names by a URL.
 */
export { createAccept, type Accept, type Composing, mailOnce } from './accept-email.ts';
export { acceptWithin, logAccepted, Superseded } from './accept-prepared.ts';
export { fetchAttachments } from './fetch-attachments.ts';
export type { Prepared, Forward } from './prepare.ts';
export { mustBeAllowedBySandbox } from './sending-limits.ts';
export { readIdempotency, type Idempotency } from './idempotency.ts';
export { deleteExpiredAnswers } from './idempotency.store.ts';
export { spoolMessage, type Spooled } from './submitted-message.ts';
export { prepareOwnMessage, type OwnMessage } from './own-message.ts';
export { writeNotices, type NoticeOrder } from './delivery-notice.ts';
export {
  findVersionContent,
  resolveTemplate,
  type MergedTemplate,
  type ResolvedTemplate,
  type TemplateUse,
} from './template-hooks.ts';
export { countAppSends, countAsRecipients, type AppOfPerson } from './sending-limits.ts';
