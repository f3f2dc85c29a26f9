import {
  deleteReceivedEmail,
  getReceivedAttachment,
  getReceivedEmail,
  listReceivedAttachments,
  listReceivedEmails,
} from '../mail/received-emails/index.ts';
import { pageOf, type Operations } from './operation.ts';

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
