import { notFound } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { contentIdFault, contentTypeFault } from '../../../protocol/mime/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { referToContent } from '../../../mail/contents/index.ts';
import {
  ATTACHMENT_BLOB,
  listEmailAttachments,
  findBody,
  findEmail,
  isWithheld,
  invalidAttachment,
  type DraftAttachment,
} from '../../../mail/emails/index.ts';
import { findThread, findThreadEmail } from '../store/threads.store.ts';
import type { InboxRow, ThreadRow } from '../store/rows.ts';
import {
  findWholeReceived,
  readList,
  RECEIVED_ATTACHMENT_BLOB,
  type Authentication,
} from '../../../mail/received-emails/index.ts';
import { mustFit, mustFitWith } from '../drafts.ts';
import { mustBeWithinQuota } from '../../../tenancy/usage/index.ts';
import { fetchAttachments } from '../../../mail/accept/index.ts';

/** A file of an email, with the key of its content; undefined if it was refused at storage. */
export interface OriginalFile {
  key: string | undefined;
  filename: string;
  contentType: string;
  contentId: string | null;
  size: number;
}

/** An email of a thread that is replied to or forwarded. Addresses are mailboxes as they were written. */
export interface Original {
  emailId: string;
  direction: 'inbound' | 'outbound';
  from: string;
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string;
  messageId: string;
  /** Headers by lower-case name. */
  headers: Readonly<Record<string, string>>;
  html: string | null;
  text: string | null;
  at: number;
  /** Envelope recipients; empty for mail that the inbox sent. */
  receivedFor: string[];
  /** Envelope sender, empty for a notice; undefined for mail that the inbox sent. */
  mailFrom: string | undefined;
  authentication: Authentication | null;
  files: OriginalFile[];
}

/** Finds the email of a thread that a caller names, and the thread; throws if there is none. */
export async function mustFindOriginal(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { threadId, emailId }: { threadId: string; emailId: string },
): Promise<{ thread: ThreadRow; original: Original }> {
  const { db } = ctx.store;
  const thread = await findThread(db, inbox.id, threadId);
  if (!thread) throw notFound('Thread');
  const email = await findThreadEmail(db, thread.id, emailId);
  const original = email && (email.direction === 'inbound' ? await received(ctx, emailId) : await sent(ctx, emailId));
  if (!original) throw notFound('Email');
  return { thread, original };
}

async function received(ctx: Ctx<World>, id: string): Promise<Original | undefined> {
  const whole = await findWholeReceived(ctx.store, ctx.teamId, id);
  if (!whole) return undefined;
  // A quote reads the content, as GET /emails/receiving does.
  await mustBeWithinQuota(ctx);
  const { row, files, content } = whole;
  return {
    emailId: row.id,
    direction: 'inbound',
    from: row.sender,
    subject: row.subject,
    messageId: row.message_id,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    replyTo: readList(row.reply_to_list),
    headers: content.headers ?? {},
    html: content.html,
    text: content.text,
    at: Number(row.created_at),
    receivedFor: readList(row.received_for),
    mailFrom: row.mail_from,
    authentication: row.authentication === null ? null : (JSON.parse(row.authentication) as Authentication),
    files: files.map((file) => ({
      key: file.is_stored === 1 ? RECEIVED_ATTACHMENT_BLOB(row.id, file.id) : undefined,
      filename: file.filename ?? 'attachment',
      contentType: file.content_type,
      contentId: file.content_id,
      size: Number(file.size),
    })),
  };
}

async function sent({ store, teamId }: Ctx<World>, id: string): Promise<Original | undefined> {
  const row = await findEmail(store.db, teamId, id);
  if (!row || isWithheld(store, row)) return undefined;
  const files = row.attachment_count > 0 ? await listEmailAttachments(store.db, [id]) : [];
  const body = await (await findBody(store, store.db, id))?.load();
  const headers = row.headers === null ? [] : (JSON.parse(row.headers) as [string, string][]);
  return {
    emailId: row.id,
    direction: 'outbound',
    from: row.sender,
    subject: row.subject,
    messageId: row.message_id,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    replyTo: readList(row.reply_to_list),
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    html: body?.html ?? null,
    text: body?.text ?? null,
    at: Number(row.created_at),
    receivedFor: [],
    mailFrom: undefined,
    authentication: null,
    files: files.map((file) => ({
      key: ATTACHMENT_BLOB(row.id, file.id),
      filename: file.filename,
      contentType: file.content_type,
      contentId: file.content_id,
      size: Number(file.size),
    })),
  };
}

/** Returns the same files for another email, without copying content in the blob store. */
export async function reuseFiles(world: World, files: readonly OriginalFile[]): Promise<DraftAttachment[]> {
  return Promise.all(
    files.map(async ({ key, filename, contentType, contentId, size }, i): Promise<DraftAttachment> => {
      if (key === undefined) {
        const say = `The file ${JSON.stringify(filename)} of the email was not stored, so it cannot be forwarded.`;
        throw invalidAttachment('attachments', say);
      }
      const found = await referToContent(world, key);
      const rest = {
        filename: shortName(filename),
        contentType: contentTypeFault(contentType) === undefined ? contentType : 'application/octet-stream',
        contentId: contentId !== null && contentIdFault(contentId) === undefined ? contentId : null,
        source: null,
        field: `original.${i}`,
      };
      return 'blob' in found
        ? { ...rest, content: Buffer.alloc(0), stored: { blob: found.blob, size } }
        : { ...rest, content: found.content };
    }),
  );
}

const NAME_BYTES_MAX = 255;

/** Shortens a file name of an untrusted sender, which may be too long and contain characters that we do not write. */
function shortName(name: string): string {
  let short = name.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  while (Buffer.byteLength(short) > NAME_BYTES_MAX) short = Array.from(short).slice(0, -1).join('');
  return short === '' ? 'attachment' : short;
}

/** Fetches the attachments of a new mail; throws unless they are within the limits together with the existing files. */
export async function writtenFiles(
  { store, whenGone }: Ctx<World>,
  attachments: DraftAttachment[],
  before: readonly { size: number }[] = [],
): Promise<DraftAttachment[]> {
  const { limit_bytes: bytesMax } = store.config.attachments;
  // Checked before anything is fetched, too.
  mustFitWith(before, attachments, bytesMax);
  await fetchAttachments(store, [{ attachments }], whenGone);
  mustFit(attachments);
  mustFitWith(before, attachments, bytesMax);
  return attachments.map((file) => ({ ...file, source: null }));
}
