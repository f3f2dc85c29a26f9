/**
 * The rows of inboxes and of their threads: receiving and sending put emails there, and what removes emails takes them away
 * again. The rules of what people do with them are those of `inboxes`, `inbox-threads` and `inbox-drafts`.
 */
export type {
  Direction,
  InboxEmailRow,
  InboxMail,
  InboxRow,
  LabelRow,
  MoveFolder,
  StoredFolder,
  ThreadRow,
} from './rows.ts';
