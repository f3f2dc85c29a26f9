import type { InboxEmailData } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { invalidField } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { textOfHtml } from '../../protocol/read-message/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { readEmail, type DraftAttachment, type EmailDraft, type EmailRow } from '../../resources/emails/index.ts';
import { mustFit } from '../../resources/inbox-drafts/index.ts';
import type { InboxRow, ThreadRow } from '../../resources/inbox-rows/index.ts';
import { idsToKeepOfSent, subjectToKeep } from '../../resources/threads/index.ts';
import { filesOf, type Original } from './original.ts';
import { putSent } from './put-sent.ts';
import { senderOf, type InboxSender } from './sender.ts';

/** What somebody wrote; the rest is made. */
export interface WrittenMail {
  to: string[] | undefined;
  cc: string[];
  bcc: string[];
  subject: string | null;
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  files: DraftAttachment[];
}

export interface ComposedMail {
  id: string;
  draft: EmailDraft;
  beside(tx: Executor, email: EmailRow): Promise<InboxEmailData>;
}

/** Everything that one mail is made of, with what it quotes in its texts. */
export interface Parts {
  id: string;
  threadId: string;
  isNewThread: boolean;
  sender: InboxSender;
  to: string[];
  cc: string[];
  subject: string;
  html: string | null;
  text: string | null;
  /** Ours: what it answers. */
  headers: [name: string, value: string][];
  /** Outlook's name for the conversation. */
  conversation: string | undefined;
  files: DraftAttachment[];
}

const OURS: ReadonlySet<string> = new Set(['in-reply-to', 'references', 'reply-to']);

/** What says where a mail belongs is ours alone to write. */
export function mustLeaveOurs(headers: Record<string, string> | null): void {
  const name = Object.keys(headers ?? {}).find((one) => OURS.has(one.toLowerCase()));
  if (name === undefined) return;
  throw invalidField(`headers.${name}`, `The header ${JSON.stringify(name)} is set by the service and cannot be set here.`);
}

export function assemble(ctx: Ctx<World>, inbox: InboxRow, written: WrittenMail, parts: Parts): ComposedMail {
  const { id, sender } = parts;
  mustLeaveOurs(written.headers);
  const theirs = Object.entries(written.headers ?? {});
  const named = new Set(theirs.map(([name]) => name.toLowerCase()));
  const ours = parts.headers.filter(([name]) => !named.has(name.toLowerCase()));
  const draft = readEmail(
    {
      ...{ from: sender.from, to: parts.to, cc: parts.cc, bcc: written.bcc, subject: parts.subject },
      ...{ html: parts.html, text: parts.text, headers: written.headers ?? {} },
      reply_to: sender.replyTo ?? null,
    },
    ctx.store.clock.now(),
  );
  const sent = { ...draft, headers: [...draft.headers, ...ours], attachments: parts.files };
  const participants = draft.recipients.map(({ address }) => normalizeAddress(address));
  return {
    id,
    draft: sent,
    async beside(tx, email) {
      // Files that are fetched are known only now.
      mustFit(sent.attachments);
      return putSent(ctx, tx, email, {
        ...{ inboxId: inbox.id, threadId: parts.threadId, isNewThread: parts.isNewThread },
        text: written.text ?? textOfHtml(written.html ?? ''),
        keys: idsToKeepOfSent(email.message_id, parts.conversation),
        participants: participants.filter((address) => !sender.own.has(address)),
        subjectKey: subjectToKeep(parts.subject),
      });
    },
  };
}

const idOfThread = (ctx: Ctx<World>): string => ctx.store.ids.uuid();

/** New mail, which begins a thread. */
export async function composeNew(
  ctx: Ctx<World>,
  inbox: InboxRow,
  written: WrittenMail & { to: string[]; subject: string },
): Promise<ComposedMail> {
  const threadId = idOfThread(ctx);
  const sender = senderOf(ctx.store, inbox, { threadId, original: undefined });
  return assemble(ctx, inbox, written, {
    ...{ id: ctx.store.ids.uuid(), threadId, isNewThread: true, sender, headers: [], conversation: undefined },
    ...{ to: written.to, cc: written.cc, subject: written.subject, files: written.files },
    ...signed(written, inbox.signature),
  });
}

interface Answering {
  thread: ThreadRow;
  original: Original;
  written: WrittenMail;
}

/** An answer to an email of a thread: to whom it asks to be answered, or to whom else is named. */
export async function composeAnswer(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { thread, original, written, isToAll }: Answering & { isToAll: boolean },
): Promise<ComposedMail> {
  const sender = senderOf(ctx.store, inbox, { threadId: thread.id, original });
  return assemble(ctx, inbox, written, {
    ...{ id: ctx.store.ids.uuid(), threadId: thread.id, isNewThread: false, sender, headers: [], conversation: undefined },
    ...{ to: written.to ?? [original.from], cc: written.cc, subject: `Re: ${original.subject}`, files: written.files },
    ...signed(written, inbox.signature),
  });
}

/** An email of a thread with its files, for somebody else. */
export async function composeForward(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { thread, original, written }: Answering,
): Promise<ComposedMail> {
  const sender = senderOf(ctx.store, inbox, { threadId: thread.id, original });
  return assemble(ctx, inbox, written, {
    ...{ id: ctx.store.ids.uuid(), threadId: thread.id, isNewThread: false, sender, headers: [], conversation: undefined },
    ...{ to: written.to ?? [], cc: written.cc, subject: `Fwd: ${original.subject}` },
    files: [...written.files, ...(await filesOf(ctx.store, original.files))],
    ...signed(written, inbox.signature),
  });
}

const signed = ({ html, text }: WrittenMail, signature: string | null) => ({
  html,
  text: text === null || signature === null ? text : `${text}\n\n-- \n${signature}`,
});
