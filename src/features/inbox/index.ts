/**
 * Mail that is being written in an inbox: what is kept of it, what is answered of it, and its rules. What is fetched for it
 * and how it is sent is `features/inbox/composing`.
 */
export { getDraft, mustFindDraft } from './drafts.ts';

/**
 * The rows of inboxes and of their threads: receiving and sending put emails there, and what removes emails takes them away
 * again. The rules of what people do with them are those of `inboxes`, `inbox-threads` and `inbox-drafts`.
 */
export {
  inboxDraftsAmong,
  removeDeletedRows,
  removeInboxEmails,
  removeThreadRows,
  trashedThreads,
  wakingThreads,
} from './store/remove.store.ts';
export { lockThread, updateThreadRow } from './store/threads.store.ts';

/**
 * Threads of inboxes: what came and what was answered, in the order of the last email; where a thread is, who answers it, and
 * what the team notes of it. The emails themselves are those of `received-emails` and `emails`.
 */
export { putIntoThreads } from './threads/put-into-threads.ts';
export { indexInboxes } from './threads/search-threads.ts';

/**
 * Inboxes: addresses at which a team answers its customers, the labels that sort what comes there, and how an assistant is to
 * write. An address is one inbox's of a team. What is deleted is gone for callers at once; its rows go in the background.
 */
export { createInbox, deleteInboxesOfDomain, getInbox, inboxNamed, listInboxes } from './inboxes.ts';
