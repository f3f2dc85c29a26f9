import {
  changeThreadLabels,
  deleteInboxThread,
  getInboxThread,
  getInboxThreadEmail,
  listInboxThreadEmails,
  listInboxThreads,
  searchInboxThreads,
  updateInboxThread,
} from '../features/inbox/inbox-threads/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const inboxThreads = {
  listInboxThreads: (ctx, { path, query = {} }) => listInboxThreads(ctx, path.inbox, query, pageOf(query)),
  searchInboxThreads: (ctx, { path, query = {} }) => searchInboxThreads(ctx, path.inbox, query, pageOf(query)),
  getInboxThread: (ctx, { path }) => getInboxThread(ctx, path.inbox, path.thread_id),
  updateInboxThread: (ctx, { path, body }) => updateInboxThread(ctx, path.inbox, path.thread_id, body),
  deleteInboxThread: (ctx, { path }) => deleteInboxThread(ctx, path.inbox, path.thread_id),
  addInboxThreadLabels: (ctx, { path, body }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'add', labels: body.labels }),
  setInboxThreadLabels: (ctx, { path, body }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'set', labels: body.labels }),
  removeInboxThreadLabel: (ctx, { path }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'remove', labels: [path.label_id] }),
  listInboxThreadEmails: (ctx, { path, query }) =>
    listInboxThreadEmails(ctx, path.inbox, path.thread_id, pageOf(query)),
  getInboxThreadEmail: (ctx, { path }) => getInboxThreadEmail(ctx, path.inbox, path.thread_id, path.inbox_email_id),
} satisfies Partial<Operations>;
