import { invalidField, invalidFields, refuse, notFound } from '../../../platform/refusal.ts';
import { makeText } from '../../../platform/text-thread/index.ts';
import type { World } from '../../../platform/world.ts';
import { normalizeAddress, formatMailbox, parseMailbox, splitAddress } from '../../../protocol/address/index.ts';
import {
  forwardBelow,
  forwardSubject,
  quoteBelow,
  readThreadIndex,
  replyFields,
  replyRecipients,
  replySubject,
  signBelow,
  htmlOfText,
  replyAddress,
  withoutReplyToken,
  type QuotedMessage,
} from '../../../protocol/reply-message/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  readEmail,
  RECIPIENTS_MAX,
  listEmailAttachments,
  type DraftAttachment,
  type EmailRow,
  type EmailDraft,
} from '../../../mail/emails/index.ts';
import { addToThread, insertThread, labelsOfThreads, lockThread } from '../store/threads.store.ts';
import { shownFolder, toEventSource, threadData } from '../store/present.ts';
import { automaticAnswersTo, isAnsweredByMachine, isInboxHere } from '../store/automatic-answers.store.ts';
import type { InboxRow, ThreadRow, InboxMail, StoredFolder } from '../store/rows.ts';
import { idsToKeepOfSent, subjectToKeep, readSenderProof } from '../rules/which-thread.ts';
import { findNoAnswerReason, type AnswerLoop, type NoAutomaticAnswer } from '../rules/automatic-answers.ts';
import { reuseFiles, type Original } from './original.ts';
import { recordEvents, type InboxEmailData, type NewEvent } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { readList } from '../../../mail/received-emails/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';
import { headersOfAutomaticAnswer, machineSigns, type MachineSign } from '../../../protocol/automatic-mail.ts';
import { answerLoopIn } from '../threads/read-threads.ts';
import { listInboxKeys } from '../inboxes.ts';

/** Limit of automatic replies to one address, from all inboxes of a team, within 24 hours. */
const PER_SENDER_AND_DAY = 4;
const DAY_MS = 86_400_000;

/** RFC 3834 §5: an automatic reply declares itself in this header. */
const isAutomatic = (headers: Record<string, string> | null): boolean =>
  Object.entries(headers ?? {}).some(
    ([name, value]) => name.toLowerCase() === 'auto-submitted' && !/^no(?:$|[\s;(])/i.test(value.trim()),
  );

interface Answered {
  inbox: InboxRow;
  thread: ThreadRow;
  original: Original;
  sender: InboxSender;
}

/**
 * Marks a reply that a program wrote and sends it only if it makes no loop; this is checked in the transaction, so that
 * two concurrent replies cannot both be the last.
 */
function answeredByMachine(ctx: Ctx<World>, mail: ComposedMail, answered: Answered): ComposedMail {
  const named = new Set(mail.draft.headers.map(([name]) => name.toLowerCase()));
  const marks = headersOfAutomaticAnswer(mail.draft.from.address).filter(([name]) => !named.has(name.toLowerCase()));
  return {
    ...mail,
    draft: { ...mail.draft, headers: [...mail.draft.headers, ...marks] },
    async writeRows(tx, email) {
      const to = mail.draft.recipients.map(({ address }) => normalizeAddress(address));
      for (const address of to) await mustMakeNoLoop(ctx, tx, { ...answered, to: address });
      return mail.writeRows(tx, email);
    },
  };
}

/**
 * Refuses mail in a reply loop, since a program may write without marking its mail. A signed-in person is never
 * stopped: people read what they reply to. Replies are counted while the counters of the team are locked, so that two
 * concurrent ones cannot both be the last.
 */
function unlessInLoop(ctx: Ctx<World>, mail: ComposedMail, { id }: Pick<ThreadRow, 'id'>): ComposedMail {
  if (ctx.actor.kind === 'session') return mail;
  return {
    ...mail,
    async writeRows(tx, email) {
      const loop = await answerLoopIn(tx, id, ctx.store.clock.now());
      if (loop) throw inLoop(loop);
      return mail.writeRows(tx, email);
    },
  };
}

const inLoop = ({ address, until, rounds, within }: AnswerLoop) =>
  refuse('validation_error', {
    status: 422,
    say: `${address} got ${rounds} replies within ${within} in this thread, each after new mail, so two programs may be replying to each other. Programs can send here again after ${isoTime(until)}; a person who is signed in can send at any time.`,
  });

async function mustMakeNoLoop(
  ctx: Ctx<World>,
  tx: Executor,
  { thread, original, sender, to }: Answered & { to: string },
): Promise<void> {
  const { teamId, store } = ctx;
  const sinceId = firstIdAt(store.clock.now() - DAY_MS);
  const answers = await automaticAnswersTo(tx, teamId, { address: to, sinceId });
  const isOurs = original.direction === 'outbound';
  const isHere = await isInboxHere(tx, splitAddress(to)?.domain ?? '', listInboxKeys(to));
  const why = findNoAnswerReason({
    mail: { proof: readSenderProof(original.authentication), ownAddresses: sender.own },
    to,
    named: isOurs ? [...sender.own] : [...original.to, ...original.cc].map(bare),
    signs: isOurs ? [] : findMachineSigns(original, sender),
    isSpam: thread.folder === 'spam',
    isInboxHere: () => isHere,
    counts: {
      toSenderOfDay: answers.length,
      toMessage: answers.filter((headers) => original.messageId !== '' && headers.includes(original.messageId)).length,
      inThread: (await isAnsweredByMachine(tx, thread.id)) ? 1 : 0,
    },
    limits: { perSenderAndDay: PER_SENDER_AND_DAY },
  });
  if (why === undefined) return;
  throw refuse('validation_error', { status: 422, say: `No automatic reply is sent to ${to}: ${REASONS[why]}` });
}

function findMachineSigns(original: Original, { own }: InboxSender): MachineSign[] {
  const { from, to, cc, replyTo, subject, messageId, headers, mailFrom = '' } = original;
  const read = { isRead: true as const, headers: { ...headers }, html: null, text: null, parts: [] };
  const reading = { from, to, cc, bcc: [], replyTo, subject, messageId, ...read };
  return machineSigns(reading, { mailFrom, ownAddresses: own });
}

function bare(written: string): string {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok ? normalizeAddress(withoutReplyToken(parsed.mailbox.address)) : '';
}

const REASONS: Record<NoAutomaticAnswer, string> = {
  'auto-submitted': 'the email states that a program sent it.',
  'answer-header': 'the email is itself an automatic reply.',
  'null-sender': 'the email has no envelope sender, which is typical of delivery notices.',
  subject: 'the subject of the email is typical of an automatic reply.',
  bulk: 'the email is bulk mail.',
  list: 'the email came through a mailing list.',
  suppressed: 'the email requests no automatic replies.',
  'no-reply': 'its sender address does not accept replies.',
  loop: 'this inbox has already replied to the email.',
  'no-sender': 'the email has no sender.',
  'own-inbox': 'it is itself an inbox.',
  spam: 'the thread is spam.',
  'forged-sender': 'the sender of the email is forged.',
  'not-addressed': 'the email does not name the inbox as a recipient.',
  answered: 'an automatic reply to this email was already sent.',
  'answered-thread': 'an automatic reply was sent in the thread, and nobody has written in it since.',
  limit: `it got ${PER_SENDER_AND_DAY} automatic replies within 24 hours, which is the limit.`,
};

const EVERY = '*@';

/** Sender names of an inbox, and the address for replies. */
interface InboxSender {
  from: string;
  replyTo: string | undefined;
  /** Addresses of the inbox, normalized for comparison. */
  own: ReadonlySet<string>;
}

/**
 * Returns the sender of a mail. The inbox of a whole domain writes from the address that was written to, so it can only
 * reply.
 */
function chooseSender(
  world: World,
  inbox: InboxRow,
  { threadId, original }: { threadId: string; original: Original | undefined },
): InboxSender {
  const address = inbox.address.startsWith(EVERY) ? addressedIn(inbox, original) : inbox.address;
  if (address === undefined) {
    const say = `${inbox.address} covers every address of its domain; it can only reply to mail that one of them received.`;
    throw invalidField('inbox', say);
  }
  const name = inbox.from_name ?? inbox.name ?? '';
  // If mail arrives at another server first, that server may not know addresses with a tag.
  const token =
    inbox.receiving_address === null
      ? replyAddress(address, { inboxId: inbox.id, threadId }, { now: world.clock.now(), mac: createMac(world) })
      : undefined;
  const own = [address, inbox.address, inbox.receiving_address ?? address].map(normalizeAddress);
  return {
    from: formatMailbox({ name, address }),
    replyTo: token === undefined ? undefined : formatMailbox({ name, address: token }),
    own: new Set(own),
  };
}

const createMac =
  ({ secrets }: World) =>
  (bytes: Uint8Array): Buffer =>
    secrets.mac('inbox reply address', bytes);

function addressedIn(inbox: InboxRow, original: Original | undefined): string | undefined {
  const domain = inbox.address.slice(EVERY.length).toLowerCase();
  const among =
    original?.direction === 'outbound' ? [original.from] : [...(original?.receivedFor ?? []), ...(original?.to ?? [])];
  return among
    .flatMap((written) => {
      const parsed = parseMailbox(written);
      return parsed.ok ? [withoutReplyToken(parsed.mailbox.address)] : [];
    })
    .find((address) => splitAddress(address)?.domain.toLowerCase() === domain);
}

/** All parts of one mail; its texts include the quote. */
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
  /** Headers that we set, such as those that name the mail replied to. */
  headers: [name: string, value: string][];
  files: DraftAttachment[];
}

const OURS: ReadonlySet<string> = new Set(['in-reply-to', 'references', 'reply-to']);

/** Refuses headers that place a mail in its conversation: only we set those. */
function mustLeaveOurs(headers: Record<string, string> | null): void {
  const name = Object.keys(headers ?? {}).find((one) => OURS.has(one.toLowerCase()));
  if (name === undefined) return;
  throw invalidField(`headers.${name}`, `The header ${JSON.stringify(name)} is set by the service; omit it.`);
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
      from: sender.from,
      to: parts.to,
      cc: parts.cc,
      bcc: written.bcc,
      subject: parts.subject,
      html: parts.html,
      text: parts.text,
      headers: written.headers ?? {},
      reply_to: sender.replyTo ?? null,
    },
    ctx.store.clock.now(),
  );
  const sent = { ...draft, headers: [...draft.headers, ...ours], attachments: parts.files };
  // Runs before the transaction, which others wait for.
  const text = await readWords(ctx, written);
  const participants = draft.recipients.map(({ address }) => normalizeAddress(address));
  return {
    id,
    draft: sent,
    async writeRows(tx, email) {
      return putSent(ctx, tx, email, {
        inboxId: inbox.id,
        threadId: parts.threadId,
        isNewThread: parts.isNewThread,
        text,
        keys: idsToKeepOfSent(email.message_id, conversationIn(ours)),
        participants: participants.filter((address) => !sender.own.has(address)),
        subjectKey: subjectToKeep(parts.subject),
        sentBy: ctx.actor.kind === 'session' ? ctx.actor.userId : undefined,
      });
    },
  };
}

/** Returns what was written as text, for the thread's preview and search. */
async function readWords({ store, teamId }: Ctx<World>, { text, html }: WrittenMail): Promise<string> {
  if (text !== null || html === null) return text ?? '';
  return store.texts.run({ teamId, chars: html.length, task: makeText }, html);
}

/** Composes new mail, which begins a thread. */
export async function composeNew(
  ctx: Ctx<World>,
  inbox: InboxRow,
  written: WrittenMail & { to: string[]; subject: string },
): Promise<ComposedMail> {
  const threadId = ctx.store.ids.uuid();
  const sender = chooseSender(ctx.store, inbox, { threadId, original: undefined });
  return assemble(ctx, inbox, written, {
    id: ctx.store.ids.uuid(),
    threadId,
    isNewThread: true,
    sender,
    headers: [],
    to: written.to,
    cc: written.cc,
    subject: written.subject,
    files: written.files,
    ...signBelow(written, inbox.signature),
  });
}

interface Answering {
  thread: ThreadRow;
  original: Original;
  written: WrittenMail;
}

/** Returns the first recipient of a reply to an email, as a mailbox; undefined if nobody can get one. */
export function findCustomer(
  world: World,
  inbox: InboxRow,
  { thread, original }: Pick<Answering, 'thread' | 'original'>,
): string | undefined {
  const { own } = chooseSender(world, inbox, { threadId: thread.id, original });
  return replyRecipients(original, { own, all: false }).to[0];
}

/** Composes a reply to an email of a thread: to its reply address, or to the recipients named instead. */
export async function composeAnswer(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { thread, original, written, isToAll }: Answering & { isToAll: boolean },
): Promise<ComposedMail> {
  mustHaveText(written);
  const { store } = ctx;
  const sender = chooseSender(store, inbox, { threadId: thread.id, original });
  const recipients = replyRecipients(original, { own: sender.own, all: isToAll });
  const to = written.to ?? recipients.to;
  if (to.length === 0) throw nobodyToAnswer();
  if (!written.to) mustBeFewEnough(recipients, written, isToAll);
  const mail = await assemble(ctx, inbox, written, {
    id: store.ids.uuid(),
    threadId: thread.id,
    isNewThread: false,
    sender,
    to,
    cc: written.to ? written.cc : [...recipients.cc, ...written.cc],
    files: written.files,
    subject: written.subject ?? replySubject(original.subject),
    headers: replyFields(original, { now: store.clock.now(), random: Math.floor(store.random() * 256) }),
    ...quoteBelow(written, quoted(original), inbox.signature),
  });
  const answered = unlessInLoop(ctx, mail, thread);
  return isAutomatic(written.headers)
    ? answeredByMachine(ctx, answered, { inbox, thread, original, sender })
    : answered;
}

/** Composes a forward of an email of a thread, with its files. */
export async function composeForward(
  ctx: Ctx<World>,
  inbox: InboxRow,
  { thread, original, written }: Answering,
): Promise<ComposedMail> {
  if (isAutomatic(written.headers)) {
    throw invalidField('headers.Auto-Submitted', 'A forward cannot have the header Auto-Submitted; omit it.');
  }
  const { store } = ctx;
  const sender = chooseSender(store, inbox, { threadId: thread.id, original });
  const text = written.html === null ? (written.text ?? '') : written.text;
  // A text alone would lose the tables and links of a forwarded HTML message.
  const isHtmlKept = written.html === null && original.html !== null;
  const words = { ...written, text, html: isHtmlKept ? htmlOfText(text ?? '') : written.html };
  const mail = await assemble(ctx, inbox, words, {
    id: store.ids.uuid(),
    threadId: thread.id,
    isNewThread: false,
    sender,
    headers: [],
    to: written.to ?? [],
    cc: written.cc,
    subject: written.subject ?? forwardSubject(original.subject),
    files: [...written.files, ...(await reuseFiles(store, original.files))],
    ...forwardBelow(words, quoted(original), inbox.signature),
  });
  return unlessInLoop(ctx, mail, thread);
}

const quoted = ({ from, to, cc, subject, at, text, html }: Original): QuotedMessage => ({
  from,
  to,
  cc,
  subject,
  text,
  html,
  at: new Date(at),
});

function mustHaveText({ html, text }: WrittenMail): void {
  if (html !== null || text !== null) return;
  throw refuse('missing_required_field', {
    say: 'Missing required field: html or text. Send at least one of them, or a template.',
  });
}

/** The author of the reply did not choose these recipients: the message names the fields that the author can change. */
function mustBeFewEnough(
  { to, cc }: { to: readonly string[]; cc: readonly string[] },
  written: WrittenMail,
  isToAll: boolean,
): void {
  const theirs = to.length + cc.length;
  const own = written.cc.length + written.bcc.length;
  if (theirs + own <= RECIPIENTS_MAX) return;
  const path = isToAll && cc.length > 0 ? 'reply_all' : 'cc';
  const whom = path === 'reply_all' ? 'a reply to all goes to' : 'the email requests replies to';
  const more = own === 0 ? '' : `, and cc and bcc name ${own} more`;
  const instead = path === 'reply_all' ? 'omit reply_all, or ' : '';
  const message = `${path}: ${whom} ${theirs} addresses${more}; an email may have at most ${RECIPIENTS_MAX} recipients: ${instead}create a draft with to and cc.`;
  throw invalidFields([{ path, message }]);
}

const nobodyToAnswer = () =>
  refuse('validation_error', {
    status: 422,
    say: 'The email has no address to reply to other than the inbox itself; forward it, or create a draft with to.',
  });

/** Parts of a mail that the author writes; the others are generated. */
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
  writeRows(tx: Executor, email: EmailRow): Promise<InboxEmailData>;
}

/** Mail that an inbox sends, as its thread stores it. */
interface Sending {
  inboxId: string;
  /** Id of the thread; for a new one, the id that the mail already names. */
  threadId: string;
  isNewThread: boolean;
  /** New text, without the quote. */
  text: string;
  keys: InboxMail['keys'];
  participants: readonly string[];
  subjectKey: string;
  sentBy: string | undefined;
}

/**
 * Puts an accepted mail into its thread, in the same transaction. Locks the thread after the counters of its team, in
 * the same order as receiving. Returns the data that every event of the mail contains.
 */
async function putSent(ctx: Ctx<World>, tx: Executor, email: EmailRow, sending: Sending): Promise<InboxEmailData> {
  const { inboxId, threadId, isNewThread } = sending;
  const files = email.attachment_count > 0 ? await listEmailAttachments(tx, [email.id]) : [];
  const mail = buildInboxMail(
    email,
    sending,
    files.map(({ filename }) => filename),
  );
  const before = isNewThread ? undefined : await lockThread(tx, inboxId, threadId);
  if (!isNewThread && !before) throw notFound('Thread');
  const thread = before
    ? await addToThread(tx, before, mail, folderAfter(before.folder))
    : await insertThread(tx, { id: threadId, folder: 'sent' }, mail);
  const about = threadData(toEventSource(ctx.actor), thread, await labelsOfThreads(tx, [thread.id]));
  const data: InboxEmailData = {
    ...about,
    email_id: email.id,
    email: {
      id: email.id,
      direction: 'outbound',
      from: mail.from,
      to: mail.to,
      cc: mail.cc,
      bcc: mail.bcc,
      reply_to: readList(email.reply_to_list),
      subject: email.subject === '' ? null : email.subject,
      message_id: email.message_id,
      attachments: files.map(({ id, filename, size }) => ({ id, filename, size: Number(size) })),
      read: true,
      received_at: isoTime(mail.at),
    },
  };
  await recordEvents(tx, ctx.store.ids, buildEvents({ before, thread, data, at: mail.at }));
  return data;
}

function buildEvents({
  before,
  thread,
  data,
  at,
}: {
  before: ThreadRow | undefined;
  thread: ThreadRow;
  data: InboxEmailData;
  at: number;
}): NewEvent[] {
  // The email is the subject, so that the events are erased with it.
  const about = { teamId: thread.team_id, subjectId: data.email_id, at };
  const events: NewEvent[] = [];
  if (!before) events.push({ ...about, type: 'inbox.thread.created', data });
  const from = before && shownFolder(before.folder);
  const to = shownFolder(thread.folder);
  if (from === 'trash' && to === 'inbox') {
    const { source, inbox_id, thread_id, thread: shown } = data;
    const moved = { source, inbox_id, thread_id, thread: shown, from, to };
    events.push({ ...about, type: 'inbox.thread.folder.updated', data: moved });
  }
  events.push({ ...about, type: 'inbox.email.sent', data });
  return events;
}

/**
 * Returns the folder of a thread after a reply: a snoozed thread wakes, and one in the trash or of machines moves to the inbox,
 * because the author wants to see the response.
 */
const folderAfter = (folder: StoredFolder): StoredFolder =>
  folder === 'snoozed' || folder === 'trash' || folder === 'automatic' ? 'inbox' : folder;

const buildInboxMail = (
  email: EmailRow,
  { inboxId, text, keys, participants, subjectKey, sentBy }: Sending,
  fileNames: readonly string[],
): InboxMail => ({
  inboxId,
  teamId: email.team_id,
  emailId: email.id,
  direction: 'outbound',
  at: Number(email.created_at),
  sentBy,
  from: email.sender,
  to: readList(email.to_list),
  cc: readList(email.cc_list),
  bcc: readList(email.bcc_list),
  subject: email.subject,
  text,
  fileNames,
  keys,
  participants,
  subjectKey,
});
