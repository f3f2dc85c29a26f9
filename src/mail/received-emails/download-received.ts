import type { Readable } from 'node:stream';
import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { openContent } from '../contents/index.ts';
import { mayShowContent } from '../../tenancy/usage/index.ts';
import { findReceivedAttachment, findReceivedById } from './received-emails.store.ts';
import { isGoodReceivedLink, type ReceivedLink } from './received-link.ts';
import { servedType } from './served-type.ts';
import { RAW_BLOB, RECEIVED_ATTACHMENT_BLOB } from './stored-content.ts';

export interface ReceivedDownload {
  filename: string;
  contentType: string;
  size: number;
  content: Readable;
}

/**
 * The file behind a signed link. Forged, expired, of something removed or lost by the disk: the answer is the same 404,
 * since the caller can do nothing about any of it; the log tells the operator, who can.
 */
export async function downloadReceived(store: Store, link: ReceivedLink, token: string): Promise<ReceivedDownload> {
  const email = isGoodReceivedLink(store, link, token) ? await findReceivedById(store.db, link.emailId) : undefined;
  const file = email && (await fileOf(store, email, link.file));
  if (!email || !file || !(await mayShowContent(store, email.team_id))) throw notFound('File');
  const stored = await openContent(store, file.key, { size: file.size });
  if (!stored) {
    store.log.error({ receivedId: email.id, blob: file.key }, 'a file of a received email is missing');
    throw notFound('File');
  }
  return { filename: file.filename, contentType: file.contentType, ...stored };
}

async function fileOf(
  store: Store,
  email: { id: string; has_raw: number },
  file: string,
): Promise<{ key: string; filename: string; contentType: string; size?: number } | undefined> {
  if (file === 'raw') {
    if (email.has_raw === 0) return undefined;
    return { key: RAW_BLOB(email.id), filename: 'raw.eml', contentType: 'message/rfc822' };
  }
  const row = await findReceivedAttachment(store.db, email.id, file);
  if (!row || row.is_stored === 0) return undefined;
  const key = RECEIVED_ATTACHMENT_BLOB(email.id, row.id);
  const contentType = servedType(row.content_type);
  return { key, filename: row.filename ?? 'attachment', contentType, size: Number(row.size) };
}
