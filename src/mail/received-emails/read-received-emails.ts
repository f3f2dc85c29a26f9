import type { QueryOf, components } from '../../contract/index.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import {
  listAttachmentRows,
  findReceived,
  findReceivedBody,
  listReceivedRows,
  receivedRowsEnding,
  findReceivedAttachment,
  receivedAttachmentPage,
  removeReceivedRows,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from './received-emails.store.ts';
import { makeReceivedLink } from './download-received.ts';
import { loadReceivedContent, RECEIVED_ATTACHMENT_BLOB } from './stored-content.ts';
import type { Store } from '../../platform/store.ts';
import { contentIdsIn, embedImages, imageDataUrl } from '../../protocol/safe-html/index.ts';
import { readContent } from '../contents/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { eraseEvents } from '../events/index.ts';

/** Limit for all pictures of an email together: a response is held in memory as a whole. */
const IMAGE_BYTES_MAX = 10 * 1024 * 1024;
const HTML_CHARS_MAX = 2 * IMAGE_BYTES_MAX;
const NOTHING = Buffer.alloc(0);

/** Returns `html` with the pictures that the email contains in place of their `cid:` URLs, up to the limit. */
async function withInlineImages(
  store: Store,
  html: string,
  attachments: readonly ReceivedAttachmentRow[],
): Promise<string> {
  const images = new Map<string, string>();
  const wanted = contentIdsIn(html);
  let left = IMAGE_BYTES_MAX;
  for (const {
    id,
    received_id: emailId,
    content_id: key,
    content_type: type,
    size,
    is_stored: isStored,
  } of attachments) {
    const isShown = key !== null && isStored === 1 && wanted.has(key) && imageDataUrl(type, NOTHING) !== undefined;
    if (!isShown || Number(size) > left) continue;
    left -= Number(size);
    const url = imageDataUrl(type, await readContent(store, RECEIVED_ATTACHMENT_BLOB(emailId, id)));
    if (url !== undefined) images.set(key, url);
  }
  return embedImages(html, images, HTML_CHARS_MAX);
}

export async function deleteReceivedEmail({ store, teamId }: Ctx, id: string) {
  const gone = await store.db.tx(async (tx) => {
    const removed = await removeReceivedRows(tx, teamId, [id]);
    if (removed.length > 0) await eraseEvents(tx, teamId, id);
    return removed;
  });
  const [email] = gone;
  if (!email) throw notFound('Email');
  // After the commit: a crash in between leaves files without a row, which the daily sweep finds.
  if (email.hasFiles) await store.blobs.remove(id);
  return { object: 'email' as const, id, deleted: true as const };
}

/** Authentication results of the sender of a received email, as they are stored and shown. */
export type Authentication = components['schemas']['ReceivedAuthentication'];

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

/** Adds a download link, except to a part that was refused at storage. */
const withLink = ({ store }: Ctx, row: ReceivedAttachmentRow) => ({
  ...presentPart(row),
  ...(row.is_stored === 1 ? makeReceivedLink(store, row.received_id, row.id) : {}),
});

export async function listReceivedEmails({ store, teamId }: Ctx, filter: QueryOf<'listReceivedEmails'>, page: Page) {
  const { search, id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const { rows, hasMore } =
    end === undefined
      ? await listReceivedRows(store.db, teamId, search, page)
      : await receivedRowsEnding(store.db, teamId, end, page);
  const withFiles = rows.filter((row) => row.attachment_count > 0).map((row) => row.id);
  const files = Map.groupBy(await listAttachmentRows(store.db, withFiles), (file) => file.received_id);
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map((row) => presentReceived(row, files.get(row.id) ?? [])),
  };
}

export async function getReceivedEmail(ctx: Ctx, id: string, htmlFormat: 'data_uri' | 'cid') {
  const { store, teamId } = ctx;
  const row = await findReceived(store.db, teamId, id);
  if (!row) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const [files, body] = await Promise.all([listAttachmentRows(store.db, [id]), findReceivedBody(store.db, id)]);
  const content = body ? await loadReceivedContent(store, body) : { html: null, text: null, headers: null };
  const isEmbedded = htmlFormat === 'data_uri' && content.html !== null;
  return {
    object: 'email' as const,
    ...presentReceived(row, files),
    received_for: readList(row.received_for),
    html: isEmbedded ? await withInlineImages(store, content.html ?? '', files) : content.html,
    text: content.text,
    ...(row.dropped_reason === 'account_mail' ? { content_withheld: 'account_mail' as const } : {}),
    headers: content.headers ?? {},
    not_forwarded_reason: row.not_forwarded,
    authentication: row.authentication === null ? null : (JSON.parse(row.authentication) as Authentication),
    raw: row.has_raw === 1 ? makeReceivedLink(store, id, 'raw') : null,
  };
}

/** Presents the fields of an email that a list shows; a single email has more. */
function presentReceived(row: ReceivedEmailRow, attachments: readonly ReceivedAttachmentRow[]) {
  return {
    id: row.id,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    bcc: readList(row.bcc_list),
    reply_to: readList(row.reply_to_list),
    from: row.sender,
    subject: row.subject,
    message_id: row.message_id,
    envelope: { from: row.mail_from, to: readList(row.received_for) },
    dropped_reason: row.dropped_reason,
    created_at: isoTime(row.created_at),
    attachments: attachments.map(presentPart),
  };
}

const presentPart = (row: ReceivedAttachmentRow) => ({
  id: row.id,
  filename: row.filename,
  content_type: row.content_type,
  content_disposition: row.content_disposition,
  ...(row.content_id === null ? {} : { content_id: row.content_id }),
  size: Number(row.size),
});

export const readList = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));
