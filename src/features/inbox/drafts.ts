import type { Page, Executor } from '../../platform/db/index.ts';
import { notFound, invalidField, invalidFields, type FieldFault } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  deleteDraftRow,
  filesOfDrafts,
  findDraft,
  listDraftRows,
  lockDraft,
  type DraftFileRow,
  type DraftRow,
} from './store/drafts.store.ts';
import { removeDraftFiles } from './store/remove.store.ts';
import { findThread, labelsOfThreads, buildSnippet } from './store/threads.store.ts';
import { toEventSource, threadData } from './store/present.ts';
import type { InboxRow } from './store/rows.ts';
import { inboxNamed } from './inboxes.ts';
import type { BodyOf } from '../../contract/index.ts';
import {
  invalidAttachment,
  readAttachments,
  readMailboxes,
  sizeOfFile,
  type DraftAttachment,
} from '../../mail/emails/index.ts';
import { recordEvents } from '../../mail/events/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { textOfHtml } from '../../protocol/read-message/index.ts';

const RECIPIENTS_MAX = 50;
const SUBJECT_BYTES_MAX = 998;
const BODY_BYTES_MAX = 2 * 1024 * 1024;
/** Limit for all files of one draft, reply or forward. */
const FILES_BYTES_MAX = 25 * 1024 * 1024;
const FILES_MAX = 10;

type Written = BodyOf<'updateInboxDraft'>;
export type DraftContent = Pick<DraftRow, 'to_list' | 'cc_list' | 'bcc_list' | 'subject' | 'html' | 'text'>;

export const EMPTY_DRAFT: DraftContent = {
  to_list: null,
  cc_list: '[]',
  bcc_list: '[]',
  subject: null,
  html: null,
  text: null,
};

/**
 * Returns the content of a draft after applying `written`; fields that are not named keep their values. Throws if it is
 * invalid.
 */
export function readDraftContent(before: DraftContent, written: Written): DraftContent {
  const faults: FieldFault[] = [];
  const lists = (['to', 'cc', 'bcc'] as const).map((field) => {
    const value = written[field];
    if (value === undefined) return before[`${field}_list`];
    const { texts: addresses } = readMailboxes(field, value, faults);
    if (field === 'to' && addresses.length === 0) return null;
    return JSON.stringify(addresses);
  });
  const [to = null, cc, bcc] = lists;
  const now: DraftContent = {
    to_list: to,
    cc_list: cc ?? '[]',
    bcc_list: bcc ?? '[]',
    subject: written.subject === undefined ? before.subject : written.subject,
    html: written.html === undefined ? before.html : written.html,
    text: written.text === undefined ? before.text : written.text,
  };
  faults.push(...limitFaults(now));
  if (faults.length > 0) throw invalidFields(faults);
  return now;
}

function limitFaults({ to_list, cc_list, bcc_list, subject, html, text }: DraftContent): FieldFault[] {
  const faults: FieldFault[] = [];
  const count = [to_list, cc_list, bcc_list].reduce((sum, list) => sum + addressesIn(list).length, 0);
  if (count > RECIPIENTS_MAX) {
    const message = `to, cc and bcc may have at most ${RECIPIENTS_MAX} addresses together; got ${count}.`;
    faults.push({ path: 'to', message });
  }
  const subjectBytes = Buffer.byteLength(subject ?? '');
  if (subjectBytes > SUBJECT_BYTES_MAX) {
    const message = `subject may have at most ${SUBJECT_BYTES_MAX} bytes in UTF-8; got ${subjectBytes}.`;
    faults.push({ path: 'subject', message });
  } else if (/[\p{Cc}\u2028\u2029]/u.test((subject ?? '').replaceAll('\t', ' '))) {
    faults.push({ path: 'subject', message: 'subject must be one line without control characters.' });
  }
  const bytes = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
  if (bytes > BODY_BYTES_MAX) {
    const message = `html and text may have at most ${BODY_BYTES_MAX} bytes together; got ${bytes}.`;
    faults.push({ path: html === null ? 'text' : 'html', message });
  }
  return faults;
}

export const addressesIn = (list: string | null): string[] => (list === null ? [] : (JSON.parse(list) as string[]));

type WrittenFile = NonNullable<Written['attachments']>[number];

/** Reads attachments. One with content needs its type; for one that is fetched, the type is guessed from its name. */
export function readDraftFiles(files: readonly WrittenFile[]): DraftAttachment[] {
  for (const [i, { content, content_type: type }] of files.entries()) {
    if (content !== undefined && type === undefined) {
      const path = `attachments.${i}.content_type`;
      throw invalidAttachment(path, `${path} is missing; set it to the type of the file, such as application/pdf.`);
    }
  }
  return readAttachments([...files]);
}

/** Throws if a fetched file is empty, or all of them together exceed the limits. */
export function mustFit(files: readonly DraftAttachment[]): void {
  if (files.length > FILES_MAX) {
    const say = `attachments: an email from an inbox may have at most ${FILES_MAX} files of its own; got ${files.length}.`;
    throw invalidField('attachments', say);
  }
  let bytes = 0;
  for (const file of files) {
    const path = `${file.field}.${file.source === null ? 'content' : 'path'}`;
    const size = sizeOfFile(file);
    if (size === 0) throw invalidAttachment(path, `${path}: the file is empty.`);
    bytes += size;
    if (bytes <= FILES_BYTES_MAX) continue;
    const say = `${path} is too large: the files of an email from an inbox may have at most ${FILES_BYTES_MAX} bytes together.`;
    throw invalidAttachment(path, say);
  }
}

/** Throws if the files exceed the size of one email; forwarded files are limited by size, not number. */
export function mustFitWith(
  before: readonly { size: number }[],
  files: readonly DraftAttachment[],
  bytesMax: number,
): void {
  const [theirs = 0, own = 0] = [before.map(({ size }) => size), files.map(sizeOfFile)].map((sizes) =>
    sizes.reduce((sum, size) => sum + size, 0),
  );
  if (theirs + own <= bytesMax) return;
  const beside = own === 0 ? '' : `, and the other attachments ${own}`;
  const say = `attachments: the files of the email that is forwarded have ${theirs} bytes${beside}; at most ${bytesMax} can be sent in one email (attachments.limit_bytes of the server).`;
  throw invalidAttachment('attachments', say);
}

/** Characters read for a snippet; more of a long text is not needed. */
const READ_CHARS_MAX = 20_000;

const presentFile = ({ id, filename, content_type, size }: DraftFileRow) => ({ id, filename, content_type, size });

const shared = (row: DraftRow) => ({
  id: row.id,
  type: row.reply_to_email_id === null ? ('standalone' as const) : ('reply' as const),
  to: row.to_list === null ? null : addressesIn(row.to_list),
  cc: addressesIn(row.cc_list),
  bcc: addressesIn(row.bcc_list),
  subject: row.subject,
  thread_id: row.thread_id,
  reply_to_email_id: row.reply_to_email_id,
  updated_at: isoTime(Number(row.updated_at)),
});

/** Formats a draft for an event: everything except its texts. */
export const draftForEvent = (row: DraftRow, files: readonly DraftFileRow[]) => ({
  object: 'inbox_draft' as const,
  ...shared(row),
  email_id: row.email_id,
  created_at: isoTime(Number(row.created_at)),
  attachments: files.map(presentFile),
});

const presentDraft = (row: DraftRow, files: readonly DraftFileRow[]) => ({
  ...draftForEvent(row, files),
  changed_by_app: row.changed_by_app,
  html: row.html,
  text: row.text,
});

function presentDraftItem(row: DraftRow, files: readonly DraftFileRow[]) {
  const text = row.text ?? textOfHtml(row.html?.slice(0, READ_CHARS_MAX) ?? '');
  const snippet = buildSnippet(text);
  return {
    ...shared(row),
    snippet: snippet === '' ? null : snippet,
    changed_by_app: row.changed_by_app,
    attachments: files.map(presentFile),
  };
}

export async function mustFindDraft(
  ctx: Ctx,
  named: string,
  id: string,
): Promise<{ inbox: InboxRow; row: DraftRow; files: DraftFileRow[] }> {
  const inbox = await inboxNamed(ctx, named);
  const row = await findDraft(ctx.store.db, inbox.id, id);
  if (!row) throw notFound('Draft');
  return { inbox, row, files: await filesOfDrafts(ctx.store.db, [row.id]) };
}

export async function listDrafts(ctx: Ctx, named: string, page: Page) {
  const inbox = await inboxNamed(ctx, named);
  const { rows, hasMore } = await listDraftRows(ctx.store.db, inbox.id, page);
  const ids = rows.map((row) => row.id);
  const files = Map.groupBy(await filesOfDrafts(ctx.store.db, ids), (file) => file.draft_id);
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map((row) => presentDraftItem(row, files.get(row.id) ?? [])),
  };
}

export async function getDraft(ctx: Ctx, named: string, id: string) {
  const { row, files } = await mustFindDraft(ctx, named, id);
  return presentDraft(row, files);
}

export async function deleteDraft(ctx: Ctx, named: string, id: string) {
  const { store } = ctx;
  const inbox = await inboxNamed(ctx, named);
  const left = await store.db.tx(async (tx) => {
    const row = await lockDraft(tx, inbox.id, id);
    if (!row) throw notFound('Draft');
    const files = await filesOfDrafts(tx, [row.id]);
    await recordDraftEvent(ctx, tx, 'inbox.draft.deleted', { row, files, at: store.clock.now() });
    await deleteDraftRow(tx, row.id);
    return removeDraftFiles(tx, [row.id]);
  });
  for (const owner of left) await store.blobs.remove(owner);
  return { object: 'inbox_draft' as const, id: id.toLowerCase(), deleted: true as const };
}

/** Records a change of a draft, in the transaction of the change. */
export async function recordDraftEvent(
  ctx: Ctx,
  tx: Executor,
  type: 'inbox.draft.created' | 'inbox.draft.updated' | 'inbox.draft.deleted',
  { row, files, at }: { row: DraftRow; files: readonly DraftFileRow[]; at: number },
): Promise<void> {
  const source = toEventSource(ctx.actor);
  const { id, team_id: teamId, inbox_id, thread_id: threadId } = row;
  const thread = threadId === null ? undefined : await findThread(tx, inbox_id, threadId);
  const about = thread
    ? threadData(source, thread, await labelsOfThreads(tx, [thread.id]))
    : { source, inbox_id, ...(threadId === null ? {} : { thread_id: threadId }) };
  const data = { ...about, draft_id: id, draft: draftForEvent(row, files) };
  await recordEvents(tx, ctx.store.ids, [{ teamId, type, subjectId: id, at, data }]);
}
