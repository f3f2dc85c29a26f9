import type { UpdateEmailRequest } from '../../contract/index.ts';
import { hashRequest, type BatchError, type Idempotency } from '../../flow/accept/index.ts';
import { cancelEmail, moveEmail } from '../../flow/schedule/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import { getEmail, listEmails, type EmailFilter, type SendEmailInput } from '../../resources/emails/index.ts';
import type { Call, KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

/** Attachments travel in the bodies of these. */
export const sendsEmail: ReadonlySet<string> = new Set(['sendEmail', 'sendBatch']);

/** A permissive batch is checked email by email. */
export const checksItsOwnBody: ReadonlySet<string> = new Set(['sendBatch']);

export const emails: Record<string, KeyHandler> = {
  sendEmail: (ctx, { services, body, header }) =>
    services.accept.acceptEmail(ctx, body as SendEmailInput, idempotencyOf(header, 'sendEmail', body)),
  sendBatch(ctx, call) {
    const { services, header, body } = call;
    const isPermissive = header['x-batch-validation'] === 'permissive';
    if (!isPermissive) {
      call.validate('sendBatch', body);
      const idempotency = idempotencyOf(header, 'sendBatch', body);
      return services.accept.acceptBatch(ctx, body as SendEmailInput[], { idempotency });
    }
    const { inputs, refused } = readPermissively(call);
    const idempotency = idempotencyOf(header, 'sendBatch permissive', body);
    return services.accept.acceptBatch(ctx, inputs, { permissive: { refused }, idempotency });
  },
  listEmails: (ctx, { query }) => listEmails(ctx, query as EmailFilter, pageOf(query)),
  getEmail: (ctx, { path }) => getEmail(ctx, path.email_id ?? ''),
  updateEmail: (ctx, { path, body }) => moveEmail(ctx, path.email_id ?? '', body as UpdateEmailRequest),
  cancelEmail: (ctx, { path }) => cancelEmail(ctx, path.email_id ?? ''),
};

function idempotencyOf(header: Call['header'], operation: string, body: unknown): Idempotency | undefined {
  const key = header['idempotency-key'];
  return typeof key === 'string' ? { key, requestHash: hashRequest(operation, body) } : undefined;
}

const BATCH_MAX = 100;

/** What is no list of emails is refused as a whole; otherwise every email that breaks the contract is named. */
function readPermissively({ body, validate }: Call): {
  inputs: (SendEmailInput | undefined)[];
  refused: BatchError[];
} {
  if (!Array.isArray(body) || body.length === 0 || body.length > BATCH_MAX) validate('sendBatch', body);
  const refused: BatchError[] = [];
  const inputs = (body as unknown[]).map((input, index) => {
    try {
      validate('sendEmail', input);
      return input as SendEmailInput;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused.push({ index, message: error.message });
      return undefined;
    }
  });
  return { inputs, refused };
}
