/**
 * The rows of inboxes and of their threads: receiving and sending put emails there, and what removes emails takes them away
 * again. The rules of what people do with them are those of `inboxes`, `inbox-threads` and `inbox-drafts`.
 */
export {
  deleteDraftRow,
  deleteDraftsSentAs,
  filesOfDrafts,
  findDraft,
  insertDraft,
  insertDraftFiles,
  listDraftRows,
  lockDraft,
  markDraftSent,
  updateDraftRow,
  weighDrafts,
  type DraftChange,
  type DraftFileRow,
  type DraftRow,
} from './drafts.store.ts';
export { sourceOf, threadData } from './event-data.ts';
export {
  channelRows,
  countInboxes,
  draftsIn,
  findInbox,
  inboxesAt,
  inboxesOfDomain,
  insertInbox,
  insertLabel,
  labelsOf,
  listInboxRows,
  lockInbox,
  markInboxDeleted,
  markLabelDeleted,
  noteReceived,
  unreadIn,
  updateInboxRow,
  updateLabelRow,
  type InboxChange,
  type NewInbox,
} from './inboxes.store.ts';
export { automaticAnswersTo, isAnsweredByMachine, isInboxHere } from './machines.store.ts';
export {
  presentInbox,
  presentInboxItem,
  presentThread,
  presentThreadItem,
  presentThreadLabel,
  shownFolder,
  type ThreadSurroundings,
} from './present.ts';
export {
  inboxDraftsAmong,
  removeDeletedRows,
  removeDraftFiles,
  removeInboxEmails,
  removeThreadRows,
  trashedThreads,
  wakingThreads,
} from './remove.store.ts';
export type {
  Direction,
  InboxEmailRow,
  InboxMail,
  InboxRow,
  KeyKind,
  LabelRow,
  MoveFolder,
  StoredFolder,
  ThreadRow,
} from './rows.ts';
export {
  allInboxIds,
  inboxBlocksToLookAt,
  inboxEmailAfter,
  inboxIndexedTo,
  inboxTextsAfter,
  insertInboxBlock,
  matchesBetween,
  newestMatch,
  removeInboxBlocksBefore,
  textsOf,
  type EmailMatch,
} from './search.store.ts';
export {
  addThreadLabels,
  assigneesAmong,
  findThreadEmail,
  labelsOfThreads,
  listThreadEmailRows,
  listThreadRows,
  removeThreadLabels,
  withDrafts,
  type ThreadEmail,
  type ThreadFilter,
  type ThreadLabelRow,
} from './thread-lists.store.ts';
export {
  addToThread,
  candidateAddressed,
  candidatesByIds,
  candidatesBySubject,
  findThread,
  insertThread,
  lockThread,
  readEmails,
  snippetOf,
  threadsByIds,
  unreadNewest,
  updateThreadRow,
  type Candidate,
  type ThreadChange,
} from './threads.store.ts';
