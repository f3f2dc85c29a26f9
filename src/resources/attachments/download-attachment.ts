import type { Readable } from 'node:stream';
import { notFound } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { ATTACHMENT_BLOB, emailRowsByIds } from '../emails/index.ts';
import { mayShowContent } from '../usage/index.ts';
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
 * has lost the file, since the caller can do nothing about it; the log tells whoever can.
 */
export async function downloadAttachment(world: World, target: LinkTarget, token: string): Promise<Download> {
  const { emailId, attachmentId } = target;
  const row = isGoodLink(world, target, token) ? await findAttachment(world.db, emailId, attachmentId) : undefined;
  const [email] = row ? await emailRowsByIds(world.db, [emailId]) : [];
  if (!row || !email || !(await mayShowContent(world, email.team_id))) throw notFound('Attachment');
  const key = ATTACHMENT_BLOB(emailId, attachmentId);
  const blob = await world.blobs.open(key);
  if (!blob) {
    world.log.error({ emailId, attachmentId, blob: key }, 'the file of an attachment is missing');
    throw notFound('Attachment');
  }
  return { filename: row.filename, contentType: row.content_type, size: blob.size, content: blob.content };
}
