/**
 * Drafts of an inbox: their content, the API format, and their rules. `features/inbox/composing` fetches files and
 * sends them.
 */
export { getDraft, mustFindDraft } from './drafts.ts';

/**
 * Rows of inboxes and of their threads: receiving and sending add emails, and the removal of emails removes them again.
 * The rules for users are in `inboxes.ts`, `threads` and `drafts.ts`.
 */
export {
  inboxDraftsAmong,
  removeDeletedRows,
  removeInboxEmails,
  removeThreadRows,
  trashedThreads,
  wakingThreads,
} from './store/remove.store.ts';
export { deleteExpiredAnswering } from './store/answering.store.ts';
export { buildSnippet, lockThread, updateThreadRow } from './store/threads.store.ts';

/**
 * Threads of inboxes: received mail and replies, ordered by the last email; their folder, assignee and notes. The
 * emails themselves belong to `mail/received-emails` and `mail/emails`.
 */
export { putIntoThreads } from './threads/put-into-threads.ts';
export { getInboxThread } from './threads/read-threads.ts';
export { indexInboxes } from './threads/search-threads.ts';

/**
 * Inboxes: addresses at which a team replies to its customers, the labels that sort incoming mail, and instructions for
 * an assistant. An address belongs to one inbox of a team. A deleted inbox is gone for callers at once; its rows are
 * removed in the background.
 */
export { createInbox, deleteInboxesOfDomain, getInbox, inboxNamed, listInboxes } from './inboxes.ts';
