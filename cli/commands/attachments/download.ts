import { attachments } from '../../families/attachments.ts';
import { readPath } from '../../input/find-id.ts';
import { saveDownload, type DownloadOptions } from '../save-download.ts';
import type { Session } from '../declare.ts';

export async function download(
  session: Session,
  { email, id }: { email: string; id: string },
  options: DownloadOptions,
): Promise<void> {
  const { email_id = '', attachment_id = '' } = await readPath(session.client, attachments.get.path, [email, id], true);
  const path = { email_id, attachment_id };
  const found = await session.client.call('getAttachment', { path });
  const { download_url: url, filename } = found;
  await saveDownload(session, { operation: 'downloadAttachment', path, found, url, filename }, options);
}
