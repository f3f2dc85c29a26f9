/**
 * Threads of inboxes: what came and what was answered, in the order of the last email; where a thread is, who answers it, and
 * what the team notes of it. The emails themselves are those of `received-emails` and `emails`.
 */
export { answerLoopIn } from './answers-paused.ts';
export { deleteInboxThread, updateInboxThread } from './change-thread.ts';
export { indexInboxes } from './index-inboxes.ts';
export { getInboxThreadEmail, listInboxThreadEmails } from './read-thread-emails.ts';
export { getInboxThread, listInboxThreads, threadNamed } from './read-threads.ts';
export { searchInboxThreads } from './search-threads.ts';
export { changeThreadLabels } from './thread-labels.ts';
