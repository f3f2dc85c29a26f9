import { saveDownload, type DownloadOptions } from '../save-download.ts';
import type { Session } from '../declare.ts';

export async function download(
  session: Session,
  { email, id }: { email: string; id: string },
  options: DownloadOptions,
): Promise<void> {
  const path = { email_id: email, attachment_id: id };
  const found = await session.client.call('getAttachment', { path });
  const { download_url: url, filename } = found;
  await saveDownload(session, { operation: 'downloadAttachment', path, found, url, filename }, options);
}
