import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { saveDownload, type DownloadOptions } from '../save-download.ts';

export async function saveRaw(session: Session, email: string, options: DownloadOptions): Promise<void> {
  const path = { received_email_id: email };
  const { raw } = await session.client.call('getReceivedEmail', { path, query: { html_format: 'cid' } });
  if (!raw) throw new CliFault('The source of this email was not stored.');
  await saveDownload(session, { found: raw, url: raw.download_url, filename: 'raw.eml' }, options);
}

export async function saveAttachment(
  session: Session,
  { email, id }: { email: string; id: string },
  options: DownloadOptions,
): Promise<void> {
  const path = { received_email_id: email, received_attachment_id: id };
  const found = await session.client.call('getReceivedAttachment', { path });
  if (found.download_url === undefined) throw new CliFault('This part was not stored; it stands in the source alone.');
  await saveDownload(session, { found, url: found.download_url, filename: found.filename ?? '' }, options);
}
