import { downloadReceived, type ReceivedDownload } from '../resources/received-emails/index.ts';
import { attachmentDisposition } from './content-disposition.ts';
import type { PageCall, PublicPage } from './page.ts';

export const sendReceivedAttachment: PublicPage<'downloadReceivedAttachment'> = async (call, { path, query }) => {
  const link = { emailId: path.received_email_id, file: path.received_attachment_id, expires: query.expires };
  return send(call, await downloadReceived(call.services.world, link, query.token));
};

export const sendReceivedRaw: PublicPage<'downloadReceivedRaw'> = async (call, { path, query }) => {
  const link = { emailId: path.received_email_id, file: 'raw', expires: query.expires };
  return send(call, await downloadReceived(call.services.world, link, query.token));
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
