import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { presentPart } from './present.ts';
import {
  findReceived,
  findReceivedAttachment,
  receivedAttachmentPage,
  type ReceivedAttachmentRow,
} from './received-emails.store.ts';
import { makeReceivedLink } from './received-link.ts';

export async function listReceivedAttachments(ctx: Ctx, emailId: string, page: Page) {
  const { db } = ctx.store;
  if (!(await findReceived(db, ctx.teamId, emailId))) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const { rows, hasMore } = await receivedAttachmentPage(db, emailId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => withLink(ctx, row)) };
}

export async function getReceivedAttachment(ctx: Ctx, emailId: string, id: string) {
  const { db } = ctx.store;
  const isOwn = (await findReceived(db, ctx.teamId, emailId)) !== undefined;
  const row = isOwn ? await findReceivedAttachment(db, emailId, id) : undefined;
  if (!row) throw notFound('Attachment');
  await mustBeWithinQuota(ctx);
  return { object: 'attachment' as const, ...withLink(ctx, row) };
}

/** A part that was refused at storage leads nowhere. */
const withLink = ({ store }: Ctx, row: ReceivedAttachmentRow) => ({
  ...presentPart(row),
  ...(row.is_stored === 1 ? makeReceivedLink(store, row.received_id, row.id) : {}),
});
