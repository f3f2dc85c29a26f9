/**
 * Inboxes: addresses at which a team answers its customers, the labels that sort what comes there, and how an assistant is to
 * write. An address is one inbox's of a team. What is deleted is gone for callers at once; its rows go in the background.
 */
export { createInbox } from './create-inbox.ts';
export { deleteInbox, deleteInboxesOfDomain, getInboxAgent, updateInbox, updateInboxAgent } from './change-inbox.ts';
export { createInboxLabel, deleteInboxLabel, listInboxLabels, updateInboxLabel } from './labels.ts';
export { getInbox, inboxNamed, listInboxChannels, listInboxes } from './read-inboxes.ts';
export { inboxKeysOf } from './read-inbox-address.ts';
