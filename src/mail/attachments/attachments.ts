import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { emailRowsByIds, openAttachment, type AttachmentRow } from '../emails/index.ts';
import { mustBeWithinQuota, mayShowContent } from '../../tenancy/usage/index.ts';
import { attachmentPage, findAttachment, isEmailOfTeam } from './attachments.store.ts';
import type { Readable } from 'node:stream';
import type { Store } from '../../platform/store.ts';
import { timingSafeEqual } from 'node:crypto';
import { isoTime } from '../../platform/clock.ts';

/** The file that a link names, and its expiry in seconds. */
interface LinkTarget {
  emailId: string;
  attachmentId: string;
  expires: number;
}

const VALID_SECONDS = 15 * 60;

/** Makes a link. Nothing of it is stored: the signature alone decides whether it is valid. */
function makeDownloadLink(
  store: Store,
  attachment: { id: string; email_id: string },
): { download_url: string; expires_at: string } {
  const expires = Math.floor(store.clock.now() / 1000) + VALID_SECONDS;
  const target = { emailId: attachment.email_id, attachmentId: attachment.id, expires };
  const path = `/emails/${target.emailId}/attachments/${target.attachmentId}/download`;
  const query = new URLSearchParams({ expires: String(expires), token: signTarget(store, target) });
  return { download_url: `${store.origin()}${path}?${query}`, expires_at: isoTime(expires * 1000) };
}

function isGoodLink(store: Store, target: LinkTarget, token: string): boolean {
  const given = Buffer.from(token);
  const right = Buffer.from(signTarget(store, target));
  const isOurs = given.length === right.length && timingSafeEqual(given, right);
  return isOurs && store.clock.now() < target.expires * 1000;
}

/**
 * Signs a target. Neither an id nor a number contains a line break, so that no two targets have the same signed text.
 */
function signTarget({ secrets }: Store, { emailId, attachmentId, expires }: LinkTarget): string {
  const text = [emailId, attachmentId, expires].join('\n');
  return secrets.mac('attachment link', Buffer.from(text)).toString('base64url');
}

export interface Download {
  filename: string;
  contentType: string;
  size: number;
  content: Readable;
}

/**
 * Returns the file of a signed link. Throws the same 404 whether the link is forged, expired or of something removed,
 * and also if the disk has lost the file, since the caller can do nothing about that; the log reports it to the
 * operator, who can.
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

export async function listAttachments(ctx: Ctx, emailId: string, page: Page) {
  const { db } = ctx.store;
  if (!(await isEmailOfTeam(db, ctx.teamId, emailId))) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const { rows, hasMore } = await attachmentPage(db, emailId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => presentAttachment(ctx, row)) };
}

export async function getAttachment(ctx: Ctx, emailId: string, id: string) {
  const { db } = ctx.store;
  const isOwn = await isEmailOfTeam(db, ctx.teamId, emailId);
  const row = isOwn ? await findAttachment(db, emailId, id) : undefined;
  if (!row) throw notFound('Attachment');
  await mustBeWithinQuota(ctx);
  return { object: 'attachment' as const, ...presentAttachment(ctx, row) };
}

function presentAttachment({ store }: Ctx, row: AttachmentRow) {
  return {
    id: row.id,
    filename: row.filename,
    content_type: row.content_type,
    content_disposition: row.content_disposition,
    ...(row.content_id === null ? {} : { content_id: row.content_id }),
    size: row.size,
    ...makeDownloadLink(store, row),
  };
}
