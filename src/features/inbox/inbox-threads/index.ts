/**
 * Threads of inboxes: what came and what was answered, in the order of the last email; where a thread is, who answers it, and
 * what the team notes of it. The emails themselves are those of `received-emails` and `emails`.
 */
export {
  answerLoopIn,
  getInboxThreadEmail,
  listInboxThreadEmails,
  getInboxThread,
  listInboxThreads,
  threadNamed,
} from './read-threads.ts';
export { deleteInboxThread, updateInboxThread, changeThreadLabels } from './change-thread.ts';
export { indexInboxes, searchInboxThreads } from './search-threads.ts';
export { putIntoThreads } from './put-into-threads.ts';
