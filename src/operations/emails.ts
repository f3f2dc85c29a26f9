import type { BatchError, SendBatchRequest, SendEmailRequest } from '../contract/index.ts';
import { idempotencyOf } from '../mail/accept/index.ts';
import { pendingDeliveries } from '../mail/queue/index.ts';
import { cancelEmail, moveEmail } from '../mail/schedule/index.ts';
import { Refusal } from '../platform/refusal/index.ts';
import { getEmail, listEmailAttempts, listEmailEvents, listEmails } from '../mail/emails/index.ts';
import { pageOf, type OperationCtx, type Operations } from './operation.ts';

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
