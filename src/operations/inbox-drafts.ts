import { idempotencyOf } from '../mail/accept/index.ts';
import { createDraft, forwardEmail, replyToEmail, sendDraft, updateDraft } from '../features/inbox/composing/index.ts';
import { deleteDraft, getDraft, listDrafts } from '../features/inbox/inbox-drafts/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const inboxDrafts = {
  replyToInboxEmail: (ctx, { path, body, header }) =>
    replyToEmail(ctx, ctx.services.accept, {
      ...{ named: path.inbox, threadId: path.thread_id, emailId: path.inbox_email_id, body },
      idempotency: idempotencyOf(ctx, header, { operation: 'replyToInboxEmail', said: { path, body } }),
    }),
  forwardInboxEmail: (ctx, { path, body, header }) =>
    forwardEmail(ctx, ctx.services.accept, {
      ...{ named: path.inbox, threadId: path.thread_id, emailId: path.inbox_email_id, body },
      idempotency: idempotencyOf(ctx, header, { operation: 'forwardInboxEmail', said: { path, body } }),
    }),
  createInboxDraft: (ctx, { path, body, header }) =>
    createDraft(ctx, ctx.services.accept, {
      ...{ named: path.inbox, body },
      idempotency: idempotencyOf(ctx, header, { operation: 'createInboxDraft', said: { path, body } }),
    }),
  listInboxDrafts: (ctx, { path, query }) => listDrafts(ctx, path.inbox, pageOf(query)),
  getInboxDraft: (ctx, { path }) => getDraft(ctx, path.inbox, path.draft_id),
  updateInboxDraft: (ctx, { path, body }) =>
    updateDraft(ctx, ctx.services.accept, { named: path.inbox, id: path.draft_id, body }),
  deleteInboxDraft: (ctx, { path }) => deleteDraft(ctx, path.inbox, path.draft_id),
  sendInboxDraft: (ctx, { path, body, header }) =>
    sendDraft(ctx, ctx.services.accept, {
      ...{ named: path.inbox, id: path.draft_id, body },
      idempotency: idempotencyOf(ctx, header, { operation: 'sendInboxDraft', said: { path, body: body ?? null } }),
    }),
} satisfies Partial<Operations>;
