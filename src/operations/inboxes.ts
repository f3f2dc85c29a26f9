import {
  createInbox,
  createInboxLabel,
  deleteInbox,
  deleteInboxLabel,
  getInbox,
  getInboxAgent,
  listInboxChannels,
  listInboxes,
  listInboxLabels,
  updateInbox,
  updateInboxAgent,
  updateInboxLabel,
} from '../features/inbox/inboxes/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const inboxes = {
  listInboxChannels: (ctx) => listInboxChannels(ctx),
  createInbox: (ctx, { body }) => createInbox(ctx, body),
  listInboxes: (ctx, { query }) => listInboxes(ctx, pageOf(query)),
  getInbox: (ctx, { path }) => getInbox(ctx, path.inbox),
  updateInbox: (ctx, { path, body }) => updateInbox(ctx, path.inbox, body),
  deleteInbox: (ctx, { path }) => deleteInbox(ctx, path.inbox),
  listInboxLabels: (ctx, { path }) => listInboxLabels(ctx, path.inbox),
  createInboxLabel: (ctx, { path, body }) => createInboxLabel(ctx, path.inbox, body),
  updateInboxLabel: (ctx, { path, body }) => updateInboxLabel(ctx, path.inbox, path.label_id, body),
  deleteInboxLabel: (ctx, { path }) => deleteInboxLabel(ctx, path.inbox, path.label_id),
  getInboxAgent: (ctx, { path }) => getInboxAgent(ctx, path.inbox),
  updateInboxAgent: (ctx, { path, body }) => updateInboxAgent(ctx, path.inbox, body),
} satisfies Partial<Operations>;
