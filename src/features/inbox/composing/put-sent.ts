import { recordEvents, type InboxEmailData, type NewEvent } from '../../../mail/events/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { attachmentsOf, type EmailRow } from '../../../mail/emails/index.ts';
import {
  addToThread,
  insertThread,
  labelsOfThreads,
  lockThread,
  shownFolder,
  sourceOf,
  threadData,
  type InboxMail,
  type StoredFolder,
  type ThreadRow,
} from '../inbox-rows/index.ts';
import { readList } from '../../../mail/received-emails/index.ts';

/** A mail that an inbox sends, as its thread keeps it. */
export interface Sending {
  inboxId: string;
  /** Of a new thread, the id that the mail names already. */
  threadId: string;
  isNewThread: boolean;
  /** What is new in its text, without what it quotes. */
  text: string;
  keys: InboxMail['keys'];
  participants: readonly string[];
  subjectKey: string;
}

/**
 * Puts a mail that was accepted into its thread, in the same transaction. The thread is locked behind the counters of its
 * team, as where mail is received. Answers what every event of the mail says.
 */
export async function putSent(
  ctx: Ctx<World>,
  tx: Executor,
  email: EmailRow,
  sending: Sending,
): Promise<InboxEmailData> {
  const { inboxId, threadId, isNewThread } = sending;
  const mail = mailOf(email, sending);
  const before = isNewThread ? undefined : await lockThread(tx, inboxId, threadId);
  if (!isNewThread && !before) throw notFound('Thread');
  const thread = before
    ? await addToThread(tx, before, mail, folderAfter(before.folder))
    : await insertThread(tx, { id: threadId, folder: 'sent' }, mail);
  const files = email.attachment_count > 0 ? await attachmentsOf(tx, [email.id]) : [];
  const about = threadData(sourceOf(ctx.actor), thread, await labelsOfThreads(tx, [thread.id]));
  const data: InboxEmailData = {
    ...about,
    email_id: email.id,
    email: {
      ...{ id: email.id, direction: 'outbound', from: mail.from, to: mail.to, cc: mail.cc, bcc: mail.bcc },
      reply_to: readList(email.reply_to_list),
      subject: email.subject === '' ? null : email.subject,
      message_id: email.message_id,
      attachments: files.map(({ id, filename, size }) => ({ id, filename, size: Number(size) })),
      ...{ read: true, received_at: isoTime(mail.at) },
    },
  };
  await recordEvents(tx, ctx.store.ids, eventsOf({ before, thread, data, at: mail.at }));
  return data;
}

function eventsOf({
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
  // By the email, so that they are erased with it.
  const about = { teamId: thread.team_id, subjectId: data.email_id, at };
  const events: NewEvent[] = [];
  if (!before) events.push({ ...about, type: 'inbox.thread.created', data });
  const [from, to] = [before && shownFolder(before.folder), shownFolder(thread.folder)];
  if (from === 'trash' && to === 'inbox') {
    const { source, inbox_id, thread_id, thread: shown } = data;
    const moved = { source, inbox_id, thread_id, thread: shown, from, to };
    events.push({ ...about, type: 'inbox.thread.folder.updated', data: moved });
  }
  events.push({ ...about, type: 'inbox.email.sent', data });
  return events;
}

/** The person who answers wants to see what comes back: what is snoozed wakes, and what was thrown away is wanted again. */
const folderAfter = (folder: StoredFolder): StoredFolder =>
  folder === 'snoozed' || folder === 'trash' ? 'inbox' : folder;

const mailOf = (email: EmailRow, { inboxId, text, keys, participants, subjectKey }: Sending): InboxMail => ({
  ...{ inboxId, teamId: email.team_id, emailId: email.id, direction: 'outbound', at: Number(email.created_at) },
  ...{ from: email.sender, to: readList(email.to_list), cc: readList(email.cc_list), bcc: readList(email.bcc_list) },
  ...{ subject: email.subject, text, hasAttachment: email.attachment_count > 0, keys, participants, subjectKey },
});
