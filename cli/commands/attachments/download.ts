import { saveDownload, type DownloadOptions } from '../save-download.ts';
import type { Session } from '../declare.ts';

export async function download(
  session: Session,
  { email, id }: { email: string; id: string },
  options: DownloadOptions,
): Promise<void> {
  const found = await session.client.call('getAttachment', { path: { email_id: email, attachment_id: id } });
  await saveDownload(session, { found, url: found.download_url, filename: found.filename }, options);
}
