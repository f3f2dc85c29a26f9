import type { Accept } from '../../mail/accept/index.ts';
import { createDraft, sendDraft, updateDraft } from './composing/drafts.ts';
import { renderInboxTemplate } from './composing/fill-template.ts';
import { forwardEmail, replyToEmail } from './composing/answer.ts';
import { deleteDraft, getDraft, listDrafts } from './drafts.ts';
import { announceAnswer, withdrawAnswer } from './threads/answering.ts';
import { changeThreadLabels, deleteInboxThread, updateInboxThread } from './threads/change-thread.ts';
import {
  getInboxThread,
  getInboxThreadEmail,
  listInboxThreadEmails,
  listInboxThreads,
} from './threads/read-threads.ts';
import { searchInboxThreads } from './threads/search-threads.ts';
import {
  createInbox,
  createInboxLabel,
  deleteInbox,
  deleteInboxLabel,
  getInbox,
  getInboxAgent,
  listInboxChannels,
  listInboxLabels,
  listInboxes,
  updateInbox,
  updateInboxAgent,
  updateInboxLabel,
} from './inboxes.ts';
import { readIdempotency } from '../../mail/accept/index.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const inboxes = {
  listInboxChannels: (ctx) => listInboxChannels(ctx),
  createInbox: (ctx, { body }) => createInbox(ctx, body),
  listInboxes: (ctx, { query }) => listInboxes(ctx, readPage(query)),
  getInbox: (ctx, { path }) => getInbox(ctx, path.inbox),
  updateInbox: (ctx, { path, body }) => updateInbox(ctx, path.inbox, body),
  deleteInbox: (ctx, { path }) => deleteInbox(ctx, path.inbox),
  listInboxLabels: (ctx, { path }) => listInboxLabels(ctx, path.inbox),
  createInboxLabel: (ctx, { path, body }) => createInboxLabel(ctx, path.inbox, body),
  updateInboxLabel: (ctx, { path, body }) => updateInboxLabel(ctx, path.inbox, path.label_id, body),
  deleteInboxLabel: (ctx, { path }) => deleteInboxLabel(ctx, path.inbox, path.label_id),
  getInboxAgent: (ctx, { path }) => getInboxAgent(ctx, path.inbox),
  updateInboxAgent: (ctx, { path, body }) => updateInboxAgent(ctx, path.inbox, body),
} satisfies OperationTable<World>;

export const inboxThreads = {
  listInboxThreads: (ctx, { path, query = {} }) => listInboxThreads(ctx, path.inbox, query, readPage(query)),
  searchInboxThreads: (ctx, { path, query = {} }) => searchInboxThreads(ctx, path.inbox, query, readPage(query)),
  getInboxThread: (ctx, { path }) => getInboxThread(ctx, path.inbox, path.thread_id),
  updateInboxThread: (ctx, { path, body }) => updateInboxThread(ctx, path.inbox, path.thread_id, body),
  deleteInboxThread: (ctx, { path }) => deleteInboxThread(ctx, path.inbox, path.thread_id),
  announceInboxAnswer: (ctx, { path }) => announceAnswer(ctx, path.inbox, path.thread_id),
  withdrawInboxAnswer: (ctx, { path }) => withdrawAnswer(ctx, path.inbox, path.thread_id),
  addInboxThreadLabels: (ctx, { path, body }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'add', labels: body.labels }),
  setInboxThreadLabels: (ctx, { path, body }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'set', labels: body.labels }),
  removeInboxThreadLabel: (ctx, { path }) =>
    changeThreadLabels(ctx, path.inbox, path.thread_id, { kind: 'remove', labels: [path.label_id] }),
  listInboxThreadEmails: (ctx, { path, query }) =>
    listInboxThreadEmails(ctx, path.inbox, path.thread_id, readPage(query)),
  getInboxThreadEmail: (ctx, { path }) => getInboxThreadEmail(ctx, path.inbox, path.thread_id, path.inbox_email_id),
} satisfies OperationTable<World>;

export const inboxDrafts = {
  replyToInboxEmail: (ctx, { path, body, header }) =>
    replyToEmail(ctx, ctx.services.accept, {
      named: path.inbox,
      threadId: path.thread_id,
      emailId: path.inbox_email_id,
      body,
      idempotency: readIdempotency(ctx, header, { operation: 'replyToInboxEmail', said: { path, body } }),
    }),
  forwardInboxEmail: (ctx, { path, body, header }) =>
    forwardEmail(ctx, ctx.services.accept, {
      named: path.inbox,
      threadId: path.thread_id,
      emailId: path.inbox_email_id,
      body,
      idempotency: readIdempotency(ctx, header, { operation: 'forwardInboxEmail', said: { path, body } }),
    }),
  renderInboxTemplate: (ctx, { path, body }) =>
    renderInboxTemplate(ctx, {
      named: path.inbox,
      threadId: path.thread_id,
      emailId: path.inbox_email_id,
      template: body.template,
    }),
  createInboxDraft: (ctx, { path, body, header }) =>
    createDraft(ctx, ctx.services.accept, {
      named: path.inbox,
      body,
      idempotency: readIdempotency(ctx, header, { operation: 'createInboxDraft', said: { path, body } }),
    }),
  listInboxDrafts: (ctx, { path, query }) => listDrafts(ctx, path.inbox, readPage(query)),
  getInboxDraft: (ctx, { path }) => getDraft(ctx, path.inbox, path.draft_id),
  updateInboxDraft: (ctx, { path, body }) =>
    updateDraft(ctx, ctx.services.accept, { named: path.inbox, id: path.draft_id, body }),
  deleteInboxDraft: (ctx, { path }) => deleteDraft(ctx, path.inbox, path.draft_id),
  sendInboxDraft: (ctx, { path, body, header }) =>
    sendDraft(ctx, ctx.services.accept, {
      named: path.inbox,
      id: path.draft_id,
      body,
      idempotency: readIdempotency(ctx, header, { operation: 'sendInboxDraft', said: { path, body: body ?? null } }),
    }),
} satisfies OperationTable<World, { services: { accept: Accept } }>;
