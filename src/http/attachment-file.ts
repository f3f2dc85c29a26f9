import { downloadAttachment } from '../resources/attachments/index.ts';
import { attachmentDisposition } from './content-disposition.ts';
import type { PublicPage } from './page.ts';

export const sendAttachmentFile: PublicPage<'downloadAttachment'> = async ({ services, reply }, { path, query }) => {
  const target = { emailId: path.email_id, attachmentId: path.attachment_id, expires: query.expires };
  const file = await downloadAttachment(services.world, target, query.token);
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
