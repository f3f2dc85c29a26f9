/**
 * Inboxes: addresses at which a team answers its customers, the labels that sort what comes there, and how an assistant is to
 * write. An address is one inbox's of a team. What is deleted is gone for callers at once; its rows go in the background.
 */
export {
  createInbox,
  deleteInbox,
  deleteInboxesOfDomain,
  getInboxAgent,
  updateInbox,
  updateInboxAgent,
  createInboxLabel,
  deleteInboxLabel,
  listInboxLabels,
  updateInboxLabel,
  getInbox,
  inboxNamed,
  listInboxChannels,
  listInboxes,
  inboxKeysOf,
} from './inboxes.ts';
