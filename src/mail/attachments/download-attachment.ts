import type { Readable } from 'node:stream';
import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { emailRowsByIds, openAttachment } from '../emails/index.ts';
import { mayShowContent } from '../../tenancy/usage/index.ts';
import { findAttachment } from './attachments.store.ts';
import { isGoodLink, type LinkTarget } from './download-link.ts';

export interface Download {
  filename: string;
  contentType: string;
  size: number;
  content: Readable;
}

/**
 * The file behind a signed link. Forged, expired, of something removed: the answer is the same. So it is where the disk
 * has lost the file, since the caller can do nothing about it; the log tells the operator, who can.
 */
export async function downloadAttachment(store: Store, target: LinkTarget, token: string): Promise<Download> {
  const { emailId, attachmentId } = target;
  const row = isGoodLink(store, target, token) ? await findAttachment(store.db, emailId, attachmentId) : undefined;
  const [email] = row ? await emailRowsByIds(store.db, [emailId]) : [];
  if (!row || !email || !(await mayShowContent(store, email.team_id))) throw notFound('Attachment');
  const content = await openAttachment(store, row);
  if (!content) {
    store.log.error({ emailId, attachmentId }, 'the file of an attachment is missing');
    throw notFound('Attachment');
  }
  return { filename: row.filename, contentType: row.content_type, size: row.size, content };
}
