import type { BodyOf, SentEmail } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { recordEvents, type InboxEmailData } from '../../../mail/events/index.ts';
import { NoSuchBlob } from '../../../platform/blobs/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import type { EmailRow } from '../../../mail/emails/index.ts';
import { addressesIn, draftForEvent, mustFindDraft } from '../inbox-drafts/index.ts';
import {
  filesOfDrafts,
  lockDraft,
  markDraftSent,
  type DraftFileRow,
  type DraftRow,
  type InboxRow,
} from '../inbox-rows/index.ts';
import { Superseded, type Accept, type Composing, type Idempotency } from '../../../mail/accept/index.ts';
import { composeAnswer, composeNew } from './compose.ts';
import type { ComposedMail, WrittenMail } from './composed-mail.ts';
import { filesOf, mustFindOriginal } from './original.ts';

/** Sends a draft once: a second request, or one at the same time, is answered the id of the one email. */
export async function sendDraft(
  ctx: Ctx<World>,
  accept: Pick<Accept, 'acceptBeside'>,
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
    return await accept.acceptBeside(ctx, make, { idempotency, isGrowing: false });
  } catch (error) {
    if (!(error instanceof Superseded || error instanceof NoSuchBlob)) throw error;
    const now = await mustFindDraft(ctx, named, id);
    if (now.row.email_id !== null) return { id: now.row.email_id };
    // Files that were not removed are missing by our fault.
    if (error instanceof NoSuchBlob && read && isSame(read, now)) throw error;
    throw changedMeanwhile();
  }
}

/** Composes the mail that a draft would be sent as now, with its files. */
export async function previewDraft(
  ctx: Ctx<World>,
  { named, id }: { named: string; id: string },
): Promise<{ mail: ComposedMail; files: readonly DraftFileRow[] }> {
  const { inbox, row, files } = await mustFindDraft(ctx, named, id);
  return { mail: await composed(ctx, inbox, { row, files, headers: null }), files };
}

type FoundDraft = Awaited<ReturnType<typeof mustFindDraft>>;

/** The same content: the row, and the ids of its files. */
const isSame = (one: Pick<FoundDraft, 'row' | 'files'>, other: Pick<FoundDraft, 'row' | 'files'>): boolean => {
  const [was, is] = [one, other].map(({ row, files }) => JSON.stringify([row, files.map((file) => file.id)]));
  return was === is;
};

const changedMeanwhile = () =>
  refuse('resource_locked', { say: 'The draft was changed while it was being sent; nothing was sent. Send it again.' });

async function composeDraft(
  ctx: Ctx<World>,
  { inbox, row, files }: FoundDraft,
  body: BodyOf<'sendInboxDraft'> | undefined,
): Promise<Composing> {
  if (row.email_id !== null) throw new Superseded();
  const mail = await composed(ctx, inbox, { row, files, headers: body?.headers ?? null });
  return {
    ...mail,
    async beside(tx, email) {
      const data = await mail.beside(tx, email);
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
    ...{ to: row.to_list === null ? undefined : addressesIn(row.to_list), cc: addressesIn(row.cc_list) },
    ...{ bcc: addressesIn(row.bcc_list), subject: row.subject, html: row.html, text: row.text, headers },
    files: await filesOf(
      ctx.store,
      files.map((file) => ({
        key: `${row.id}/${file.id}`,
        ...{ filename: file.filename, contentType: file.content_type, contentId: null, size: file.size },
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

/** What was changed since it was read would be left out of what is sent. */
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
