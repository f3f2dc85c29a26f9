import { getAttachment, listAttachments } from '../mail/attachments/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const attachments = {
  listAttachments: (ctx, { path, query }) => listAttachments(ctx, path.email_id, pageOf(query)),
  getAttachment: (ctx, { path }) => getAttachment(ctx, path.email_id, path.attachment_id),
} satisfies Partial<Operations>;
