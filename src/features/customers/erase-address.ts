import type { EraseAddressRequest, Erasure } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import type { Executor, Row, Value } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { foldAccents, foldForSearch } from '../../mail/emails/index.ts';
import { eraseEvents, eraseOfEndpoints } from '../../mail/events/index.ts';
import { readSubject } from '../../protocol/reply-message/index.ts';
import { RAW_BLOB } from '../../mail/received-emails/index.ts';
import { suppressionsAmong } from '../../mail/suppressions/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { addStorage, lockStorage } from '../../tenancy/usage/index.ts';
import { deleteContact } from '../audience/index.ts';
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
  changeRows,
  emailsOfThread,
  eraseParticipant,
  hasInboxAt,
  isAtOwnDomain,
  lockThreadRow,
  lockUnsentDraft,
  readRows,
  removeRows,
  removeRowsOfOwners,
  searchMail,
  textOfMail,
  unsentDrafts,
  valuesOfImports,
  type ThreadMail,
} from './erased-mail.store.ts';

const ERASED_SUBJECT = '(erased)';

interface Person {
  teamId: string;
  emailKey: string;
}

interface Erasing extends Person {
  store: Store;
}

/**
 * Erases a person by address, email by email, each in one transaction: a call that is interrupted can be repeated. The
 * contact goes last, so that it can be found again until everything else is erased.
 */
export async function eraseAddress(ctx: Ctx, input: EraseAddressRequest): Promise<Erasure> {
  const { store, teamId } = ctx;
  const emailKey = readAddress(input.email);
  const erasing = { store, teamId, emailKey };
  const counts = { emails: 0, canceled: 0, received_emails: 0, drafts: 0, skipped: 0 };
  if (input.with_mail === true) {
    await mustNotSend(erasing);
    await eraseSent(erasing, counts);
    await eraseReceived(erasing, counts);
    await eraseElsewhere(erasing, counts);
  }
  return {
    object: 'erasure',
    contact: await eraseContact(ctx, emailKey),
    ...counts,
    is_suppressed: (await suppressionsAmong(store.db, [[teamId, emailKey]])).length > 0,
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

async function eraseContact(ctx: Ctx, emailKey: string): Promise<string | null> {
  try {
    return (await deleteContact(ctx, emailKey)).id;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName !== 'not_found') throw error;
    // Its recipient rows can outlive a contact whose address was changed.
    await ctx.store.db.tx((tx) => eraseRecipient(tx, ctx.teamId, emailKey));
    return null;
  }
}

/** Returns the addresses of a JSON list without the erased one; null stays null. */
function without(list: Value | undefined, emailKey: string): { text: string | null; isChanged: boolean; left: number } {
  if (typeof list !== 'string') return { text: null, isChanged: false, left: 0 };
  const before = JSON.parse(list) as string[];
  const after = before.filter((address) => !isAddress(address, emailKey));
  return { text: JSON.stringify(after), isChanged: after.length < before.length, left: after.length };
}

interface Lists {
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
  isChanged: boolean;
  /** The number of other recipients. */
  left: number;
}

function readLists(row: Row, emailKey: string): Lists {
  const to = without(row.to_list, emailKey);
  const cc = without(row.cc_list, emailKey);
  const bcc = without(row.bcc_list, emailKey);
  return {
    // A list of recipients is never empty.
    to_list: to?.left === 0 ? JSON.stringify([ERASED]) : (to?.text ?? '[]'),
    cc_list: cc?.text ?? null,
    bcc_list: bcc?.text ?? null,
    isChanged: [to, cc, bcc].some((list) => list?.isChanged === true),
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
    const { rows, lastId } = await searchMail(store.db, table, { teamId, afterId, text });
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
      const canceled = await cancelFor(tx, deliveries, { emailKey, isWhole });
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
  deliveries: readonly DeliveryRow[],
  { emailKey, isWhole }: { emailKey: string; isWhole: boolean },
): Promise<boolean> {
  let isCanceled = false;
  for (const { id, recipients } of deliveries) {
    const { text, isChanged, left } = without(recipients, emailKey);
    if (!isWhole && !isChanged) continue;
    isCanceled = true;
    const at = { table: 'deliveries', key: { id } };
    if (isWhole || left === 0) await removeRows(tx, at);
    else await changeRows(tx, at, { recipients: text });
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
  { teamId, emailKey }: Erasing,
  { row, lists, isSender }: { row: Row; lists: Lists; isSender: boolean },
): Promise<void> {
  const id = String(row.id);
  for (const [table, column] of BESIDES_AN_EMAIL) {
    // The key of tags begins with the team.
    if (table === 'email_tags') await removeRows(tx, { table, key: { team_id: teamId, email_id: id } });
    else await removeRows(tx, { table, key: { [column]: id } });
  }
  const noBody = { html: null, text: null, html_in_blob: 0, text_in_blob: 0, shared_body_id: null, merge_values: null };
  await changeRows(tx, { table: 'email_bodies', key: { email_id: id } }, noBody);
  await changeRows(
    tx,
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
  await eraseEvents(tx, teamId, id);
  await eraseFromThreads(tx, { teamId, emailKey }, { id, subject: String(row.subject) });
}

async function eraseOneRecipient(
  tx: Executor,
  { teamId, emailKey }: Erasing,
  { row, lists }: { row: Row; lists: Lists },
): Promise<void> {
  const id = String(row.id);
  const { to_list, cc_list, bcc_list } = lists;
  const searchText = String(row.search_text)
    .split('\n')
    .filter((part) => part !== foldForSearch(emailKey) && !isAddress(part, emailKey))
    .join('\n');
  const headers = typeof row.headers === 'string' ? replaceInJson(row.headers, emailKey) : null;
  await changeRows(
    tx,
    { table: 'emails', key: { id } },
    { to_list, cc_list, bcc_list, headers, search_text: searchText },
  );
  for (const message of await readRows<{ head: string }>(tx, { table: 'email_messages', key: { email_id: id } })) {
    const head = eraseFromHead(message.head, emailKey);
    await changeRows(tx, { table: 'email_messages', key: { email_id: id } }, { head });
  }
  await eraseFromEvents(tx, { teamId, emailKey, subjectId: id });
  const attempts = await readRows(tx, { table: 'delivery_attempts', key: { email_id: id } });
  for (const attempt of attempts)
    await changeRows(
      tx,
      { table: 'delivery_attempts', key: { email_id: id, id: attempt.id ?? null } },
      {
        recipients: replaceInJson(String(attempt.recipients), emailKey),
        transcript: typeof attempt.transcript === 'string' ? replaceAddress(attempt.transcript, emailKey) : null,
      },
    );
  await removeFromThreads(tx, { teamId, emailKey }, id);
}

/** Replaces the address in the events of an email that other people have as well. */
async function eraseFromEvents(
  tx: Executor,
  { teamId, emailKey, subjectId }: { teamId: string; emailKey: string; subjectId: string },
): Promise<void> {
  const events = await readRows<{ id: string; data: string | null }>(tx, {
    table: 'events',
    key: { subject_id: subjectId },
  });
  const changed = events.flatMap(({ id, data }) => {
    const erased = data === null ? null : replaceInJson(data, emailKey);
    return erased === null || erased === JSON.stringify(JSON.parse(data ?? '')) ? [] : [{ id, data: erased }];
  });
  for (const { id, data } of changed) await changeRows(tx, { table: 'events', key: { id } }, { data });
  await eraseOfEndpoints.call(
    tx,
    teamId,
    changed.map(({ id }) => id),
  );
}

const TEXTS = ['from_text', 'to_text', 'cc_text', 'bcc_text', 'body_text'] as const;

async function changeThreadTexts(tx: Executor, emailId: string, change: (text: string) => string) {
  const rows = await readRows(tx, { table: 'inbox_emails', key: { email_id: emailId } });
  for (const row of rows) {
    const texts = Object.fromEntries(TEXTS.map((name) => [name, change(String(row[name] ?? ''))]));
    const key = { inbox_id: row.inbox_id ?? null, email_id: emailId };
    await changeRows(tx, { table: 'inbox_emails', key }, texts);
  }
  return rows.map(({ thread_id: threadId }) => String(threadId));
}

/** Removes the address from the threads of an email that other people have as well. */
async function removeFromThreads(tx: Executor, { teamId, emailKey }: Person, emailId: string): Promise<void> {
  // A line is a mailbox or text, in the letter case and without the accents of the search.
  const change = (text: string): string =>
    text
      .split('\n')
      .map((line) => replaceMailbox(replaceMailbox(line, emailKey), foldAccents(emailKey)))
      .join('\n');
  for (const threadId of await changeThreadTexts(tx, emailId, change))
    await rebuildThread(tx, { teamId, emailKey }, { threadId });
}

/** Erases what the threads with an erased email show of it. */
async function eraseFromThreads(
  tx: Executor,
  { teamId, emailKey }: Person,
  { id, subject }: { id: string; subject: string },
): Promise<void> {
  for (const threadId of await changeThreadTexts(tx, id, () => ''))
    await rebuildThread(tx, { teamId, emailKey }, { threadId, erased: { id, subject } });
}

/**
 * Shows in a thread only what the emails of other people have, without the address; one that has none of them keeps
 * nothing. `erased` is the email that was erased as a whole.
 */
async function rebuildThread(
  tx: Executor,
  { teamId, emailKey }: Person,
  { threadId, erased }: { threadId: string; erased?: { id: string; subject: string } },
): Promise<void> {
  const thread = await lockThreadRow(tx, threadId);
  if (!thread) return;
  const all = await emailsOfThread(tx, threadId);
  const theirs = all.filter((email) => isOfOthers(email, emailKey));
  const oldest = theirs[0];
  const newest = theirs.at(-1);
  const key = { id: threadId };
  if (!oldest || !newest) {
    await changeRows(tx, { table: 'inbox_threads', key }, ERASED_THREAD);
    await changeRows(tx, { table: 'inbox_message_ids', key: { thread_id: threadId } }, { subject: null });
    return eraseEvents(tx, teamId, threadId);
  }
  await eraseFromEvents(tx, { teamId, emailKey, subjectId: threadId });
  const began = erased !== undefined && erased.id < oldest.id;
  const subject = replaceAddress(began ? oldest.subject : thread.subject, emailKey);
  const isNewest = newest.id === all.at(-1)?.id;
  await changeRows(
    tx,
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
  await changeRows(tx, { table: 'inbox_message_ids', key: named }, { subject: null });
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
    if (!lists.isChanged && !isSender) return;
    const id = String(row.id);
    await (isSender ? store.blobs.remove(id) : store.blobs.removeKeys([RAW_BLOB(id)]));
    await store.db.tx(async (tx) => {
      await lockStorage(tx, teamId);
      const { to_list, cc_list, bcc_list } = lists;
      // The source names every recipient, so that it goes in either case.
      const change: Row = { to_list, cc_list, bcc_list, has_raw: 0, ...(isSender ? ERASED_RECEIVED : {}) };
      await changeRows(tx, { table: 'received_emails', key: { id } }, change);
      const body: Row = isSender ? { html: null, text: null, html_in_blob: 0, text_in_blob: 0 } : {};
      const noHeaders = { ...body, headers: null, headers_in_blob: 0 };
      await changeRows(tx, { table: 'received_bodies', key: { received_id: id } }, noHeaders);
      const contents: Row = isSender ? { owner_id: id } : { owner_id: id, name: RAW_BLOB(id).split('/')[1] ?? '' };
      for (const table of ['contents', 'content_files']) await removeRows(tx, { table, key: contents });
      if (!isSender) {
        await eraseFromEvents(tx, { teamId, emailKey, subjectId: id });
        return removeFromThreads(tx, { teamId, emailKey }, id);
      }
      await removeRows(tx, { table: 'received_attachments', key: { received_id: id } });
      await addStorage(tx, teamId, -Number(row.stored_bytes));
      await eraseEvents(tx, teamId, id);
      await eraseFromThreads(tx, { teamId, emailKey }, { id, subject: String(row.subject) });
    });
    counts.received_emails += 1;
  });

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

async function eraseElsewhere({ store, teamId, emailKey }: Erasing, counts: Counts): Promise<void> {
  const gone = await store.db.tx(async (tx) => {
    for (const { table, key, value } of await valuesOfImports(tx, teamId)) {
      if (replaceMailbox(value, emailKey) !== value) await removeRows(tx, { table, key });
    }
    await eraseParticipant(tx, { teamId, emailKey });
    const ids: string[] = [];
    for (const { id, ...lists } of await unsentDrafts(tx, teamId)) {
      if (!readDraft(lists, emailKey).isChanged) continue;
      const draft = await lockUnsentDraft(tx, id);
      const { isChanged, left, ...kept } = readDraft(draft ?? {}, emailKey);
      if (!isChanged) continue;
      counts.drafts += 1;
      if (left > 0) {
        await changeRows(tx, { table: 'inbox_drafts', key: { id } }, kept);
        await eraseFromEvents(tx, { teamId, emailKey, subjectId: id });
        continue;
      }
      await eraseEvents(tx, teamId, id);
      ids.push(id);
    }
    for (const [table, column] of BESIDES_A_DRAFT) await removeRowsOfOwners(tx, table, column, ids);
    return ids;
  });
  for (const id of gone) await store.blobs.remove(id);
}

/**
 * Returns the lists of a draft without the address, and the number of its other recipients. A reply that names no
 * recipient goes to the sender of the mail, whose address is erased by then.
 */
function readDraft(row: Row, emailKey: string) {
  const implied = row.to_list === null && typeof row.replies_to === 'string' ? row.replies_to : undefined;
  const to = without(row.to_list, emailKey);
  const cc = without(row.cc_list, emailKey);
  const bcc = without(row.bcc_list, emailKey);
  return {
    to_list: to.text,
    cc_list: cc.text ?? '[]',
    bcc_list: bcc.text ?? '[]',
    isChanged: to.isChanged || cc.isChanged || bcc.isChanged || implied === ERASED,
    left: to.left + cc.left + bcc.left + (implied !== undefined && implied !== ERASED ? 1 : 0),
  };
}

const BESIDES_A_DRAFT: readonly [table: string, column: string][] = [
  ['inbox_draft_files', 'draft_id'],
  ['contents', 'owner_id'],
  ['content_files', 'owner_id'],
  ['inbox_drafts', 'id'],
];
