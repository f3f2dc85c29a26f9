import type { BatchError, SendBatchRequest, SendEmailRequest } from '../contract/index.ts';
import { idempotencyOf } from '../mail/accept/index.ts';
import { pendingDeliveries } from '../mail/queue/index.ts';
import { cancelEmail, moveEmail } from '../mail/schedule/index.ts';
import { Refusal } from '../platform/refusal.ts';
import { getEmail, listEmailAttempts, listEmailEvents, listEmails } from '../mail/emails/index.ts';
import { pageOf, type OperationCtx, type Operations } from './operation.ts';
import {
  deleteReceivedEmail,
  getReceivedAttachment,
  getReceivedEmail,
  listReceivedAttachments,
  listReceivedEmails,
} from '../mail/received-emails/index.ts';
import { getAttachment, listAttachments } from '../mail/attachments/index.ts';
import {
  addSuppressions,
  createSuppression,
  deleteSuppression,
  getSuppression,
  listSuppressions,
  removeSuppressions,
} from '../mail/suppressions/index.ts';
import {
  createInboundRule,
  deleteInboundRule,
  getInboundRule,
  listInboundRules,
  updateInboundRule,
} from '../mail/inbound-rules/index.ts';
import { createShare, revokeShares } from '../features/sharing/index.ts';
import { getEmailMetrics } from '../features/metrics/index.ts';

/** A permissive batch is checked email by email, so that the good ones are sent. */
export const checksItsOwnBody: ReadonlySet<string> = new Set(['sendBatch']);

export const emails = {
  sendEmail: (ctx, { body, header }) =>
    ctx.services.accept.acceptEmail(ctx, body, idempotencyOf(ctx, header, { operation: 'sendEmail', said: body })),
  sendBatch(ctx, { body, header }) {
    const { accept } = ctx.services;
    if (header?.['x-batch-validation'] !== 'permissive') {
      ctx.checkBody('sendBatch', body);
      return accept.acceptBatch(ctx, body, {
        idempotency: idempotencyOf(ctx, header, { operation: 'sendBatch', said: body }),
      });
    }
    const { inputs, refused } = readPermissively(ctx, body);
    const idempotency = idempotencyOf(ctx, header, { operation: 'sendBatch permissive', said: body });
    return accept.acceptBatch(ctx, inputs, { permissive: { refused }, idempotency });
  },
  listEmails: (ctx, { query = {} }) => listEmails(ctx, query, pageOf(query)),
  getEmail: (ctx, { path }) => getEmail(ctx, path.email_id),
  listEmailEvents: (ctx, { path, query }) => listEmailEvents(ctx, path.email_id, pageOf(query)),
  async listEmailAttempts(ctx, { path, query }) {
    const page = await listEmailAttempts(ctx, path.email_id, pageOf(query));
    return { ...page, pending: await pendingDeliveries(ctx.store, path.email_id) };
  },
  updateEmail: (ctx, { path, body }) => moveEmail(ctx, path.email_id, body),
  cancelEmail: (ctx, { path }) => cancelEmail(ctx, path.email_id),
} satisfies Partial<Operations>;

const BATCH_MAX = 100;

/** What is no list of emails is refused as a whole; otherwise every email that breaks the contract is named. */
function readPermissively(
  { checkBody }: OperationCtx,
  body: SendBatchRequest,
): { inputs: (SendEmailRequest | undefined)[]; refused: BatchError[] } {
  if (!Array.isArray(body) || body.length === 0 || body.length > BATCH_MAX) checkBody('sendBatch', body);
  const refused: BatchError[] = [];
  const inputs = body.map((input, index) => {
    try {
      checkBody('sendEmail', input);
      return input;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused.push({ index, message: error.message });
      return undefined;
    }
  });
  return { inputs, refused };
}

export const receivedEmails = {
  listReceivedEmails: (ctx, { query = {} }) => listReceivedEmails(ctx, query, pageOf(query)),
  getReceivedEmail: (ctx, { path, query }) =>
    getReceivedEmail(ctx, path.received_email_id, query?.html_format ?? 'data_uri'),
  deleteReceivedEmail: (ctx, { path }) => deleteReceivedEmail(ctx, path.received_email_id),
  listReceivedAttachments: (ctx, { path, query }) =>
    listReceivedAttachments(ctx, path.received_email_id, pageOf(query)),
  getReceivedAttachment: (ctx, { path }) =>
    getReceivedAttachment(ctx, path.received_email_id, path.received_attachment_id),
} satisfies Partial<Operations>;

export const attachments = {
  listAttachments: (ctx, { path, query }) => listAttachments(ctx, path.email_id, pageOf(query)),
  getAttachment: (ctx, { path }) => getAttachment(ctx, path.email_id, path.attachment_id),
} satisfies Partial<Operations>;

export const suppressions = {
  createSuppression: (ctx, { body }) => createSuppression(ctx, body),
  listSuppressions: (ctx, { query = {} }) => listSuppressions(ctx, query, pageOf(query)),
  getSuppression: (ctx, { path }) => getSuppression(ctx, path.suppression),
  deleteSuppression: (ctx, { path }) => deleteSuppression(ctx, path.suppression),
  addSuppressions: (ctx, { body }) => addSuppressions(ctx, body),
  removeSuppressions: (ctx, { body }) => removeSuppressions(ctx, body),
} satisfies Partial<Operations>;

export const inboundRules = {
  createInboundRule: (ctx, { body }) => createInboundRule(ctx, body),
  listInboundRules: (ctx, { query }) => listInboundRules(ctx, pageOf(query)),
  getInboundRule: (ctx, { path }) => getInboundRule(ctx, path.inbound_rule_id),
  updateInboundRule: (ctx, { path, body }) => updateInboundRule(ctx, path.inbound_rule_id, body),
  deleteInboundRule: (ctx, { path }) => deleteInboundRule(ctx, path.inbound_rule_id),
} satisfies Partial<Operations>;

export const shares = {
  createShare: (ctx, { path, body }) => createShare(ctx, path.email_id, body),
  revokeShares: (ctx, { path }) => revokeShares(ctx, path.email_id),
} satisfies Partial<Operations>;

export const metrics = {
  getEmailMetrics: (ctx, { query = {} }) => getEmailMetrics(ctx, query),
} satisfies Partial<Operations>;
