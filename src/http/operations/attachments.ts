import { downloadAttachment, getAttachment, listAttachments } from '../../resources/attachments/index.ts';
import { attachmentDisposition } from '../content-disposition.ts';
import type { Call, KeyHandler, OpenHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const attachments: Record<string, KeyHandler> = {
  listAttachments: (ctx, { path, query }) => listAttachments(ctx, path.email_id ?? '', pageOf(query)),
  getAttachment: (ctx, { path }) => getAttachment(ctx, path.email_id ?? '', path.attachment_id ?? ''),
};

export const attachmentFiles: Record<string, OpenHandler> = {
  async downloadAttachment({ services, path, query, reply }: Call) {
    const target = {
      emailId: path.email_id ?? '',
      attachmentId: path.attachment_id ?? '',
      expires: query.expires as number,
    };
    const file = await downloadAttachment(services.world, target, query.token as string);
    // The content is a stranger's: a browser is to keep it, and never to run it under our origin.
    reply.headers({
      'content-type': file.contentType,
      'content-length': file.size,
      'content-disposition': attachmentDisposition(file.filename),
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer',
    });
    return file.content;
  },
};
