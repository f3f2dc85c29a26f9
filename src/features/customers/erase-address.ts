import type { EraseAddressRequest, Erasure } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import type { Executor, Row } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { foldAccents, foldForSearch } from '../../mail/emails/index.ts';
import { eraseEvents } from '../../mail/events/index.ts';
import { readSubject } from '../../protocol/reply-message/index.ts';
import { RAW_BLOB } from '../../mail/received-emails/index.ts';
import { suppressionsAmong } from '../../mail/suppressions/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { addStorage, lockStorage } from '../../tenancy/usage/index.ts';
import { eraseContact, eraseSignUps } from '../audience/index.ts';
import { eraseRecipient } from '../campaigns/index.ts';
import { buildSnippet } from '../inbox/index.ts';
import {
  ERASED,
  eraseFromHead,
  findCommonPart,
  isAddress,
  replaceAddress,
  replaceInJson,
  replaceMailbox,
} from './address-in-text.ts';
import {
  change,
  eraseElsewhere,
  eraseFromEvents,
  eraseLastEvent,
  remove,
  without,
  type Erasing,
} from './erase-elsewhere.ts';
import {
  changeRows,
  emailsOfThread,
  hasInboxAt,
  isAtOwnDomain,
  lockThreadRow,
  readRows,
  searchRows,
  textOfMail,
  type ThreadMail,
} from './erased-mail.store.ts';
import { ErasureCounts, listKept, listNotSearched } from './erasure-report.ts';

const ERASED_SUBJECT = '(erased)';

/**
 * Erases a person by address, email by email, each in one transaction: a call that is interrupted can be repeated. The
 * contact goes last, so that it can be found again until everything else is erased.
 */
export async function eraseAddress(ctx: Ctx, input: EraseAddressRequest): Promise<Erasure> {
  const { store, teamId } = ctx;
  const emailKey = readAddress(input.email);
  const erasing: Erasing = { store, teamId, emailKey, erased: new ErasureCounts() };
  const counts = { emails: 0, canceled: 0, received_emails: 0, drafts: 0, skipped: 0 };
  const withMail = input.with_mail === true;
  if (withMail) {
    await mustNotSend(erasing);
    await eraseSent(erasing, counts);
    await eraseReceived(erasing, counts);
    const { drafts, openImports } = await eraseElsewhere(erasing);
    counts.drafts = drafts;
    counts.skipped += openImports;
  }
  const contact = await eraseContactAt(ctx, erasing);
  return {
    object: 'erasure',
    contact,
    ...counts,
    is_suppressed: (await suppressionsAmong(store.db, [[teamId, emailKey]])).length > 0,
    erased: erasing.erased.list(),
    kept: await listKept(erasing, { withMail }),
    not_searched: withMail ? listNotSearched() : [],
  };
}

/** Reads the address of a person, in the form in which addresses are compared. */
export function readAddress(email: string): string {
  const parsed = parseMailbox(email);
  if (!parsed.ok) throw refuse('validation_error', { status: 422, say: `email: ${parsed.fault}` });
  return normalizeAddress(parsed.mailbox.address);
}

/** Refuses an address from which the team writes: its mail is that of other people. */
async function mustNotSend(erasing: Erasing): Promise<void> {
  const { store, teamId, emailKey } = erasing;
  if (!(await isAtOwnDomain(store.db, teamId, emailKey))) return;
  let isSender = await hasInboxAt(store.db, teamId, emailKey);
  await eachMail(erasing, 'emails', (row) => {
    isSender ||= isAddress(String(row.sender), emailKey);
    return Promise.resolve();
  });
  if (!isSender) return;
  throw refuse('validation_error', {
    status: 422,
    say: `email: this team sends mail from ${emailKey}; erasing it would erase mail to other people. Omit with_mail to erase only the contact, or delete single emails.`,
  });
}

/** Erases the contact with the address; returns its id, null if there is none. */
async function eraseContactAt(ctx: Ctx, erasing: Erasing): Promise<string | null> {
  const { teamId, emailKey } = erasing;
  erasing.erased.remove('form_sign_ups', await ctx.store.db.tx((tx) => eraseSignUps(tx, teamId, emailKey)));
  try {
    const { id, erased } = await eraseContact(ctx, emailKey);
    for (const [table, rows] of Object.entries(erased)) erasing.erased.remove(table, rows);
    await eraseLastEvent(erasing, id);
    return id;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName !== 'not_found') throw error;
    // Its recipient rows can outlive a contact whose address was changed.
    const rows = await ctx.store.db.tx((tx) => eraseRecipient(tx, teamId, emailKey));
    erasing.erased.remove('broadcast_recipients', rows);
    return null;
  }
}

interface Lists {
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
  reply_to_list: string | null;
  isChanged: boolean;
  /** The number of other recipients. */
  left: number;
}

function readLists(row: Row, emailKey: string): Lists {
  const to = without(row.to_list, emailKey);
  const cc = without(row.cc_list, emailKey);
  const bcc = without(row.bcc_list, emailKey);
  const replyTo = without(row.reply_to_list, emailKey);
  return {
    // A list of recipients is never empty.
    to_list: to?.left === 0 ? JSON.stringify([ERASED]) : (to?.text ?? '[]'),
    cc_list: cc?.text ?? null,
    bcc_list: bcc?.text ?? null,
    reply_to_list: replyTo.left > 0 ? replyTo.text : null,
    isChanged: [to, cc, bcc, replyTo].some((list) => list?.isChanged === true),
    left: (to?.left ?? 0) + (cc?.left ?? 0) + (bcc?.left ?? 0),
  };
}

type Counts = Pick<Erasure, 'emails' | 'canceled' | 'received_emails' | 'drafts' | 'skipped'>;

/** Reads all mail in whose addresses the address may be; `erase` decides by comparing addresses. */
async function eachMail(
  { store, teamId, emailKey }: Erasing,
  table: 'emails' | 'received_emails',
  erase: (row: Row) => Promise<void>,
): Promise<void> {
  const text = findCommonPart(emailKey);
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const { rows, lastId } = await searchRows(store.db, table, { teamId, afterId, text });
    for (const row of rows) await erase(row);
    afterId = lastId;
    await nextTurn();
  }
}

const eraseSent = (erasing: Erasing, counts: Counts): Promise<void> =>
  eachMail(erasing, 'emails', async (row) => {
    const { store, emailKey } = erasing;
    const lists = readLists(row, emailKey);
    const isSender = isAddress(String(row.sender), emailKey);
    if (!lists.isChanged && !isSender) return;
    const id = String(row.id);
    const isWhole = isSender || lists.left === 0;
    // Nothing of it can be claimed from here on.
    const done = await store.db.tx(async (tx) => {
      const deliveries = await readRows<DeliveryRow>(tx, { table: 'deliveries', key: { email_id: id } });
      if (deliveries.some(({ lease_owner: owner }) => owner !== null)) return undefined;
      const canceled = await cancelFor(tx, erasing, { deliveries, isWhole });
      if (canceled && isWhole)
        await changeRows(tx, { table: 'emails', key: { id } }, { last_event: 'canceled', scheduled_at: null });
      return { canceled };
    });
    if (!done) {
      counts.skipped += 1;
      return;
    }
    // The files go before the addresses by which a repeated call finds the email.
    if (isWhole) await store.blobs.remove(id);
    await store.db.tx((tx) =>
      isWhole ? eraseWholeEmail(tx, erasing, { row, lists, isSender }) : eraseOneRecipient(tx, erasing, { row, lists }),
    );
    counts.emails += 1;
    if (done.canceled) counts.canceled += 1;
  });

interface DeliveryRow {
  id: string;
  recipients: string;
  lease_owner: string | null;
}

/** Removes what waits for the address; returns whether something did. */
async function cancelFor(
  tx: Executor,
  erasing: Erasing,
  { deliveries, isWhole }: { deliveries: readonly DeliveryRow[]; isWhole: boolean },
): Promise<boolean> {
  let isCanceled = false;
  for (const { id, recipients } of deliveries) {
    const { text, isChanged, left } = without(recipients, erasing.emailKey);
    if (!isWhole && !isChanged) continue;
    isCanceled = true;
    const at = { table: 'deliveries', key: { id } };
    if (isWhole || left === 0) await remove(tx, erasing, at);
    else await change(tx, erasing, at, { recipients: text });
  }
  return isCanceled;
}

/** The tables with further rows of an email. */
const BESIDES_AN_EMAIL: readonly [table: string, column: string][] = [
  ['email_messages', 'email_id'],
  ['email_attachments', 'email_id'],
  ['email_tags', 'email_id'],
  ['email_shares', 'email_id'],
  ['ai_diagnoses', 'email_id'],
  ['tracked_clicks', 'email_id'],
  ['delivery_attempts', 'email_id'],
  ['contents', 'owner_id'],
  ['content_files', 'owner_id'],
];

async function eraseWholeEmail(
  tx: Executor,
  erasing: Erasing,
  { row, lists, isSender }: { row: Row; lists: Lists; isSender: boolean },
): Promise<void> {
  const id = String(row.id);
  for (const [table, column] of BESIDES_AN_EMAIL) {
    // The key of tags begins with the team.
    const team: Row = table === 'email_tags' ? { team_id: erasing.teamId } : {};
    await remove(tx, erasing, { table, key: { ...team, [column]: id } });
  }
  const noBody = { html: null, text: null, html_in_blob: 0, text_in_blob: 0, shared_body_id: null, merge_values: null };
  await change(tx, erasing, { table: 'email_bodies', key: { email_id: id } }, noBody);
  await change(
    tx,
    erasing,
    { table: 'emails', key: { id } },
    {
      sender: isSender ? ERASED : (row.sender ?? ERASED),
      to_list: lists.to_list,
      cc_list: lists.cc_list,
      bcc_list: lists.bcc_list,
      reply_to_list: null,
      subject: ERASED_SUBJECT,
      headers: null,
      tags: null,
      asked: null,
      mail_from: null,
      attachment_count: 0,
      has_message: 0,
      search_text: '',
    },
  );
  erasing.erased.remove('events', await eraseEvents(tx, erasing.teamId, id));
  await eraseFromThreads(tx, erasing, { id, subject: String(row.subject) });
}

async function eraseOneRecipient(
  tx: Executor,
  erasing: Erasing,
  { row, lists }: { row: Row; lists: Lists },
): Promise<void> {
  const { emailKey } = erasing;
  const id = String(row.id);
  const { to_list, cc_list, bcc_list, reply_to_list } = lists;
  const searchText = String(row.search_text)
    .split('\n')
    .filter((part) => part !== foldForSearch(emailKey) && !isAddress(part, emailKey))
    .join('\n');
  const headers = typeof row.headers === 'string' ? replaceInJson(row.headers, emailKey) : null;
  await change(
    tx,
    erasing,
    { table: 'emails', key: { id } },
    { to_list, cc_list, bcc_list, reply_to_list, headers, search_text: searchText },
  );
  await remove(tx, erasing, { table: 'ai_diagnoses', key: { email_id: id } });
  for (const message of await readRows<{ head: string }>(tx, { table: 'email_messages', key: { email_id: id } })) {
    const head = eraseFromHead(message.head, emailKey);
    await change(tx, erasing, { table: 'email_messages', key: { email_id: id } }, { head });
  }
  await eraseFromEvents(tx, erasing, id);
  const attempts = await readRows(tx, { table: 'delivery_attempts', key: { email_id: id } });
  for (const attempt of attempts)
    await change(
      tx,
      erasing,
      { table: 'delivery_attempts', key: { email_id: id, id: attempt.id ?? null } },
      {
        recipients: replaceInJson(String(attempt.recipients), emailKey),
        transcript: typeof attempt.transcript === 'string' ? replaceAddress(attempt.transcript, emailKey) : null,
      },
    );
  await removeFromThreads(tx, erasing, id);
}

const TEXTS = ['from_text', 'to_text', 'cc_text', 'bcc_text', 'body_text'] as const;

async function changeThreadTexts(tx: Executor, erasing: Erasing, emailId: string, edit: (text: string) => string) {
  const rows = await readRows(tx, { table: 'inbox_emails', key: { email_id: emailId } });
  for (const row of rows) {
    const texts = Object.fromEntries(TEXTS.map((name) => [name, edit(String(row[name] ?? ''))]));
    const key = { inbox_id: row.inbox_id ?? null, email_id: emailId };
    await change(tx, erasing, { table: 'inbox_emails', key }, texts);
  }
  return rows.map(({ thread_id: threadId }) => String(threadId));
}

/** Removes the address from the threads of an email that other people have as well. */
async function removeFromThreads(tx: Executor, erasing: Erasing, emailId: string): Promise<void> {
  const { emailKey } = erasing;
  // A line is a mailbox or text, in the letter case and without the accents of the search.
  const edit = (text: string): string =>
    text
      .split('\n')
      .map((line) => replaceMailbox(replaceMailbox(line, emailKey), foldAccents(emailKey)))
      .join('\n');
  for (const threadId of await changeThreadTexts(tx, erasing, emailId, edit))
    await rebuildThread(tx, erasing, { threadId });
}

/** Erases what the threads with an erased email show of it. */
async function eraseFromThreads(
  tx: Executor,
  erasing: Erasing,
  { id, subject }: { id: string; subject: string },
): Promise<void> {
  for (const threadId of await changeThreadTexts(tx, erasing, id, () => ''))
    await rebuildThread(tx, erasing, { threadId, erased: { id, subject } });
}

/**
 * Shows in a thread only what the emails of other people have, without the address; one that has none of them keeps
 * nothing. `erased` is the email that was erased as a whole.
 */
async function rebuildThread(
  tx: Executor,
  erasing: Erasing,
  { threadId, erased }: { threadId: string; erased?: { id: string; subject: string } },
): Promise<void> {
  const { teamId, emailKey } = erasing;
  const thread = await lockThreadRow(tx, threadId);
  if (!thread) return;
  const all = await emailsOfThread(tx, threadId);
  const theirs = all.filter((email) => isOfOthers(email, emailKey));
  const oldest = theirs[0];
  const newest = theirs.at(-1);
  const key = { id: threadId };
  if (!oldest || !newest) {
    await change(tx, erasing, { table: 'inbox_threads', key }, ERASED_THREAD);
    await change(tx, erasing, { table: 'inbox_message_ids', key: { thread_id: threadId } }, { subject: null });
    erasing.erased.remove('events', await eraseEvents(tx, teamId, threadId));
    return;
  }
  await eraseFromEvents(tx, erasing, threadId);
  const began = erased !== undefined && erased.id < oldest.id;
  const subject = replaceAddress(began ? oldest.subject : thread.subject, emailKey);
  const isNewest = newest.id === all.at(-1)?.id;
  await change(
    tx,
    erasing,
    { table: 'inbox_threads', key },
    {
      subject,
      subject_key: subject === thread.subject ? thread.subject_key : readSubject(subject).baseWithNumbers,
      sender: newest.sender,
      to_list: withoutIn(newest.to_list, emailKey),
      cc_list: withoutIn(newest.cc_list, emailKey),
      bcc_list: withoutIn(newest.bcc_list, emailKey),
      snippet: replaceAddress(isNewest ? thread.snippet : buildSnippet(await textOfMail(tx, newest.id)), emailKey),
      notes: thread.notes === null ? null : replaceAddress(thread.notes, emailKey),
    },
  );
  if (erased === undefined || theirs.some((email) => email.subject === erased.subject)) return;
  const named = { thread_id: threadId, subject: erased.subject.slice(0, 300).toWellFormed() };
  await change(tx, erasing, { table: 'inbox_message_ids', key: named }, { subject: null });
}

const ERASED_THREAD: Row = {
  subject: ERASED_SUBJECT,
  subject_key: '',
  sender: ERASED,
  to_list: '[]',
  cc_list: '[]',
  bcc_list: '[]',
  snippet: '',
  notes: null,
};

const withoutIn = (list: string | null, emailKey: string): string => without(list, emailKey).text ?? '[]';

/** Reports whether an email has a sender or, if the team sent it, a recipient that is neither erased nor to be erased. */
function isOfOthers(email: ThreadMail, emailKey: string): boolean {
  if ([ERASED, emailKey].some((key) => isAddress(email.sender, key))) return false;
  if (email.is_received === 1) return true;
  return [email.to_list, email.cc_list, email.bcc_list].some((list) =>
    (JSON.parse(list ?? '[]') as string[]).some((one) => !isAddress(one, emailKey) && !isAddress(one, ERASED)),
  );
}

const eraseReceived = (erasing: Erasing, counts: Counts): Promise<void> =>
  eachMail(erasing, 'received_emails', async (row) => {
    const { store, teamId, emailKey } = erasing;
    const lists = readLists(row, emailKey);
    const isSender = [row.sender, row.mail_from].some((text) => isAddress(String(text), emailKey));
    if (!lists.isChanged && !isSender && !readReceivedFor(row, emailKey).isChanged) return;
    const id = String(row.id);
    await (isSender ? store.blobs.remove(id) : store.blobs.removeKeys([RAW_BLOB(id)]));
    await store.db.tx(async (tx) => {
      await lockStorage(tx, teamId);
      const { to_list, cc_list, bcc_list, reply_to_list } = lists;
      const receivedFor = readReceivedFor(row, emailKey);
      // The source names every recipient, so that it goes in either case.
      const kept: Row = { to_list, cc_list, bcc_list, reply_to_list, received_for: receivedFor.text, has_raw: 0 };
      const values = isSender ? { ...kept, ...ERASED_RECEIVED } : kept;
      await change(tx, erasing, { table: 'received_emails', key: { id } }, values);
      const body: Row = isSender ? { html: null, text: null, html_in_blob: 0, text_in_blob: 0 } : {};
      const noHeaders = { ...body, headers: null, headers_in_blob: 0 };
      await change(tx, erasing, { table: 'received_bodies', key: { received_id: id } }, noHeaders);
      const contents: Row = isSender ? { owner_id: id } : { owner_id: id, name: RAW_BLOB(id).split('/')[1] ?? '' };
      for (const table of ['contents', 'content_files']) await remove(tx, erasing, { table, key: contents });
      if (!isSender) {
        await eraseFromEvents(tx, erasing, id);
        return removeFromThreads(tx, erasing, id);
      }
      await remove(tx, erasing, { table: 'received_attachments', key: { received_id: id } });
      await addStorage(tx, teamId, -Number(row.stored_bytes));
      erasing.erased.remove('events', await eraseEvents(tx, teamId, id));
      await eraseFromThreads(tx, erasing, { id, subject: String(row.subject) });
    });
    counts.received_emails += 1;
  });

/** Returns the addresses of the team that a message was received for, without the erased one. */
function readReceivedFor(row: Row, emailKey: string): { text: string; isChanged: boolean } {
  const { text, isChanged } = without(row.received_for, emailKey);
  return { text: text ?? '[]', isChanged };
}

const ERASED_RECEIVED: Row = {
  sender: ERASED,
  sender_key: null,
  subject: ERASED_SUBJECT,
  reply_to_list: null,
  message_id: '',
  mail_from: '',
  client_address: '',
  client_name: '',
  authentication: null,
  fingerprint: null,
  attachment_count: 0,
  stored_bytes: 0,
};
