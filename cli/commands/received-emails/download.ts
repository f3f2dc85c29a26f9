import { receivedAttachments, receivedEmails } from '../../families/index.ts';
import { readPath } from '../../input/find-id.ts';
import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { saveDownload, type DownloadOptions } from '../save-download.ts';

export async function saveRaw(session: Session, email: string, options: DownloadOptions): Promise<void> {
  const { received_email_id = '' } = await readPath(session.client, receivedEmails.get.path, [email], true);
  const path = { received_email_id };
  const { raw } = await session.client.call('getReceivedEmail', { path, query: { html_format: 'cid' } });
  if (!raw) throw new CliFault('The source of this email was not stored.');
  const file = { operation: 'downloadReceivedRaw' as const, path, found: raw, url: raw.download_url };
  await saveDownload(session, { ...file, filename: 'raw.eml' }, options);
}

export async function saveAttachment(
  session: Session,
  { email, id }: { email: string; id: string },
  options: DownloadOptions,
): Promise<void> {
  const words = await readPath(session.client, receivedAttachments.get.path, [email, id], true);
  const { received_email_id = '', received_attachment_id = '' } = words;
  const path = { received_email_id, received_attachment_id };
  const found = await session.client.call('getReceivedAttachment', { path });
  const { download_url: url, filename } = found;
  if (url === undefined) throw new CliFault('This part was not stored separately; it is only in the source.');
  const file = { operation: 'downloadReceivedAttachment' as const, path, found, url };
  await saveDownload(session, { ...file, filename: filename ?? '' }, options);
}
