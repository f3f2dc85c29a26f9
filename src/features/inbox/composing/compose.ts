import { invalidField, invalidFields, refuse } from '../../../platform/refusal/index.ts';
import { makeText } from '../../../platform/text-thread/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import {
  forwardBelow,
  forwardSubject,
  quoteBelow,
  readThreadIndex,
  replyFields,
  replyRecipients,
  replySubject,
  signBelow,
  type QuotedMessage,
} from '../../../protocol/reply-message/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { readEmail, RECIPIENTS_MAX, type DraftAttachment } from '../../../mail/emails/index.ts';
import type { InboxRow, ThreadRow } from '../inbox-rows/index.ts';
import { idsToKeepOfSent, subjectToKeep } from '../threads/index.ts';
import type { ComposedMail, WrittenMail } from './composed-mail.ts';
import { filesOf, type Original } from './original.ts';
import { answeredByMachine, isAutomatic, unlessInLoop } from './robots.ts';
import { putSent } from './put-sent.ts';
import { senderOf, type InboxSender } from './sender.ts';

/** Everything that one mail is made of, with what it quotes in its texts. */
interface Parts {
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
  files: DraftAttachment[];
}

const OURS: ReadonlySet<string> = new Set(['in-reply-to', 'references', 'reply-to']);

/** What says where a mail belongs is ours alone to write. */
function mustLeaveOurs(headers: Record<string, string> | null): void {
  const name = Object.keys(headers ?? {}).find((one) => OURS.has(one.toLowerCase()));
  if (name === undefined) return;
  throw invalidField(
    `headers.${name}`,
    `The header ${JSON.stringify(name)} is set by the service and cannot be set here.`,
  );
}

const conversationIn = (headers: Parts['headers']): string | undefined =>
  readThreadIndex(headers.find(([name]) => name === 'Thread-Index')?.[1] ?? '')?.conversation;

async function assemble(ctx: Ctx<World>, inbox: InboxRow, written: WrittenMail, parts: Parts): Promise<ComposedMail> {
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
  // Before the transaction, which others wait for.
  const text = await readWords(ctx, written);
  const participants = draft.recipients.map(({ address }) => normalizeAddress(address));
  return {
    id,
    draft: sent,
    async beside(tx, email) {
      return putSent(ctx, tx, email, {
        ...{ inboxId: inbox.id, threadId: parts.threadId, isNewThread: parts.isNewThread },
        text,
        keys: idsToKeepOfSent(email.message_id, conversationIn(ours)),
        participants: participants.filter((address) => !sender.own.has(address)),
        subjectKey: subjectToKeep(parts.subject),
      });
    },
  };
}

/** Returns what was written as text, for the thread's preview and search. */
async function readWords({ store, teamId }: Ctx<World>, { text, html }: WrittenMail): Promise<string> {
  if (text !== null || html === null) return text ?? '';
  return store.texts.run({ teamId, chars: html.length, task: makeText }, html);
}

/** New mail, which begins a thread. */
export async function composeNew(
  ctx: Ctx<World>,
  inbox: InboxRow,
  written: WrittenMail & { to: string[]; subject: string },
): Promise<ComposedMail> {
  const threadId = ctx.store.ids.uuid();
  const sender = senderOf(ctx.store, inbox, { threadId, original: undefined });
  return assemble(ctx, inbox, written, {
    ...{ id: ctx.store.ids.uuid(), threadId, isNewThread: true, sender, headers: [] },
    ...{ to: written.to, cc: written.cc, subject: written.subject, files: written.files },
    ...signBelow(written, inbox.signature),
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
  mustSaySomething(written);
  const { store } = ctx;
  const sender = senderOf(store, inbox, { threadId: thread.id, original });
  const recipients = replyRecipients(original, { own: sender.own, all: isToAll });
  const to = written.to ?? recipients.to;
  if (to.length === 0) throw nobodyToAnswer();
  if (!written.to) mustBeFewEnough(recipients, written, isToAll);
  const mail = await assemble(ctx, inbox, written, {
    ...{ id: store.ids.uuid(), threadId: thread.id, isNewThread: false, sender },
    ...{ to, cc: written.to ? written.cc : [...recipients.cc, ...written.cc], files: written.files },
    subject: written.subject ?? replySubject(original.subject),
    headers: replyFields(original, { now: store.clock.now(), random: Math.floor(store.random() * 256) }),
    ...quoteBelow(written, quoted(original), inbox.signature),
  });
  const answered = unlessInLoop(ctx, mail, thread);
  return isAutomatic(written.headers)
    ? answeredByMachine(ctx, answered, { inbox, thread, original, sender })
    : answered;
}

/** An email of a thread with its files, for somebody else. */
export async function composeForward(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { thread, original, written }: Answering,
): Promise<ComposedMail> {
  if (isAutomatic(written.headers)) {
    throw invalidField(
      'headers.Auto-Submitted',
      'A forward is written by a person: it takes no header Auto-Submitted.',
    );
  }
  const { store } = ctx;
  const sender = senderOf(store, inbox, { threadId: thread.id, original });
  const words = written.html === null && written.text === null ? { ...written, text: '' } : written;
  const mail = await assemble(ctx, inbox, words, {
    ...{ id: store.ids.uuid(), threadId: thread.id, isNewThread: false, sender, headers: [] },
    ...{ to: written.to ?? [], cc: written.cc, subject: written.subject ?? forwardSubject(original.subject) },
    files: [...written.files, ...(await filesOf(store, original.files))],
    ...forwardBelow(words, quoted(original), inbox.signature),
  });
  return unlessInLoop(ctx, mail, thread);
}

const quoted = ({ from, to, cc, subject, at, text, html }: Original): QuotedMessage => ({
  ...{ from, to, cc, subject, text, html },
  at: new Date(at),
});

function mustSaySomething({ html, text }: WrittenMail): void {
  if (html !== null || text !== null) return;
  throw refuse('missing_required_field', { say: 'Missing required field: html or text. At least one is needed.' });
}

/** The person who answers did not write these recipients: what is said names what they can change. */
function mustBeFewEnough(
  { to, cc }: { to: readonly string[]; cc: readonly string[] },
  written: WrittenMail,
  isToAll: boolean,
): void {
  const [theirs, own] = [to.length + cc.length, written.cc.length + written.bcc.length];
  if (theirs + own <= RECIPIENTS_MAX) return;
  const path = isToAll && cc.length > 0 ? 'reply_all' : 'cc';
  const whom = path === 'reply_all' ? 'an answer to all goes to' : 'the email asks to be answered at';
  const more = own === 0 ? '' : `, and cc and bcc name ${own} more`;
  const instead = path === 'reply_all' ? 'leave reply_all out, or ' : '';
  const message = `${path}: ${whom} ${theirs} addresses${more}; an email may have at most ${RECIPIENTS_MAX} recipients: ${instead}write a draft with to and cc.`;
  throw invalidFields([{ path, message }]);
}

const nobodyToAnswer = () =>
  refuse('validation_error', {
    status: 422,
    say: 'The email names nobody but the inbox to whom an answer could go; forward it instead, or write a draft with to.',
  });
