import type { BodyOf } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { grantIdOf, type Ctx } from '../../../tenancy/access/index.ts';
import { contentsPlacer, putFiles } from '../../../mail/contents/index.ts';
import type { DraftAttachment } from '../../../mail/emails/index.ts';
import {
  EMPTY_DRAFT,
  mustFindDraft,
  mustFit,
  readDraftContent,
  readDraftFiles,
  recordDraftEvent,
} from '../inbox-drafts/index.ts';
import {
  filesOfDrafts,
  findThread,
  findThreadEmail,
  insertDraft,
  insertDraftFiles,
  lockDraft,
  removeDraftFiles,
  updateDraftRow,
  weighDrafts,
  type DraftFileRow,
  type InboxRow,
} from '../inbox-rows/index.ts';
import { inboxNamed } from '../inboxes/index.ts';
import { fetchAttachments, type Accept, type Idempotency } from '../../../mail/accept/index.ts';

/** Of one inbox, unsent: a client that writes more has forgotten to send them. */
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
    const { thread_id, reply_to_email_id, attachments, ...written } = body;
    const [threadId, emailId] = [thread_id?.toLowerCase(), reply_to_email_id?.toLowerCase()];
    if (attachments === undefined && Object.keys(written).length === 0) throw nothingInIt();
    if ((threadId === undefined) !== (emailId === undefined)) throw halfAnAnswer();
    const content = readDraftContent(EMPTY_DRAFT, written);
    const target = threadId === undefined ? undefined : await mustFindTarget(ctx, inbox, threadId, emailId ?? '');
    const files = await readyFiles(ctx, attachments ?? []);
    await mustHaveRoom(ctx, inbox, { isNew: true, files });
    const [id, at] = [store.ids.uuid(), store.clock.now()];
    const times = { created_at: at, updated_at: at };
    const of = { team_id: ctx.teamId, inbox_id: inbox.id, ...(target ?? { thread_id: null, reply_to_email_id: null }) };
    const row = { id, ...of, ...content, ...times, author_grant_id: grantIdOf(ctx.actor), email_id: null };
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
  const { attachments, ...written } = body;
  return accept.writeIdempotently(ctx, { idempotency: undefined, isGrowing: hasUrl(attachments) }, async () => {
    const { inbox, row: found } = await mustFindDraft(ctx, named, id);
    // Also before the files are fetched.
    readDraftContent(found, written);
    const files = await readyFiles(ctx, attachments ?? []);
    if (files.length > 0) await mustHaveRoom(ctx, inbox, { isNew: false, files });
    const placed = attachments === undefined ? undefined : await placeFiles(store, found.id, files);
    const old = await store.db.tx(async (tx) => {
      const row = await lockDraft(tx, inbox.id, found.id);
      if (!row) throw notFound('Draft');
      if (row.email_id !== null) throw alreadySent();
      const before = await filesOfDrafts(tx, [row.id]);
      // Another change may have come in between: what this one does not name stays as that left it.
      const now = { ...row, ...readDraftContent(row, written), updated_at: store.clock.now() };
      if (row.author_grant_id !== grantIdOf(ctx.actor)) now.author_grant_id = null;
      const { to_list, cc_list, bcc_list, subject, html, text, author_grant_id, updated_at } = now;
      const change = { to_list, cc_list, bcc_list, subject, html, text, author_grant_id, updated_at };
      await updateDraftRow(tx, row.id, change);
      if (placed) await removeDraftFiles(tx, [row.id]);
      await placed?.insert(tx);
      const event = { row: now, files: placed?.rows ?? before, at: updated_at };
      await recordDraftEvent(ctx, tx, 'inbox.draft.updated', event);
      return placed ? before : [];
    });
    // Of those that stood in rows there is no file.
    await store.blobs.removeKeys(old.map((file) => `${found.id}/${file.id}`));
    return { object: 'inbox_draft' as const, id: found.id };
  });
}

const nothingInIt = () =>
  refuse('missing_required_field', {
    say: 'A draft needs at least one of to, cc, bcc, subject, text, html and attachments.',
  });

const halfAnAnswer = () =>
  invalidField('thread_id', 'thread_id and reply_to_email_id name what is answered together; give both or neither.');

const alreadySent = () => invalidField('draft_id', 'The draft was sent, so that it cannot be changed.');

const hasUrl = (files: BodyOf<'updateInboxDraft'>['attachments']): boolean =>
  files?.some(({ path }) => path !== undefined) ?? false;

/** Both have to stand in this inbox, together. */
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
    const say = `An inbox may have at most ${DRAFTS_MAX} drafts that are not sent; send or delete some first.`;
    throw invalidField('inbox', say);
  }
  const more = files.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes + more <= DRAFT_FILES_BYTES_MAX) return;
  const say = `The files of all drafts of an inbox may have at most ${DRAFT_FILES_BYTES_MAX} bytes; send or delete some first.`;
  throw invalidField('attachments', say);
}

/** What is larger than a row is written, and synced, before the transaction that names it. */
async function placeFiles(world: World, draftId: string, files: readonly DraftAttachment[]) {
  const rows = files.map((file, position): DraftFileRow => ({
    ...{ id: world.ids.prefixed('att_'), draft_id: draftId, position, filename: file.filename },
    ...{ content_type: file.contentType, size: file.content.length },
  }));
  const placed = contentsPlacer(world)(
    files.map(({ content }, i) => ({ key: `${draftId}/${rows[i]?.id ?? ''}`, content })),
  );
  const contents = [...placed.rows, ...(await putFiles(world, placed.files))];
  return { rows, insert: (tx: Executor) => insertDraftFiles(tx, rows, contents) };
}
