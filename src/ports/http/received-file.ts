import { downloadReceived, type ReceivedDownload } from '../../mail/received-emails/index.ts';
import { attachmentDisposition } from './content-disposition.ts';
import type { Page, PageCall } from './page.ts';

export const sendReceivedAttachment: Page<'downloadReceivedAttachment'> = async ({ store }, { path, query }, page) => {
  const link = { emailId: path.received_email_id, file: path.received_attachment_id, expires: query.expires };
  return send(page, await downloadReceived(store, link, query.token));
};

export const sendReceivedRaw: Page<'downloadReceivedRaw'> = async ({ store }, { path, query }, page) => {
  const link = { emailId: path.received_email_id, file: 'raw', expires: query.expires };
  return send(page, await downloadReceived(store, link, query.token));
};

/** The content is untrusted: a browser must save it, and never run it under our origin. */
function send({ reply }: PageCall, file: ReceivedDownload) {
  reply.headers({
    'content-type': file.contentType,
    'content-length': file.size,
    'content-disposition': attachmentDisposition(file.filename),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'referrer-policy': 'no-referrer',
  });
  return file.content;
}
