import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { AttachmentRow } from '../emails/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { attachmentPage, findAttachment, isEmailOf } from './attachments.store.ts';
import { makeDownloadLink } from './download-link.ts';

export async function listAttachments(ctx: Ctx, emailId: string, page: Page) {
  const { db } = ctx.store;
  if (!(await isEmailOf(db, ctx.teamId, emailId))) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const { rows, hasMore } = await attachmentPage(db, emailId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => presentAttachment(ctx, row)) };
}

export async function getAttachment(ctx: Ctx, emailId: string, id: string) {
  const { db } = ctx.store;
  const isOwn = await isEmailOf(db, ctx.teamId, emailId);
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
