import { hashRequest } from '../../flow/accept/index.ts';
import { getEmail, listEmails, type EmailFilter, type SendEmailInput } from '../../resources/emails/index.ts';
import type { KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const emails: Record<string, KeyHandler> = {
  sendEmail(ctx, { services, body, header }) {
    const key = header['idempotency-key'];
    const idempotency = typeof key === 'string' ? { key, requestHash: hashRequest('sendEmail', body) } : undefined;
    return services.accept.acceptEmail(ctx, body as SendEmailInput, idempotency);
  },
  listEmails: (ctx, { query }) => listEmails(ctx, query as EmailFilter, pageOf(query)),
  getEmail: (ctx, { path }) => getEmail(ctx, path.email_id ?? ''),
};
