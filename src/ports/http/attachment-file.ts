import { downloadAttachment } from '../../mail/attachments/index.ts';
import { attachmentDisposition } from './content-disposition.ts';
import type { Page } from './page.ts';

export const sendAttachmentFile: Page<'downloadAttachment'> = async ({ store }, { path, query }, { reply }) => {
  const target = { emailId: path.email_id, attachmentId: path.attachment_id, expires: query.expires };
  const file = await downloadAttachment(store, target, query.token);
  // The content is untrusted: a browser must save it, and never run it under our origin.
  reply.headers({
    'content-type': file.contentType,
    'content-length': file.size,
    'content-disposition': attachmentDisposition(file.filename),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'referrer-policy': 'no-referrer',
  });
  return file.content;
};
