import type { BodyOf, SentEmail } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import {
  mustBeUnchanged,
  mustMayAlter,
  nextChangeAt,
  readAppName,
  readGrantId,
  type Ctx,
} from '../../../tenancy/access/index.ts';
import { contentsPlacer, putFiles } from '../../../mail/contents/index.ts';
import type { DraftAttachment, EmailRow } from '../../../mail/emails/index.ts';
import {
  EMPTY_DRAFT,
  mustFindDraft,
  mustFit,
  readDraftContent,
  readDraftFiles,
  recordDraftEvent,
  addressesIn,
  draftForEvent,
  type DraftContent,
} from '../drafts.ts';
import {
  filesOfDrafts,
  insertDraft,
  insertDraftFiles,
  lockDraft,
  updateDraftRow,
  weighDrafts,
  markDraftSent,
  type DraftFileRow,
  type DraftRow,
} from '../store/drafts.store.ts';
import { findThread, findThreadEmail } from '../store/threads.store.ts';
import { removeDraftFiles } from '../store/remove.store.ts';
import type { InboxRow } from '../store/rows.ts';
import { inboxNamed } from '../inboxes.ts';
import {
  fetchAttachments,
  Superseded,
  type Accept,
  type Idempotency,
  type Composing,
} from '../../../mail/accept/index.ts';
import { recordEvents, type InboxEmailData } from '../../../mail/events/index.ts';
import { NoSuchBlob } from '../../../platform/blobs/index.ts';
import { fillTemplate, type FilledFor } from './fill-template.ts';
import { composeAnswer, composeNew, type ComposedMail, type WrittenMail } from './compose.ts';
import { reuseFiles, mustFindOriginal } from './original.ts';

/** Unsent drafts of one inbox: a client that writes more has forgotten to send them. */
const DRAFTS_MAX = 10_000;
const DRAFT_FILES_BYTES_MAX = 1024 * 1024 * 1024;

export async function createDraft(
  ctx: Ctx<World>,
  accept: Pick<Accept, 'writeIdempotently'>,
  {
    named,
    body,
    idempotency,
  }: { named: string; body: BodyOf<'createInboxDraft'>; idempotency?: Idempotency | undefined },
) {
  const { store } = ctx;
  return accept.writeIdempotently(ctx, { idempotency, isGrowing: hasUrl(body.attachments) }, async (keep) => {
    const inbox = await inboxNamed(ctx, named);
    const { thread_id, reply_to_email_id, attachments, ...given } = body;
    const threadId = thread_id?.toLowerCase();
    const emailId = reply_to_email_id?.toLowerCase();
    if (attachments === undefined && Object.keys(given).length === 0) throw nothingInIt();
    if ((threadId === undefined) !== (emailId === undefined)) throw halfAnAnswer();
    const target = threadId === undefined ? undefined : await mustFindTarget(ctx, inbox, threadId, emailId ?? '');
    const written = await filledDraft(ctx, inbox, given, { ...EMPTY_DRAFT, threadId, emailId });
    const content = readDraftContent(EMPTY_DRAFT, written);
    const files = await readyFiles(ctx, attachments ?? []);
    await mustHaveRoom(ctx, inbox, { isNew: true, files });
    const id = store.ids.uuid();
    const at = store.clock.now();
    const times = { created_at: at, updated_at: at };
    const of = { team_id: ctx.teamId, inbox_id: inbox.id, ...(target ?? { thread_id: null, reply_to_email_id: null }) };
    const writer = { author_grant_id: readGrantId(ctx.actor), changed_by_app: readAppName(ctx.actor) };
    const row = { id, ...of, ...content, ...times, ...writer, email_id: null };
    const answer = { object: 'inbox_draft' as const, id };
    const placed = await placeFiles(ctx.store, id, files);
    await store.db.tx(async (tx) => {
      await insertDraft(tx, row);
      await placed.insert(tx);
      await recordDraftEvent(ctx, tx, 'inbox.draft.created', { row, files: placed.rows, at });
      await keep(tx, answer);
    });
    return answer;
  });
}

export async function updateDraft(
  ctx: Ctx<World>,
  accept: Pick<Accept, 'writeIdempotently'>,
  { named, id, body }: { named: string; id: string; body: BodyOf<'updateInboxDraft'> },
) {
  const { store } = ctx;
  const { attachments, ...given } = body;
  return accept.writeIdempotently(ctx, { idempotency: undefined, isGrowing: hasUrl(attachments) }, async () => {
    const { inbox, row: found } = await mustFindDraft(ctx, named, id);
    const { thread_id: threadId, reply_to_email_id: emailId } = found;
    const written = await filledDraft(ctx, inbox, given, { ...found, threadId, emailId });
    // Checked before the files are fetched, too.
    readDraftContent(found, written);
    const files = await readyFiles(ctx, attachments ?? []);
    if (files.length > 0) await mustHaveRoom(ctx, inbox, { isNew: false, files });
    const placed = attachments === undefined ? undefined : await placeFiles(store, found.id, files);
    const old = await store.db.tx(async (tx) => {
      const row = await lockDraft(tx, inbox.id, found.id);
      if (!row) throw notFound('Draft');
      if (row.email_id !== null) throw alreadySent();
      const isOwn = row.author_grant_id === readGrantId(ctx.actor);
      mustMayAlter(ctx.actor, { isOwn });
      const before = await filesOfDrafts(tx, [row.id]);
      // Another change may have come in between: fields that this one does not name keep its values.
      const now = { ...row, ...readDraftContent(row, written), updated_at: nextChangeAt(store.clock.now(), row) };
      if (!isOwn) now.author_grant_id = null;
      // A person who changes one field may not have seen what the app wrote into the others.
      now.changed_by_app = readAppName(ctx.actor) ?? row.changed_by_app;
      const { to_list, cc_list, bcc_list, subject, html, text, author_grant_id, changed_by_app, updated_at } = now;
      const change = { to_list, cc_list, bcc_list, subject, html, text, author_grant_id, changed_by_app, updated_at };
      await updateDraftRow(tx, row.id, change);
      if (placed) await removeDraftFiles(tx, [row.id]);
      await placed?.insert(tx);
      const event = { row: now, files: placed?.rows ?? before, at: updated_at };
      await recordDraftEvent(ctx, tx, 'inbox.draft.updated', event);
      return placed ? before : [];
    });
    // Files that are stored in rows have no blob.
    await store.blobs.removeKeys(old.map((file) => `${found.id}/${file.id}`));
    return { object: 'inbox_draft' as const, id: found.id };
  });
}

type WrittenDraft = Omit<BodyOf<'updateInboxDraft'>, 'attachments'>;

/**
 * Returns the fields of a draft with its template rendered. A draft of a new email without a subject gets that of the
 * template.
 */
async function filledDraft(
  ctx: Ctx<World>,
  inbox: InboxRow,
  given: WrittenDraft,
  before: Pick<DraftContent, 'to_list' | 'subject'> & Pick<FilledFor, 'threadId' | 'emailId'>,
): Promise<Omit<WrittenDraft, 'template'>> {
  if (!given.template) return given;
  const { threadId, emailId } = before;
  const now = readDraftContent({ ...EMPTY_DRAFT, ...before }, { to: given.to, subject: given.subject });
  const [to] = addressesIn(now.to_list);
  const { templateSubject, ...written } = await fillTemplate(ctx, given, {
    inbox,
    threadId,
    emailId,
    to,
    subject: now.subject,
  });
  const isReply = threadId !== null && threadId !== undefined;
  return {
    ...written,
    html: written.html ?? null,
    text: written.text ?? null,
    ...(isReply || now.subject !== null || templateSubject === undefined ? {} : { subject: templateSubject }),
  };
}

const nothingInIt = () =>
  refuse('missing_required_field', {
    say: 'A draft needs at least one of to, cc, bcc, subject, text, html, template and attachments.',
  });

const halfAnAnswer = () =>
  invalidField('thread_id', 'thread_id and reply_to_email_id must be used together; send both or neither.');

const alreadySent = () => invalidField('draft_id', 'The draft was sent and can no longer be changed.');

const hasUrl = (files: BodyOf<'updateInboxDraft'>['attachments']): boolean =>
  files?.some(({ path }) => path !== undefined) ?? false;

/** Throws unless the thread and the email are both in this inbox, and belong together. */
async function mustFindTarget({ store }: Ctx, inbox: InboxRow, threadId: string, emailId: string) {
  const thread = await findThread(store.db, inbox.id, threadId);
  if (!thread) throw invalidField('thread_id', 'thread_id must be the id of a thread of this inbox.');
  const email = await findThreadEmail(store.db, thread.id, emailId);
  if (!email) throw invalidField('reply_to_email_id', 'reply_to_email_id must be the id of an email of the thread.');
  return { thread_id: thread.id, reply_to_email_id: email.email_id };
}

async function readyFiles(
  { store, whenGone }: Ctx<World>,
  written: NonNullable<BodyOf<'updateInboxDraft'>['attachments']>,
): Promise<DraftAttachment[]> {
  const attachments = readDraftFiles(written);
  await fetchAttachments(store, [{ attachments }], whenGone);
  mustFit(attachments);
  return attachments;
}

async function mustHaveRoom(
  { store }: Ctx<World>,
  inbox: InboxRow,
  { isNew, files }: { isNew: boolean; files: readonly DraftAttachment[] },
): Promise<void> {
  const { drafts, bytes } = await weighDrafts(store.db, inbox.id);
  if (isNew && drafts >= DRAFTS_MAX) {
    const say = `An inbox may have at most ${DRAFTS_MAX} unsent drafts; send or delete some first.`;
    throw invalidField('inbox', say);
  }
  const more = files.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes + more <= DRAFT_FILES_BYTES_MAX) return;
  const say = `The files of all drafts of an inbox may have at most ${DRAFT_FILES_BYTES_MAX} bytes; send or delete some first.`;
  throw invalidField('attachments', say);
}

/**
 * Stores the files of a draft. Content too large for a row is written and synced before the transaction that names it.
 */
async function placeFiles(world: World, draftId: string, files: readonly DraftAttachment[]) {
  const rows = files.map((file, position): DraftFileRow => ({
    id: world.ids.prefixed('att_'),
    draft_id: draftId,
    position,
    filename: file.filename,
    content_type: file.contentType,
    size: file.content.length,
  }));
  const placed = contentsPlacer(world)(
    files.map(({ content }, i) => ({ key: `${draftId}/${rows[i]?.id ?? ''}`, content })),
  );
  const contents = [...placed.rows, ...(await putFiles(world, placed.files))];
  return { rows, insert: (tx: Executor) => insertDraftFiles(tx, rows, contents) };
}

/** Sends a draft once: a second or concurrent request returns the id of the same email. */
export async function sendDraft(
  ctx: Ctx<World>,
  accept: Pick<Accept, 'acceptWithRows'>,
  call: {
    named: string;
    id: string;
    body: BodyOf<'sendInboxDraft'> | undefined;
    idempotency?: Idempotency | undefined;
  },
): Promise<SentEmail> {
  const { named, id, idempotency } = call;
  let read: FoundDraft | undefined;
  try {
    const make = async () => composeDraft(ctx, (read = await mustFindDraft(ctx, named, id)), call.body);
    return await accept.acceptWithRows(ctx, make, { idempotency, isGrowing: false });
  } catch (error) {
    if (!(error instanceof Superseded || error instanceof NoSuchBlob)) throw error;
    const now = await mustFindDraft(ctx, named, id);
    if (now.row.email_id !== null) return { id: now.row.email_id };
    // Missing files that nobody removed are our fault.
    if (error instanceof NoSuchBlob && read && isSame(read, now)) throw error;
    throw changedMeanwhile();
  }
}

/** Composes the mail that sending the draft now would produce, with its files. */
export async function previewDraft(
  ctx: Ctx<World>,
  { named, id, headers }: { named: string; id: string; headers: Record<string, string> | null },
): Promise<{ mail: ComposedMail; files: readonly DraftFileRow[]; updatedAt: number }> {
  const { inbox, row, files } = await mustFindDraft(ctx, named, id);
  return { mail: await composed(ctx, inbox, { row, files, headers }), files, updatedAt: Number(row.updated_at) };
}

/**
 * Returns the bodies that the template of a new or changed draft renders to now, and the subject if it supplies that;
 * undefined without a template.
 */
export async function previewDraftTemplate(
  ctx: Ctx<World>,
  { named, id, body }: { named: string; id: string | undefined; body: Partial<BodyOf<'createInboxDraft'>> },
): Promise<Pick<WrittenDraft, 'html' | 'text' | 'subject'> | undefined> {
  if (!body.template) return undefined;
  const inbox = await inboxNamed(ctx, named);
  const { thread_id: threadId, reply_to_email_id: emailId, attachments: _, ...given } = body;
  const found = id === undefined ? undefined : (await mustFindDraft(ctx, named, id)).row;
  const before = found
    ? { ...found, threadId: found.thread_id, emailId: found.reply_to_email_id }
    : { ...EMPTY_DRAFT, threadId: threadId?.toLowerCase(), emailId: emailId?.toLowerCase() };
  const { html, text, subject } = await filledDraft(ctx, inbox, given, before);
  return { html, text, ...(subject === undefined ? {} : { subject }) };
}

type FoundDraft = Awaited<ReturnType<typeof mustFindDraft>>;

/** Compares content: the row, and the ids of its files. */
const isSame = (one: Pick<FoundDraft, 'row' | 'files'>, other: Pick<FoundDraft, 'row' | 'files'>): boolean => {
  const write = ({ row, files }: Pick<FoundDraft, 'row' | 'files'>): string =>
    JSON.stringify([row, files.map((file) => file.id)]);
  return write(one) === write(other);
};

const changedMeanwhile = () =>
  refuse('resource_locked', { say: 'The draft was changed while it was being sent; nothing was sent. Send it again.' });

async function composeDraft(
  ctx: Ctx<World>,
  { inbox, row, files }: FoundDraft,
  body: BodyOf<'sendInboxDraft'> | undefined,
): Promise<Composing> {
  if (row.email_id !== null) throw new Superseded();
  mustBeUnchanged(ctx.actor, row, body?.unchanged_since);
  const mail = await composed(ctx, inbox, { row, files, headers: body?.headers ?? null });
  return {
    ...mail,
    async writeRows(tx, email) {
      const data = await mail.writeRows(tx, email);
      await mustStillBe(tx, inbox, { row, files });
      const at = ctx.store.clock.now();
      if (!(await markDraftSent(tx, row.id, { emailId: email.id, at }))) throw new Superseded();
      await recordSent(ctx, tx, { row, files, email, at, data });
    },
  };
}

async function composed(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { row, files, headers }: { row: DraftRow; files: DraftFileRow[]; headers: Record<string, string> | null },
) {
  const { thread_id: threadId, reply_to_email_id: emailId } = row;
  const written: WrittenMail = {
    to: row.to_list === null ? undefined : addressesIn(row.to_list),
    cc: addressesIn(row.cc_list),
    bcc: addressesIn(row.bcc_list),
    subject: row.subject,
    html: row.html,
    text: row.text,
    headers,
    files: await reuseFiles(
      ctx.store,
      files.map((file) => ({
        key: `${row.id}/${file.id}`,
        filename: file.filename,
        contentType: file.content_type,
        contentId: null,
        size: file.size,
      })),
    ),
  };
  if (written.html === null && written.text === null) throw missing('html or text');
  if (threadId === null || emailId === null) {
    if (written.to === undefined) throw missing('to');
    if (written.subject === null) throw missing('subject');
    return composeNew(ctx, inbox, { ...written, to: written.to, subject: written.subject });
  }
  const { thread, original } = await mustFindOriginal(ctx, inbox, { threadId, emailId });
  return composeAnswer(ctx, inbox, { thread, original, written, isToAll: false });
}

const missing = (field: string) =>
  refuse('missing_required_field', { say: `The draft lacks ${field}; add it with PATCH before you send it.` });

/** Throws if the draft changed since it was read: the change would be missing from the sent mail. */
async function mustStillBe(
  tx: Executor,
  inbox: InboxRow,
  read: { row: DraftRow; files: DraftFileRow[] },
): Promise<void> {
  const row = await lockDraft(tx, inbox.id, read.row.id);
  if (!row) throw notFound('Draft');
  if (!isSame(read, { row, files: await filesOfDrafts(tx, [row.id]) })) throw new Superseded();
}

async function recordSent(
  { store, teamId }: Ctx<World>,
  tx: Executor,
  sent: { row: DraftRow; files: readonly DraftFileRow[]; email: EmailRow; at: number; data: InboxEmailData },
): Promise<void> {
  const { row, files, email, at } = sent;
  const draft = draftForEvent({ ...row, email_id: email.id, updated_at: at }, files);
  const data = { ...sent.data, draft_id: row.id, draft };
  await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.draft.sent', subjectId: email.id, at, data }]);
}
